"""Where each session works: the folder in which its next command starts. Kept while the application runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cos.plugins.workspace.paths import PathRefused, is_folder, is_inside, real_path, resolve, shown

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.identity import TurnInfo


class SessionFolders:
    """The working folder of every session that has run a command."""

    def __init__(self) -> None:
        self._folders: dict[UUID, Path] = {}

    def current(self, turn: TurnInfo, workspace: Path) -> tuple[Path, str | None]:
        """The session's folder, and a sentence when the one it had can be used no longer."""
        folder = self._folders.get(turn.session_id)
        if folder is None:
            return real_path(workspace), None
        if is_folder(folder) and is_inside(folder, workspace):
            return folder, None
        del self._folders[turn.session_id]
        return real_path(workspace), f"{shown(folder)} is gone; the working folder is the workspace again."

    def move(self, turn: TurnInfo, workspace: Path, folder: Path) -> str | None:
        """Let the session's next command start in `folder`; return a sentence when that is not allowed."""
        if is_inside(folder, workspace) and is_folder(folder):
            self._folders[turn.session_id] = real_path(folder)
            return None
        self._folders.pop(turn.session_id, None)
        return f"{shown(folder)} is outside the workspace; the working folder is {shown(real_path(workspace))} again."

    def planned(self, turn: TurnInfo, workspace: Path, workdir: str | None) -> str:
        """The folder that a call would run in; `workdir` as it was written when it is refused."""
        folder, _ = self.current(turn, workspace)
        if workdir is None:
            return str(folder)
        try:
            return str(resolve(workdir, workspace=workspace, folder=folder))
        except PathRefused:
            return workdir
