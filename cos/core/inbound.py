"""What comes in from a surface, and what it is told at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cos.agent.identity import Source

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.messages import Part
    from cos.agent.steering import DeliveryMode
    from cos.core.commands import CommandAnswer
    from cos.core.pictures import Picture


@dataclass(slots=True, kw_only=True)
class Inbound:
    """A message from a person. `pre_gateway_dispatch` callbacks receive this object itself."""

    text: str
    profile_id: str
    source: Source
    session_id: UUID | None = None
    """None = begin a new session."""
    tags: tuple[str, ...] = ()
    """Extra tags; only for a message that begins a session."""
    pictures: tuple[Picture, ...] = ()
    parts: tuple[Part, ...] = ()
    """Of a message that is sent again: stored already."""
    is_verbatim: bool = False
    """The text is a message, also when it begins with a slash."""
    mode: DeliveryMode = "queue"
    """While a turn runs: wait for the next one, go into it at its next step, or cancel it and be the next prompt.

    It does not matter which process runs the turn.
    """
    client_message_id: str | None = None
    """Sending the same id again, to the same session or to begin one, changes nothing."""
    meta: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The message is safe. Its turn may run, wait in the queue, or not be needed."""

    session_id: UUID | None
    """None only when a hook dropped the message, or a command ran without a session."""
    message_id: UUID | None = None
    turn_id: UUID | None = None
    """None = it waits in the session's queue or goes into the running turn, or a hook or a command took it."""
    handled: bool = False
    """A hook or a slash command took the message; no turn runs."""
    trouble: str = ""
    """Why its turn could not start yet, as a sentence; it is tried again."""
    reply: str | None = None
    """What the hook that took it has to say."""
    command: CommandAnswer | None = None
    """What came of the slash command that the message was."""

    @property
    def said(self) -> str:
        """What whoever took it has to say, empty when nothing."""
        return self.reply or (self.command.text if self.command else "")
