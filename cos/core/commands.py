"""Slash commands: one registry for every surface. The Dispatcher looks here before a message becomes a prompt.

A text is a command when it begins with `/`, a name, and then a blank or the end: `/etc/hosts is broken` is a message.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from cos.core.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from cos.agent.identity import Source
    from cos.agent.messages import UserMessage
    from cos.core.inbound import Inbound
    from cos.core.pictures import Picture
    from cos.core.sessions import Session

CORE: Final = "core"
BUILT_IN: Final = frozenset({
    "agents", "approvals", "archive", "archived", "compact", "context", "cost", "export", "fork", "help", "model",
    "new", "plugins", "profile", "queue", "quit", "resume", "retry", "search", "sessions", "skills", "steer", "stop",
    "tag", "theme", "title", "tools", "unarchive", "undo", "usage",
})  # fmt: skip
"""Every command of the core and of the app. No skill has one of these names, also where the app does not run."""
_MEANT: Final = {"exit": "quit", "q": "quit"}
"""Names that other programs have for a command."""
_COMMAND = re.compile(r"/([a-z][a-z0-9_-]*)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """One use of a command."""

    name: str
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
    draft: tuple[UserMessage, ...] = ()
    """What belongs into the composer now, with its pictures."""
    session_id: UUID | None = None
    """The session to open now."""
    turn_id: UUID | None = None
    """The turn that it began."""
    context: str | None = None
    """What the text was typed for: the text goes to the model as a message, with this behind it."""


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
    only_open: bool = False
    """What comes of it belongs on the screen of an open session: it goes somewhere, or gives a text back to write."""
    origin: str = CORE
    """`core`, the surface, or the plugin that brought it."""


class ProfileCommands(Protocol):
    """Commands that each profile has for itself. Those with the name of another command are not offered."""

    async def refresh(self, profile_id: str) -> None:
        """Look again which there are."""
        ...

    def known(self, profile_id: str) -> Sequence[Command]:
        """As of the last look."""
        ...


class Commands:
    """By name."""

    def __init__(self) -> None:
        self._commands: dict[str, Command] = {}
        self._of_profiles: ProfileCommands | None = None

    def add_of_profiles(self, commands: ProfileCommands) -> None:
        """Offer the commands of each profile beside the others."""
        self._of_profiles = commands

    def owner(self, name: str) -> str | None:
        """Whose command this is, unless only a profile has it; None when it is free."""
        if name in self._commands:
            origin = self._commands[name].origin
            return "cos" if origin == CORE else origin
        return "cos" if name in BUILT_IN else None

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

    def all(self, profile_id: str | None = None) -> list[Command]:
        """Sorted, with those of a profile when one is named."""
        return sorted(self._of(profile_id).values(), key=lambda command: command.name)

    def find(self, name: str, profile_id: str | None = None) -> Command:
        """
        Raises:
            CommandError: there is no such command; the sentence names the nearest one.
        """
        known = self._of(profile_id)
        if name in known:
            return known[name]
        raise unknown_command(name, known)

    def _of(self, profile_id: str | None) -> dict[str, Command]:
        if profile_id is None or self._of_profiles is None:
            return self._commands
        own = {it.name: it for it in self._of_profiles.known(profile_id) if self.owner(it.name) is None}
        return own | self._commands

    async def run(self, inbound: Inbound, session: Session | None) -> CommandAnswer | None:
        """Run the command that `inbound` is; None when it is a message.

        Raises:
            CosError: it is unknown, needs a session, or cannot do what was asked.
        """
        parsed = None if inbound.is_verbatim else parse_command(inbound.text)
        if parsed is None:
            return None
        name, argument = parsed
        if name not in self._commands and self._of_profiles is not None:
            await self._of_profiles.refresh(inbound.profile_id)
        command = self.find(name, inbound.profile_id)
        if command.needs_session and session is None:
            raise CommandError(f"/{name} works on a session; send a first message, or open one")
        call = CommandCall(
            name=name,
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
    names = list(known)
    near = [_MEANT[name]] if _MEANT.get(name) in names else difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean /{near[0]}?" if near else "/help lists them."
    return CommandError(f"there is no command /{name}; {hint} A message may begin with a blank before the slash")
