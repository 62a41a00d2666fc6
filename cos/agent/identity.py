"""Who is running and where: the identity that every hook, tool and journal call receives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from cos.agent.ids import new_id

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.tags import Tag

Source = Literal["cli", "web", "subagent", "acp", "api"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInfo:
    """The identity of one turn."""

    profile_id: str
    session_id: UUID
    turn_id: UUID
    parent_turn_id: UUID | None = None
    """Set for a child (delegated) turn."""
    tags: tuple[Tag, ...] = ()
    """Resolved tags, sorted; a child copies its parent's."""
    depth: int = 0
    """0 for a top-level turn, 1 for a child."""

    def child(self, session_id: UUID) -> TurnInfo:
        """The identity of a turn delegated from this one into `session_id`: same profile and tags, one level deeper."""
        return replace(self, session_id=session_id, turn_id=new_id(), parent_turn_id=self.turn_id, depth=self.depth + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """What is known of a session before it exists."""

    profile_id: str
    source: Source
    title: str | None = None
    tags: tuple[Tag, ...] = ()
    parent_session_id: UUID | None = None
    client_message_id: str | None = None
    """Of the message that begins it."""
