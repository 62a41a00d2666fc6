"""Reads from the tables what events do not carry, one pass after another, and tells the clients what has changed."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from cos.core.errors import DatabaseError, SessionError
from cos.web.catching_up import CatchingUp
from cos.web.frames import Notice
from cos.web.objects import encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from uuid import UUID

    from cos.web.core_port import WebCore
    from cos.web.hub import Hub
    from cos.web.objects import Json

log = logging.getLogger("cos.web")

PAUSE_SECONDS: Final = 0.05
"""Between two passes; one that takes long is followed by a pause that is longer, so that turns come first."""
SHARE: Final = 3
"""How many times longer the pause is than the pass."""
AGAIN_SECONDS: Final = 1.0
"""After a pass that failed."""
MOST_REMEMBERED: Final = 2_000


@dataclass(slots=True)
class _Marks:
    """What has to be read."""

    sessions: set[UUID] = field(default_factory=set)
    queues: set[UUID] = field(default_factory=set)
    turns: set[UUID] = field(default_factory=set)
    touched: set[UUID] = field(default_factory=set)
    replies: set[UUID] = field(default_factory=set)
    costs: dict[UUID, UUID] = field(default_factory=dict)
    """Turn -> its session."""
    approvals: bool = True

    def take(self) -> _Marks:
        taken = replace(self)
        self.sessions, self.queues, self.turns, self.touched, self.replies = set(), set(), set(), set(), set()
        self.costs, self.approvals = {}, False
        return taken

    def put_back(self, taken: _Marks) -> None:
        self.sessions |= taken.sessions
        self.queues |= taken.queues
        self.turns |= taken.turns
        self.touched |= taken.touched
        self.replies |= taken.replies
        self.costs |= taken.costs
        self.approvals |= taken.approvals


class Keeper:
    """Of one hub."""

    def __init__(self, core: WebCore, hub: Hub) -> None:
        self._core = core
        self._hub = hub
        self._marks = _Marks()
        self._woken = asyncio.Event()
        self._woken.set()
        self._said: OrderedDict[UUID, str] = OrderedDict()
        self._catching_up = CatchingUp(core, hub)
        self.approvals: dict[UUID, Json] = {}
        """What waits for an answer, as told last."""

    def wake(
        self,
        *,
        session: UUID | None = None,
        queue: UUID | None = None,
        turn: UUID | None = None,
        touched: UUID | None = None,
        reply: UUID | None = None,
        cost: UUID | None = None,
        approvals: bool = False,
    ) -> None:
        """Read it soon: a session's row, its queue, its newest turns, all of it, the reply that another process streams
        in it; the cost of a turn of `session`.
        """
        marks = self._marks
        for wanted, where in (
            (session, marks.sessions), (queue, marks.queues), (turn, marks.turns), (touched, marks.touched),
            (reply, marks.replies),
        ):  # fmt: skip
            if wanted is not None:
                where.add(wanted)
        if cost is not None and session is not None:
            marks.costs[cost] = session
        marks.approvals |= approvals
        self._woken.set()

    async def run(self) -> None:
        """Keep the clients informed until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._woken.wait()
            self._woken.clear()
            taken, began = self._marks.take(), loop.time()
            try:
                await self._pass(taken)
            except DatabaseError as error:
                log.warning("clients of the dashboard wait for news: %s", error)
                self._marks.put_back(taken)
                self._woken.set()
                await asyncio.sleep(AGAIN_SECONDS)
            await asyncio.sleep(max(PAUSE_SECONDS, SHARE * (loop.time() - began)))

    async def _pass(self, taken: _Marks) -> None:
        if taken.approvals:
            await self._tell_approvals()
        await self._each(taken.queues - taken.touched, self._catching_up.tell_queue)
        await self._each(taken.touched, self._catching_up.of)
        await self._each(taken.replies - taken.touched, self._catching_up.tell_reply)
        await self._each(taken.turns, self._catching_up.tell_turns)
        if taken.costs:
            await self._tell_costs(taken.costs)
        if taken.sessions and self._hub.clients:
            await self._tell_sessions(taken.sessions)

    async def _each(self, session_ids: set[UUID], work: Callable[[UUID], Awaitable[Any]]) -> None:
        for session_id in session_ids:
            if session_id in self._hub.channels:
                with suppress(SessionError):  # It was deleted meanwhile.
                    await work(session_id)

    async def _tell_sessions(self, session_ids: set[UUID]) -> None:
        for session_id, session in (await self._hub.snapshots.sessions(session_ids)).items():
            text = encode(session)
            if self._said.get(session_id) != text:
                self._said[session_id] = text
                self._said.move_to_end(session_id)
                key = ("session", session_id)
                self._hub.tell_all(Notice(action="session.updated", payload=session, key=key))
        while len(self._said) > MOST_REMEMBERED:
            self._said.popitem(last=False)

    async def _tell_costs(self, turns: dict[UUID, UUID]) -> None:
        self._hub.tell_all(Notice(action="cost.changed", payload={}, key="cost.changed"))
        watched = {turn_id: key for turn_id, key in turns.items() if key in self._hub.channels}
        if not watched:
            return
        costs = await self._hub.money.of_turns(watched)
        for session_id, whole in (await self._hub.money.of_sessions(set(watched.values()))).items():
            of_turns = {
                str(turn_id): spent.fields for turn_id, spent in costs.items() if watched[turn_id] == session_id
            }
            payload = whole.fields | {"turns": of_turns}
            channel = self._hub.channels.get(session_id)
            if channel is not None:
                key = ("cost", *of_turns)
                channel.tell(Notice(action="session.cost.changed", payload=payload, key=key))

    def given(self, approvals: Iterable[Json]) -> None:
        """A client was given these as what waits: it is told of their end, too, if nobody was told of them yet."""
        for approval in approvals:
            if approval["id"] not in self.approvals:
                self._tell_requested(approval)
                self.wake(approvals=True)

    async def _tell_approvals(self) -> None:
        before = set(self.approvals)
        pending = {row.id: self._hub.snapshots.approval(row) for row in await self._core.desk.pending()}
        for approval_id in before - pending.keys():
            end = await self._core.desk.counted(approval_id)
            told = {"status": "cancelled"} if end is None else {
                "status": end.decision, "answered_by": end.answered_by, "answer_reason": end.reason,
            }  # fmt: skip
            payload = self.approvals.pop(approval_id) | told
            self._hub.tell_all(Notice(action="approval.resolved", payload=payload))
        for approval_id in pending.keys() - self.approvals.keys():
            self._tell_requested(pending[approval_id])

    def _tell_requested(self, approval: Json) -> None:
        self.approvals[approval["id"]] = approval
        self._hub.tell_all(Notice(action="approval.requested", payload=approval))
