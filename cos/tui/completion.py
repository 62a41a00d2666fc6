"""What can be completed where the cursor stands: a command at the begin of a text, or a file after `@`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

_COMMAND: Final = re.compile(r"/([\w-]*)$")
_FILE: Final = re.compile(r"""(?:^|(?<=[\s(\[{,;:=<'"]))@([^\s@]*)$""")
_PLAIN: Final = re.compile(r"[\w./+,@%=-]+")
_NEEDS_CARE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\"\\$`!]")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandHint:
    """One slash command."""

    name: str
    """Without the slash."""
    arguments: str = ""
    """Such as `<title>`; empty when it takes none."""
    summary: str = ""


class Completions(Protocol):
    """The commands that there are. Called for each key in a text that begins with a slash: it must not wait."""

    def commands(self) -> Sequence[CommandHint]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is being completed."""

    kind: Literal["command", "file"]
    start: int
    """Column of the `/` or `@`; it ends at the cursor."""
    query: str


def token_at(line: str, column: int, *, is_only_line: bool) -> Token | None:
    """The token that ends at `column` of the line. A command begins the text, and the cursor is in its first word."""
    before = line[:column]
    if is_only_line and (command := _COMMAND.match(before)):
        return Token(kind="command", start=0, query=command[1])
    file = _FILE.search(before)
    return Token(kind="file", start=file.start(), query=file[1]) if file else None


def matching(query: str, commands: Sequence[CommandHint]) -> list[CommandHint]:
    """That of this name, those that begin with the query, those that contain it; each group in the given order."""
    wanted = query.lower()
    found = [command for command in commands if wanted in command.name.lower()]
    return sorted(
        found, key=lambda command: (command.name.lower() != wanted, not command.name.lower().startswith(wanted))
    )


def command_text(command: CommandHint) -> str:
    """What takes the token's place: with a blank where arguments may follow."""
    return f"/{command.name} " if command.arguments else f"/{command.name}"


def path_text(path: str) -> str:
    """The path as it is written into a message: quoted when a blank or another special character is in it."""
    if _PLAIN.fullmatch(path):
        return path
    return shlex.quote(path) if _NEEDS_CARE.search(path) else f'"{path}"'
