"""What the sessions pane changes of sessions: the port that the core implements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.session_edits import Doomed, Undone


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

    async def what_goes(self, session_ids: Sequence[UUID]) -> Doomed: ...

    async def delete(self, session_ids: Sequence[UUID]) -> object: ...

    async def seen(self, session_id: UUID) -> object:
        """Somebody looks at it now: what ended before is no news."""
        ...

    async def undo(self, session_id: UUID, turns: int = 1) -> Undone:
        """Rewind to before the last turns."""
        ...

    async def turns_from(self, session_id: UUID, turn_id: UUID) -> int:
        """How many turns an undo has to take back for this one to be gone."""
        ...
