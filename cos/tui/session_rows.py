"""The sessions that the list has read so far, in the order in which it shows them.

Those that need the user come first: a request waits (oldest first), news, work, queues. Then newest activity.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime
    from uuid import UUID

    from cos.core.postgres.session_list import Place
    from cos.core.sessions import SessionRow

Key = tuple[int, float, int]


@dataclass(frozen=True, slots=True)
class Shown:
    """One row in its place."""

    row: SessionRow
    depth: int
    """0 for a root, and for every row of a filtered list."""
    is_expanded: bool = False


class SessionRows:
    """Change it, then read `shown`: the order is made anew only when it is asked for."""

    def __init__(self) -> None:
        self.next: Place | None = None
        """Where the next page begins; None when all was read."""
        self.is_nested = True
        """Children stand under their parent; otherwise each row stands for itself."""
        self._rows: dict[UUID, SessionRow] = {}
        self._order: list[tuple[Key, UUID]] = []
        self._children: dict[UUID, dict[UUID, SessionRow]] = {}
        self._shown: list[Shown] | None = None
        self._places: dict[UUID, int] = {}

    def begin(self, pressing: Iterable[SessionRow], *, is_nested: bool) -> None:
        """Forget all but the rows that need the user. What was expanded stays so in a nested list."""
        self.is_nested = is_nested
        self.next = None
        expanded = self._children
        self._rows, self._order, self._children, self._shown = {}, [], {}, None
        self.extend(pressing, None)
        self._children = expanded if is_nested else {}

    def extend(self, rows: Iterable[SessionRow], following: Place | None) -> None:
        """Add a page; a row that is here already is newer than what was read."""
        self.next = following
        for row in rows:
            if row.id not in self._rows:
                self._put(row)

    def put(self, row: SessionRow) -> None:
        """A row that is new here, or newer."""
        parent = self._children.get(row.parent_session_id) if row.parent_session_id else None
        if parent is not None and not row.is_archived:
            parent[row.id] = row
            self._shown = None
        elif row.parent_session_id is None or not self.is_nested:
            self._put(row)

    def drop(self, session_id: UUID) -> None:
        row = self._rows.pop(session_id, None)
        if row is not None:
            self._order.remove((_key(row), session_id))
        self._children.pop(session_id, None)
        for children in self._children.values():
            children.pop(session_id, None)
        self._shown = None

    def belongs(self, row: SessionRow) -> bool:
        """Whether a row that the filter lets through stands among what was read, and not on a later page."""
        is_read = self.next is None or (row.last_activity_at, row.id) >= self.next
        return row.is_pressing or is_read

    def expand(self, session_id: UUID, children: Sequence[SessionRow]) -> None:
        self._children[session_id] = {row.id: row for row in children}
        self._shown = None

    def collapse(self, session_id: UUID) -> None:
        self._children.pop(session_id, None)
        self._shown = None

    @property
    def expanded(self) -> Collection[UUID]:
        return self._children.keys()

    @property
    def shown(self) -> list[Shown]:
        if self._shown is None:
            found: list[Shown] = []
            for _, session_id in self._order:
                self._add(found, self._rows[session_id], 0)
            self._shown = found
            self._places = {one.row.id: place for place, one in enumerate(found)}
        return self._shown

    def place_of(self, session_id: UUID | None) -> int | None:
        """The index in `shown`."""
        return self._places.get(session_id) if self.shown and session_id else None

    def _add(self, found: list[Shown], row: SessionRow, depth: int) -> None:
        children = self._children.get(row.id)
        found.append(Shown(row, depth, children is not None))
        for child in children.values() if children else ():
            self._add(found, child, depth + 1)

    def _put(self, row: SessionRow) -> None:
        before = self._rows.get(row.id)
        key = _key(row)
        if before is not None and _key(before) == key:
            if self._shown is not None:
                place = self._places[row.id]
                self._shown[place] = Shown(row, self._shown[place].depth, self._shown[place].is_expanded)
        else:
            if before is not None:
                self._order.remove((_key(before), row.id))
            insort(self._order, (key, row.id))
            self._shown = None
        self._rows[row.id] = row


def _key(row: SessionRow) -> Key:
    if row.waiting:
        return (0, _seconds(row.waiting_since), row.id.int)
    if row.is_running:
        return (2, -_seconds(row.turn_started_at), -row.id.int)
    if row.queued:
        return (3, -_seconds(row.last_activity_at), -row.id.int)
    if row.is_pressing:
        return (1, -_seconds(row.turn_completed_at), -row.id.int)
    return (4, -_seconds(row.last_activity_at), -row.id.int)


def _seconds(moment: datetime | None) -> float:
    return moment.timestamp() if moment else 0.0
