"""Completion at the cursor: opens and closes the list, takes its keys, and puts in what is chosen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from cos.tui.completion import command_text, matching, path_text, token_at
from cos.tui.file_list import FileList
from cos.tui.fuzzy import Matcher
from cos.tui.widgets.completion_list import Choice

if TYPE_CHECKING:
    from pathlib import Path

    from cos.tui.completion import Completions, Token
    from cos.tui.widgets.completion_list import CompletionList
    from cos.tui.widgets.composer import Composer

_CHUNK: Final = 2_000
"""So many paths are looked at before keys have their turn again: a few milliseconds."""
_CHUNKS_SHOWN: Final = 5


class Completing:
    """Of one composer."""

    def __init__(self, composer: Composer, choices: CompletionList) -> None:
        self._composer = composer
        self._list = choices
        self._token: Token | None = None
        self._left: tuple[int, int] | None = None
        """Where the user closed the list: it stays closed until another token begins."""
        self._files: FileList | None = None
        self._is_listing = False
        self.commands: Completions | None = None

    def at(self, workspace: Path) -> None:
        if self._files is None or self._files.workspace != workspace:
            self._files = FileList(workspace)

    def look(self) -> str | None:
        """The text or the cursor changed. Returns what to look for among the files, or None when nothing."""
        row, column = self._composer.cursor_location
        document = self._composer.document
        token = None
        if self._composer.has_focus and self._composer.selection.is_empty:
            token = token_at(document[row], column, is_only_line=document.line_count == 1)
        if token is None or (self._left is not None and self._left != (row, token.start)):
            self._left = None
        if token == self._token:
            return None
        self._token = token
        if token is None or self._left is not None:
            self._list.close()
        elif token.kind == "command":
            self._show_commands(token)
        elif self._files is not None:
            return token.query
        return None

    def take_key(self, key: str) -> bool:
        """Whether the key was for the list."""
        if not self._list.is_open or self._token is None:
            return False
        if key in {"up", "down"}:
            self._list.move(-1 if key == "up" else 1)
        elif key == "escape":
            self._left = (self._composer.cursor_location[0], self._token.start)
            self._list.close()
        elif key == "tab" or (key == "enter" and not self._is_whole_command()):
            return self._take()
        else:
            return False
        return True

    def close(self) -> None:
        self._token = None
        self._list.close()

    async def list_files(self) -> None:
        """Look the files up again, once for each time that the list opens."""
        files = self._files
        if files is None or self._is_listing or self._list.is_open:
            return
        self._is_listing = True
        try:
            await files.look_up()
        finally:
            self._is_listing = False

    async def match_files(self, query: str) -> None:
        """Show the best files for the query, and better ones as they come."""
        files = self._files
        if files is not None:
            while await self._match_again(files, query):
                pass

    async def _match_again(self, files: FileList, query: str) -> bool:
        """Look through all files; True when there are others now."""
        generation, seen, matcher = files.generation, 0, Matcher(query)
        while generation == files.generation:
            chunk = files.paths[seen : seen + _CHUNK]
            matcher.add(chunk)
            seen += len(chunk)
            is_all = seen >= len(files.paths)
            shows = is_all or seen % (_CHUNK * _CHUNKS_SHOWN) == 0
            if shows and not self._show_files(query, matcher.best, is_complete=files.is_complete):
                return False
            if not is_all:
                await asyncio.sleep(0)
            elif files.is_complete and not self._is_listing:
                return False
            else:
                await files.more()
        return True

    def _show_commands(self, token: Token) -> None:
        commands = matching(token.query, self.commands.commands()) if self.commands else []
        self._list.show(
            [
                Choice(
                    value=command_text(command), label=f"/{command.name} {command.arguments}", detail=command.summary
                )
                for command in commands
            ]
        )

    def _show_files(self, query: str, paths: list[str], *, is_complete: bool) -> bool:
        """False when it is no longer wanted."""
        if self._token is None or self._token.kind != "file" or self._token.query != query or self._left is not None:
            return False
        note = "" if is_complete else "looking for files …"
        if not paths and is_complete:
            note = "no file has these letters" if query else "there are no files here"
        self._list.show([Choice(value=path_text(path), label=path) for path in paths], note, keep=True)
        return True

    def _is_whole_command(self) -> bool:
        """Enter sends a command that is written out."""
        token, chosen = self._token, self._list.chosen
        if token is None or token.kind != "command" or chosen is None:
            return False
        return chosen.value.strip() == f"/{token.query}"

    def _take(self) -> bool:
        chosen, token = self._list.chosen, self._token
        if chosen is None or token is None:
            return False
        row, column = self._composer.cursor_location
        text = f"{chosen.value} " if token.kind == "file" else chosen.value
        self.close()
        self._composer.replace(text, (row, token.start), (row, column), maintain_selection_offset=False)
        return True
