"""The inside-the-workspace check: a path as the model wrote it becomes a real path inside the workspace, or a refusal.

Nothing is expanded here: `~` and `$HOME` are plain text. Symbolic links and `..` are followed before the check, and
whole path components are compared, so that `/w/proj-evil` is not inside `/w/proj`.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from cos.agent.errors import CosError
from cos.agent.text import storable, visible


class PathRefused(CosError):
    """A path that may not be used. The message tells the model what to write instead."""


def real_path(path: Path) -> Path:
    """`path` without symbolic links and `..`; it need not exist."""
    return Path(os.path.realpath(path))


def is_inside(path: Path, workspace: Path) -> bool:
    """Whether the real path of `path` is the workspace or lies in it."""
    return real_path(path).is_relative_to(real_path(workspace))


def is_folder(path: Path) -> bool:
    """Whether `path` is a folder that may be looked at."""
    try:
        return path.is_dir()
    except OSError:
        return False


def resolve(text: str, *, workspace: Path, folder: Path) -> Path:
    """The real path that `text` means, a relative one seen from `folder`. It need not exist.

    Raises:
        PathRefused: `text` cannot be a path, or leads outside the workspace.
    """
    _check_text(text)
    _check_unexpanded(text, workspace=workspace, folder=folder)
    found = real_path(folder / text)
    if not is_inside(found, workspace):
        leads = "" if str(found) == text else f" (it leads to {quoted(str(found))})"
        raise PathRefused(
            f"{quoted(text)} is outside the workspace{leads}; the workspace is {shown(workspace)}: "
            "give a path inside it."
        )
    _check_length(found, text)
    return found


def shown(path: Path) -> str:
    """`path` as it may stand in a message: no control characters, no lone surrogates."""
    return visible(storable(str(path)))


def quoted(text: str) -> str:
    """What the model wrote, on one line and of bounded length."""
    plain = visible(storable(text)).replace("\n", "\u240a")
    return f"'{plain}'" if len(plain) <= 200 else f"'{plain[:200]}…'"


def _check_text(text: str) -> None:
    if not text.strip():
        raise PathRefused("The path is empty; give a path inside the workspace, or '.' for its working folder.")
    if "\0" in text:
        raise PathRefused(f"{quoted(text)} holds a NUL character, which no path can; write the path without it.")
    if "\n" in text or "\r" in text:
        raise PathRefused(f"{quoted(text)} holds a line break; give one path on one line.")
    if storable(text) != text:
        raise PathRefused(f"{quoted(text)} holds characters that are not valid text; write the path without them.")


def _check_length(path: Path, text: str) -> None:
    try:
        path.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise PathRefused(f"{quoted(text)} is longer than a name or a path may be; use a shorter one.") from None


def _check_unexpanded(text: str, *, workspace: Path, folder: Path) -> None:
    first = text.split("/", 1)[0]
    if first.startswith(("~", "$")) and not os.path.lexists(folder / first):
        raise PathRefused(
            f"{quoted(text)} starts with {quoted(first)}, which is not expanded here and no name in "
            f"{shown(folder)}; the workspace is {shown(workspace)}: give a path inside it."
        )
