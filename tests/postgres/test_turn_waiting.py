"""How long a turn waited for the user: its requests' open time, counted once, never past its end."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from cos.agent.approver import ApprovalRequest
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.agent.records import TurnStatus
from cos.agent.tools import CallDescription
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.sessions import Sessions
from cos.core.postgres.turn_waiting import Waiting, waiting_of
from tests.postgres.test_session_edits import edits_on


class Asking(NamedTuple):
    database: Database
    turn: TurnInfo

    async def span(self, start: float, end: float | None) -> UUID:
        """A request that was open from `start` to `end`, seconds after the turn began."""
        request_id = new_id()
        request = ApprovalRequest(
            turn=self.turn, call_id=str(request_id), name="terminal", args={}, risk="execute",
            description=CallDescription(title="t"), reasons=("why",),
        )  # fmt: skip
        await Approvals(self.database).request(request_id, request, "hash", 300)
        await self.database.fetch(
            "UPDATE approvals a SET requested_at = t.started_at + make_interval(secs => %(start)s),"
            " answered_at = t.started_at + make_interval(secs => %(end)s),"
            " status = CASE WHEN %(end)s::float IS NULL THEN 'pending' ELSE 'allowed' END"
            " FROM turns t WHERE t.id = a.turn_id AND a.id = %(id)s",
            {"id": request_id, "start": start, "end": end},
        )
        return request_id

    async def waiting(self) -> Waiting | None:
        found = await self.database.transaction(lambda connection: waiting_of(connection, [self.turn.turn_id]))
        return found.get(self.turn.turn_id)


async def asking(database: Database) -> Asking:
    journal = PostgresJournal(database)
    session_id = await journal.create_session(NewSession(profile_id="home", source="cli"))
    turn = TurnInfo(profile_id="home", session_id=session_id, turn_id=new_id())
    await journal.start_turn(turn, UserMessage(text="go"))
    await database.fetch("UPDATE turns SET started_at = started_at - interval '1 hour'")
    return Asking(database, turn)


async def test_a_turn_without_requests_did_not_wait(database: Database) -> None:
    it = await asking(database)
    assert await it.waiting() is None
    assert (await PostgresJournal(database).finish_turn(it.turn, TurnStatus.COMPLETED)).waited_seconds == 0


async def test_overlapping_requests_count_once(database: Database) -> None:
    it = await asking(database)
    for start, end in [(10, 40), (20, 30), (35, 50), (100, 105)]:
        await it.span(start, end)
    assert await it.waiting() == Waiting(seconds=45)
    assert (await PostgresJournal(database).finish_turn(it.turn, TurnStatus.COMPLETED)).waited_seconds == 45


async def test_an_open_request_says_since_when_the_turn_waits_and_swallows_what_it_overlaps(database: Database) -> None:
    it = await asking(database)
    await it.span(0, 5)
    await it.span(10, 40)
    open_id = await it.span(30, None)
    found = await it.waiting()
    assert found is not None and (found.seconds, found.open_requests) == (5, (open_id,))
    page = await Sessions(database).transcript(it.turn.session_id)
    (turn,) = page.turns.values()
    assert turn.waits_since is not None
    assert (turn.waits_since - turn.started_at).total_seconds() == 10
    assert (turn.waited_seconds, turn.open_requests) == (5, (open_id,))


async def test_waiting_ends_with_the_turn(database: Database) -> None:
    it = await asking(database)
    await it.span(10, None)
    await database.fetch("UPDATE turns SET last_activity_at = started_at + interval '30 seconds'")
    end = await PostgresJournal(database).finish_turn(it.turn, TurnStatus.INTERRUPTED)
    assert end.waited_seconds == 20
    late = it._replace(turn=replace(it.turn, turn_id=new_id()))
    await PostgresJournal(database).start_turn(late.turn, UserMessage(text="again"))
    await late.span(10, None)
    await database.fetch("UPDATE turns SET last_activity_at = started_at WHERE completed_at IS NULL")
    end = await PostgresJournal(database).finish_turn(late.turn, TurnStatus.INTERRUPTED)
    assert end.waited_seconds == 0


async def test_what_the_end_says_is_what_is_loaded(database: Database) -> None:
    it = await asking(database)
    await it.span(1, 2.25)
    end = await PostgresJournal(database).finish_turn(it.turn, TurnStatus.CANCELLED)
    page = await Sessions(database).transcript(it.turn.session_id)
    (turn,) = page.turns.values()
    assert (turn.completed_at, turn.waited_seconds) == end
    prompt_id = page.messages[0].id
    told = await Sessions(database).end_of_turn(prompt_id)
    assert told is not None and told.waited_seconds == end.waited_seconds == 1.25


async def test_a_copied_turn_has_waited_as_long_also_when_the_one_it_repeats_is_gone(database: Database) -> None:
    it = await asking(database)
    await it.span(10, 40)
    await PostgresJournal(database).finish_turn(it.turn, TurnStatus.COMPLETED)
    edits = edits_on(database)
    fork = await edits.fork(it.turn.session_id)
    again = await edits.fork(fork)
    await edits.delete([it.turn.session_id])
    for session_id in (fork, again):
        (turn,) = (await Sessions(database).transcript(session_id)).turns.values()
        assert turn.waited_seconds == 30
