"""Keeps the figures of the cost pane: read again after each recorded call, and now and then for what others spend."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.tui import cost_words
from cos.tui.cost_port import CALL_RECORDED

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.events import Usage
    from cos.core.live import PluginEvent
    from cos.tui.cost_port import Bill, BudgetState, DayCost, Report, SessionCost

PAUSE_SECONDS = 1.0
"""At least this long between two reads after recorded calls."""
POLL_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CostFigures:
    """As they were read together."""

    today: Report
    tag_key: str
    days: Sequence[DayCost]
    budgets: Sequence[BudgetState]
    session_id: UUID | None
    session: SessionCost | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostShown:
    """What the pane says."""

    is_on: bool
    tokens: Usage
    """Of the open session."""
    is_new: bool = False
    """No session is open: the next message begins one."""
    figures: CostFigures | None = None
    """None until they were read."""
    is_of_session: bool = False
    """`figures` were read for the session that is open."""
    trouble: str = ""
    """Why they could not be read again."""


class CostKeeper:
    """One for the main screen. `run` is its only work."""

    def __init__(self, bill: Bill | None, current: Callable[[], UUID | None], changed: Callable[[], None]) -> None:
        """`current` is the open session; `changed` is told when there is something else to show."""
        self.bill = bill
        self.trouble = ""
        self.watchers: list[Callable[[], object]] = []
        """Told after every read, as `changed` is."""
        self._current = current
        self._changed = changed
        self._figures: CostFigures | None = None
        self._touched = asyncio.Event()
        self._moved = asyncio.Event()

    def take(self, event: PluginEvent) -> None:
        if event.type == CALL_RECORDED:
            self._touched.set()

    def moved(self) -> None:
        """Another session is open, or a budget was changed: read at once."""
        self._touched.set()
        self._moved.set()

    @property
    def today(self) -> str:
        """For the status line; empty while it is unknown."""
        return cost_words.today(self._figures.today.total) if self._figures else ""

    def shown(self, tokens: Usage) -> CostShown:
        """`tokens`: those of the open session."""
        figures = self._figures
        return CostShown(
            is_on=self.bill is not None,
            tokens=tokens,
            is_new=self._current() is None,
            figures=figures,
            is_of_session=figures is not None and figures.session_id == self._current(),
            trouble=self.trouble,
        )

    async def run(self) -> None:
        """Read for as long as the app runs."""
        if self.bill is None:
            return
        while True:
            self._touched.clear()
            self._moved.clear()
            await self._read(self.bill)
            self._changed()
            for watcher in tuple(self.watchers):
                watcher()
            await _wait(self._moved, PAUSE_SECONDS)
            await _wait(self._touched, POLL_SECONDS)

    async def _read(self, bill: Bill) -> None:
        session_id = self._current()
        try:
            self._figures = CostFigures(
                today=await bill.today(),
                tag_key=bill.tag_key,
                days=await bill.last_days(),
                budgets=await bill.budgets(session_id),
                session_id=session_id,
                session=await bill.session(session_id) if session_id else None,
            )
        except CosError as error:
            self.trouble = str(error)
        else:
            self.trouble = ""


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
