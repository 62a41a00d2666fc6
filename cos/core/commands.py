"""Slash commands: one registry for every surface. The Dispatcher looks here before a message becomes a prompt.

A text is a command when it begins with `/`, a name, and then a blank or the end: `/etc/hosts is broken` is a message.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cos.core.errors import CommandError

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.identity import Source
    from cos.core.inbound import Inbound
    from cos.core.pictures import Picture
    from cos.core.sessions import Session

CORE: Final = "core"
_COMMAND = re.compile(r"/([a-z][a-z0-9_-]*)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """One use of a command."""

    argument: str
    """What stands behind the name, stripped."""
    profile_id: str
    source: Source
    pictures: tuple[Picture, ...]
    """That came with the text."""
    session: Session | None
    """None when no session is open yet; never None for a command that needs one."""

    @property
    def open_session(self) -> Session:
        """The session, in a command that needs one."""
        assert self.session is not None
        return self.session


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """What comes of a command."""

    text: str = ""
    """Shown in the conversation; a model never sees it."""
    draft: str | None = None
    """What belongs into the composer now."""
    session_id: UUID | None = None
    """The session to open now."""
    turn_id: UUID | None = None
    """The turn that it began."""


Run = Callable[[CommandCall], Awaitable[CommandAnswer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A slash command. `run` raises CosError with a sentence when it cannot do what was asked."""

    name: str
    """Without the slash."""
    summary: str
    run: Run
    arguments: str = ""
    """How they are written, such as `[TITLE]`."""
    needs_session: bool = True
    origin: str = CORE
    """`core`, the surface, or the plugin that brought it."""


class Commands:
    """By name."""

    def __init__(self) -> None:
        self._commands: dict[str, Command] = {}

    def add(self, *commands: Command) -> None:
        """
        Raises:
            CommandError: the name is taken, or no name for a command.
        """
        for command in commands:
            taken = self._commands.get(command.name)
            if taken is not None:
                raise CommandError(f"{command.origin} offers the command /{command.name}, which {taken.origin} has")
            if parse_command(f"/{command.name}") is None:
                raise CommandError(f"{command.origin} offers a command named {command.name!r}; use a-z, 0-9, _ and -")
            self._commands[command.name] = command

    def replace(self, command: Command) -> None:
        """Let a surface do one of the commands in its own way."""
        self._commands[command.name] = command

    def all(self) -> list[Command]:
        return sorted(self._commands.values(), key=lambda command: command.name)

    def find(self, name: str) -> Command:
        """
        Raises:
            CommandError: there is no such command; the sentence names the nearest one.
        """
        if name in self._commands:
            return self._commands[name]
        raise unknown_command(name, self._commands)

    async def run(self, inbound: Inbound, session: Session | None) -> CommandAnswer | None:
        """Run the command that `inbound` is; None when it is a message.

        Raises:
            CosError: it is unknown, needs a session, or cannot do what was asked.
        """
        parsed = None if inbound.is_verbatim else parse_command(inbound.text)
        if parsed is None:
            return None
        name, argument = parsed
        command = self.find(name)
        if command.needs_session and session is None:
            raise CommandError(f"/{name} works on a session; send a first message, or open one")
        call = CommandCall(
            argument=argument,
            profile_id=inbound.profile_id,
            source=inbound.source,
            pictures=inbound.pictures,
            session=session,
        )
        return await command.run(call)


def parse_command(text: str) -> tuple[str, str] | None:
    """Name and argument of the command that `text` is, None when it is a message."""
    found = _COMMAND.fullmatch(text.rstrip())
    return None if found is None else (found[1], (found[2] or "").strip())


def unknown_command(name: str, known: Iterable[str]) -> CommandError:
    """What to say about a name that no command has."""
    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean /{near[0]}?" if near else "/help lists them."
    return CommandError(f"there is no command /{name}; {hint} A message may begin with a blank before the slash")
