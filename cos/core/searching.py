"""What a search over all conversations gives: hits, and pieces of the conversations around them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal
from uuid import UUID

if TYPE_CHECKING:
    from cos.agent.messages import Message
    from cos.core.snippets import Snippet

Sort = Literal["best", "newest", "oldest"]
SPOKEN = ("user", "assistant")
"""Roles that are looked through unless others are wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchWish:
    """Where to look, for whom, and how much is wanted."""

    profiles: tuple[str, ...]
    limit: int = 3
    sort: Sort = "best"
    roles: tuple[str, ...] = SPOKEN
    asking: UUID | None = None
    """The session that asks. What its model still has before it is not found again."""
    with_undone: bool = False
    """Also what was rewound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """The best message of one session and its child sessions."""

    root_session_id: UUID
    session_id: UUID
    """The session of the message: the root, or a child session below it."""
    message_id: UUID
    ordinal: int
    role: str
    call_id: str | None
    created_at: datetime
    is_active: bool
    is_undone: bool
    in_title: bool
    """The title matches; the message is then the session's first one unless another matches too."""
    found: int
    """How many messages of the tree matched among those that were ranked."""
    snippet: Snippet
    profile_id: str
    title: str | None
    """Of the root, as all that follows."""
    own_title: str | None
    """Of the session of the message."""
    tags: tuple[str, ...]
    source: str
    model: str | None
    parent_session_id: UUID | None
    last_activity_at: datetime
    is_archived: bool

    @property
    def is_in_child(self) -> bool:
        return self.session_id != self.root_session_id


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Hits in the wanted order."""

    hits: tuple[SearchHit, ...] = ()
    left_out: int = 0
    """Terms of the query that were not looked for, because there were too many."""
    is_capped: bool = False
    """More messages match than were ranked; the newest (or oldest) were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedMessage:
    """A message of a window."""

    id: UUID
    ordinal: int
    active: bool
    created_at: datetime
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A piece of one session, oldest first."""

    session_id: UUID
    messages: tuple[PlacedMessage, ...]
    before: int
    """Messages of the session before the piece."""
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentSession:
    """A session for browsing."""

    id: UUID
    title: str | None
    tags: tuple[str, ...]
    source: str
    model: str | None
    created_at: datetime
    last_activity_at: datetime
    messages: int
    preview: str | None
