"""What comes in from a surface, and what it is told at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from cos.agent.identity import Source

if TYPE_CHECKING:
    from uuid import UUID


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
    mode: Literal["queue", "steer", "now"] = "queue"
    """While a turn runs: wait for the next one, go into it at its next step, or cancel it and be the next prompt."""
    client_message_id: str | None = None
    """Sending the same id to the same session again changes nothing."""
    meta: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The message is safe. Its turn may run, wait in the queue, or not be needed."""

    session_id: UUID | None
    """None only when a hook dropped the message."""
    message_id: UUID | None = None
    turn_id: UUID | None = None
    """None = it waits in the session's queue, or a hook took it."""
    handled: bool = False
    """A hook took the message; no turn runs."""
    reply: str | None = None
    """What the hook that took it has to say."""
