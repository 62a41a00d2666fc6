"""Keeps the sessions pane true: pages, the filter, and single rows again when something happens to a session.

A burst of events is one read of the rows that it touched. A change of the filter makes what is still being read for the
one before worth nothing.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.agent.events import MessageDelta, ThinkingDelta, ToolOutput
from cos.core.live import PluginEvent, SessionEvent, session_of
from cos.core.session_query import SessionQuery, SessionQueryError, parse_session_query
from cos.tui import wording
from cos.tui.cost_port import CALL_RECORDED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
    from uuid import UUID

    from textual.worker import Worker

    from cos.core.live import CoreEvent
    from cos.core.postgres.session_list import Refreshed, SessionList
    from cos.core.sessions import SessionRow
    from cos.tui.cost_port import Bill
    from cos.tui.screens.main import MainScreen

PAUSE_SECONDS = 0.1
"""At least this long between two reads of what events touched."""
ENOUGH_ROWS = 60
"""A filtered list is read on until so many rows were found, or the list ends."""
_CHANGES = frozenset(
    {"session.created", "session.updated", "turn.started", "turn.completed", "approval.requested",
     "approval.resolved", "queue.changed", "session.touched", "session.rewound", "session.deleted", "context.updated"}
)  # fmt: skip


class SessionMonitor:
    """Between the core's list of sessions and the pane."""

    def __init__(
        self,
        listing: SessionList,
        screen: MainScreen,
        profiles: Collection[str],
        bill: Bill | None,
        *,
        changed: Callable[[Collection[UUID]], Awaitable[None]],
        trouble: Callable[[str], None],
    ) -> None:
        """`changed` is told which sessions have another row; `trouble` takes the sentence of a failed read."""
        self._listing = listing
        self._screen = screen
        self._profiles = profiles
        self._bill = bill
        self._changed = changed
        self._trouble = trouble
        self._query = SessionQuery()
        self._kept: set[UUID] = set()
        """Shown although the filter is against it: the user has just archived it, and may take that back."""
        self._known: dict[UUID, SessionRow] = {}
        self._dirty: set[UUID] = set()
        self._is_reading = False
        self._is_paging = False
        self._generation = 0
        self._reading = asyncio.Lock()
        """What is read first is shown first: an older row never replaces a newer one."""

    def row(self, session_id: UUID | None) -> SessionRow | None:
        """What was last read of a session, whether the list shows it or not."""
        return self._known.get(session_id) if session_id else None

    def take(self, event: CoreEvent) -> None:
        """Note what happened; the row follows in a moment."""
        lines = self._screen.sessions.lines
        if not isinstance(event, SessionEvent | PluginEvent):
            if lines.activities.take(event):
                lines.draw_again([session_of(event)])
            if isinstance(event, MessageDelta | ThinkingDelta | ToolOutput):
                return
        if event.type in _CHANGES or event.type == CALL_RECORDED:
            self.touch(session_of(event))

    def touch(self, session_id: UUID) -> None:
        """Read this session's row again, soon."""
        self._dirty.add(session_id)
        if not self._is_reading:
            self._is_reading = True
            self._in_background(self._read_touched)

    async def read(self, session_id: UUID | None) -> None:
        """Read this session's row, and what else was touched, now.

        Raises:
            DatabaseError: it cannot be read.
        """
        if session_id is not None:
            self._dirty.add(session_id)
        await self._flush()

    async def reload(self) -> None:
        """Read the whole list again: from the top, as the filter wants it.

        Raises:
            DatabaseError: it cannot be read; what is shown stays.
        """
        self._generation += 1
        generation, query, lines = self._generation, self._query, self._screen.sessions.lines
        async with self._reading:
            if generation != self._generation:
                return
            pressing = await self._listing.pressing(query)
            page = await self._listing.page(query)
            listed = None if query.is_empty else await self._listing.count()
            expanded = list(lines.rows.expanded) if query.is_empty else []
            children = {parent: await self._listing.children(parent) for parent in expanded}
            if generation != self._generation:
                return
            self._kept.clear()
            self._screen.sessions.listed = listed
            with lines.changing():
                lines.rows.begin(pressing, is_nested=query.is_empty)
                lines.rows.extend(page.rows, page.next)
                for parent, rows in children.items():
                    lines.rows.expand(parent, rows)
        self._say_empty()
        await self._learn([*pressing, *page.rows])
        self.more()

    def more(self) -> None:
        """Read on where few rows are below what is in view."""
        lines = self._screen.sessions.lines
        if not self._is_paging and lines.rows.next is not None and lines.wants_more(ENOUGH_ROWS):
            self._is_paging = True
            self._in_background(partial(self._read_more, self._generation))

    def filter(self, text: str) -> None:
        """Show only what the filter lets through; a piece that means nothing is said, and the list stays."""
        pane = self._screen.sessions
        try:
            query = parse_session_query(
                text, now=wording.now(), profiles=self._profiles, knows_cost=self._listing.knows_cost
            )
        except SessionQueryError as error:
            pane.say(str(error))
            return
        pane.say("")
        if query != self._query:
            self._query = query
            self._in_background(partial(self._guarded, self.reload))

    async def expand(self, session_id: UUID) -> None:
        """Show the sessions below one.

        Raises:
            DatabaseError: they cannot be read.
        """
        row, lines = self.row(session_id), self._screen.sessions.lines
        if row is None or not row.children or not lines.rows.is_nested or session_id in lines.rows.expanded:
            return
        children = await self._listing.children(session_id)
        if lines.rows.is_nested:
            with lines.changing():
                lines.rows.expand(session_id, children)
        await self._learn(children)

    def collapse(self, session_id: UUID) -> None:
        """Fold the sessions below one; from a child, those of its parent."""
        row, lines = self.row(session_id), self._screen.sessions.lines
        parent = session_id if session_id in lines.rows.expanded else row.parent_session_id if row else None
        if parent is not None and parent in lines.rows.expanded:
            if parent != session_id:
                lines.cursor = parent
            with lines.changing():
                lines.rows.collapse(parent)

    def keep(self, session_id: UUID) -> None:
        """Leave a row where it is until the list is read again, whatever the filter says."""
        self._kept.add(session_id)

    def neighbour(self, session_id: UUID | None, step: int) -> UUID | None:
        """The session `step` rows from this one, as the list shows them; the first for one that is not in it."""
        shown = self._screen.sessions.lines.rows.shown
        place = self._screen.sessions.lines.rows.place_of(session_id)
        wanted = 0 if place is None else place + step
        return shown[wanted].row.id if 0 <= wanted < len(shown) else None

    async def _read_touched(self) -> None:
        try:
            while self._dirty:
                await self._guarded(self._flush)
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self._is_reading = False

    async def _flush(self) -> None:
        async with self._reading:
            touched, self._dirty = self._dirty, set()
            if not touched:
                return
            query = self._query
            found = await self._listing.refreshed(query, touched)
            listed = await self._listing.count() if not query.is_empty and _counts_anew(found, self._known) else None
            for session_id in found.gone:
                self._known.pop(session_id, None)
            if query == self._query:
                self._show(found)
                if listed is not None:
                    self._screen.sessions.listed = listed
        await self._learn(found.rows)

    def _show(self, found: Refreshed) -> None:
        lines = self._screen.sessions.lines
        with lines.changing():
            for session_id in found.gone:
                lines.rows.drop(session_id)
            for row in found.rows:
                is_shown = row.id in found.shown or (row.parent_session_id is not None and lines.rows.is_nested)
                # What is under the cursor does not vanish onto a page that is still to be read.
                is_here = lines.rows.belongs(row) or row.id == lines.cursor
                if row.id in self._kept or (is_shown and is_here):
                    lines.rows.put(row)
                else:
                    lines.rows.drop(row.id)
        lines.draw_again([row.id for row in found.rows])

    async def _read_more(self, generation: int) -> None:
        lines = self._screen.sessions.lines
        try:
            while generation == self._generation and lines.rows.next is not None and lines.wants_more(ENOUGH_ROWS):
                async with self._reading:
                    page = await self._listing.page(self._query, lines.rows.next)
                    if generation != self._generation:
                        break
                    with lines.changing():
                        lines.rows.extend(page.rows, page.next)
                self._say_empty()
                await self._learn(page.rows)
        except CosError as error:
            self._trouble(str(error))
        finally:
            self._is_paging = False
            if generation != self._generation:
                self.more()

    def _say_empty(self) -> None:
        pane = self._screen.sessions
        if self._query.is_empty:
            pane.lines.empty_text = "No sessions yet. Your first message begins one."
        elif pane.lines.rows.next is not None:
            pane.lines.empty_text = "Looking …"
        elif self._query == SessionQuery(state="archived"):
            pane.lines.empty_text = "Nothing is archived. A shows the others again."
        else:
            pane.lines.empty_text = "No session matches. Esc in the filter clears it."
        pane.count()

    async def _learn(self, rows: Collection[SessionRow]) -> None:
        self._known.update((row.id, row) for row in rows)
        self._screen.sessions.count()
        if rows:
            await self._changed({row.id for row in rows})
        if rows and self._bill is not None:
            ids, lines = [row.id for row in rows], self._screen.sessions.lines
            lines.costs.update(await self._bill.sessions(ids))
            lines.draw_again(ids)

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except CosError as error:
            self._trouble(str(error))

    def _in_background(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """The app owns it: it ends with the app's other readers."""
        _: Worker[None] = self._screen.app.run_worker(work, group="feed", exit_on_error=False)


def _counts_anew(found: Refreshed, known: Mapping[UUID, SessionRow]) -> bool:
    """Whether a session came or went."""
    return bool(found.gone) or any(
        (before := known.get(row.id)) is None or before.is_archived != row.is_archived for row in found.rows
    )
