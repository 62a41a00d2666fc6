"""What the sessions pane changes of sessions: the port that the core implements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from uuid import UUID


class Doomed(Protocol):
    """What a deletion would take with it, the session itself included."""

    @property
    def titles(self) -> Sequence[str]: ...

    @property
    def turns(self) -> int: ...

    @property
    def messages(self) -> int: ...

    @property
    def children(self) -> int: ...


class SessionEditing(Protocol):
    """Each method raises a CosError, with a sentence for the user, when nothing was changed."""

    async def rename(self, session_id: UUID, title: str) -> object: ...

    async def set_tags(self, session_id: UUID, tags: Sequence[str]) -> object:
        """`tags` become the session's own, all of them."""
        ...

    async def archive(self, session_id: UUID, archived: bool = True) -> object: ...

    async def fork(
        self, session_id: UUID, *, before_turn: UUID | None = None, through_turn: UUID | None = None
    ) -> UUID:
        """The new session, with the history up to a turn, or all of it."""
        ...

    async def what_goes(self, session_id: UUID) -> Doomed: ...

    async def delete(self, session_ids: Sequence[UUID]) -> object: ...

    async def seen(self, session_id: UUID) -> object:
        """Somebody looks at it now: what ended before is no news."""
        ...
