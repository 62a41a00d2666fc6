"""Requests for approval: one answer counts, nobody answering is no refusal, and a cancelled turn takes its requests."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest

from cos.agent.approver import ApprovalRequest
from cos.agent.events import ApprovalRequested, ApprovalResolved
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.agent.records import ApprovalAnswer
from cos.agent.tools import CallDescription
from cos.core.approval_desk import ApprovalDesk, content_hash
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.database import Database
from cos.core.postgres.grants import Grants
from cos.core.postgres.journal import PostgresJournal
from cos.core.rule_keeper import RuleKeeper


class Desk:
    """A desk with an open turn to ask in."""

    def __init__(self, database: Database, turn: TurnInfo, timeout_seconds: float) -> None:
        self.database, self.turn, self.events = database, turn, list[Any]()
        self.desk = ApprovalDesk(
            Approvals(database),
            RuleKeeper({}, {}, Grants(database)),
            self.events.append,
            timeout_seconds=timeout_seconds,
            surface="test",
        )

    def request(self, call_id: str = "c", **more: Any) -> ApprovalRequest:
        given: dict[str, Any] = {"args": {"command": "ls"}, "reasons": ("it runs",)} | more
        description = CallDescription(title="ls \x00", detail="ls", cwd="/tmp/\udcff", diff="\x00")
        return ApprovalRequest(
            turn=self.turn, call_id=call_id, name="terminal", risk="execute", description=description, **given
        )

    async def asked(self, **more: Any) -> tuple[asyncio.Task[ApprovalAnswer], ApprovalRequested]:
        before = len(self.events)
        asking = asyncio.ensure_future(self.desk.ask(self.request(**more)))
        while len(self.events) == before:
            await asyncio.sleep(0.001)
        return asking, self.events[before]

    async def decisions(self) -> list[str]:
        rows = await self.database.fetch(b"SELECT status FROM approvals ORDER BY id")
        return [row["status"] for row in rows]


async def make_desk(database: Database, timeout_seconds: float = 60) -> Desk:
    journal = PostgresJournal(database)
    session = await journal.create_session(NewSession(profile_id="home", source="cli", title="Tidy up"))
    turn = TurnInfo(profile_id="home", session_id=session, turn_id=new_id())
    await journal.start_turn(turn, UserMessage(text="go"))
    return Desk(database, turn, timeout_seconds)


async def test_a_request_is_a_row_before_anyone_is_asked(database: Database) -> None:
    it = await make_desk(database)
    asking, shown = await it.asked()
    (pending,) = await it.desk.pending()
    assert (pending.id, pending.args, pending.session_title) == (shown.approval_id, {"command": "ls"}, "Tidy up")
    assert (pending.title, pending.cwd) == ("ls \ufffd", "/tmp/\ufffd")
    assert (pending.expires_at - pending.requested_at).total_seconds() == pytest.approx(60, abs=1)
    answer = ApprovalAnswer(decision="denied", reason='use "rg"', answered_by="tui")
    assert await it.desk.answer(shown.approval_id, answer) == answer
    assert await asking == answer
    assert it.events[-1].answer == answer
    assert await it.desk.pending() == []


async def test_of_many_answers_at_once_exactly_one_counts(database: Database, core_url: str) -> None:
    """Fifty rounds over two real pools, as two processes would."""
    it, other = await make_desk(database), await Database(core_url, size=2).open()
    for round_ in range(50):
        asking, shown = await it.asked(call_id=f"c{round_}")
        answers = [
            ApprovalAnswer(decision=decision, answered_by=f"{decision} {place}")
            for decision in ("allowed", "denied")
            for place in ("here", "there")
        ]
        random.shuffle(answers)
        here, there = it.desk.answer, Approvals(other).answer
        stores = [here if "here" in str(answer.answered_by) else there for answer in answers]
        told = await asyncio.gather(
            *(store(shown.approval_id, answer) for store, answer in zip(stores, answers, strict=True))
        )
        assert len(set(told)) == 1
        assert told[0] in answers
        assert await asking == told[0]
    await other.close()


async def test_no_answer_by_the_deadline_is_expired_and_a_late_one_is_told_so(database: Database) -> None:
    """H-019."""
    it = await make_desk(database, timeout_seconds=0.05)
    asking, shown = await it.asked()
    assert await asking == ApprovalAnswer(decision="expired")
    late = await it.desk.answer(shown.approval_id, ApprovalAnswer(decision="allowed", answered_by="tui"))
    assert late == ApprovalAnswer(decision="expired")
    assert await it.decisions() == ["expired"]
    assert isinstance(it.events[-1], ApprovalResolved)


async def test_an_answer_of_another_process_counts_at_the_deadline_at_the_latest(database: Database) -> None:
    it = await make_desk(database, timeout_seconds=0.2)
    asking, shown = await it.asked()
    denied = ApprovalAnswer(decision="denied", answered_by="elsewhere")
    await Approvals(database).answer(shown.approval_id, denied)
    assert await asking == denied


@pytest.mark.parametrize("beats", [0, 1, 5, 200])
async def test_a_cancelled_request_is_closed_before_the_cancellation_goes_on(database: Database, beats: int) -> None:
    it = await make_desk(database)
    asking = asyncio.ensure_future(it.desk.ask(it.request()))
    for _ in range(beats):
        await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert "pending" not in await it.decisions()
    assert it.desk._waiting == {}


async def test_a_request_answered_the_moment_its_row_is_there_does_not_wait(database: Database) -> None:
    it = await make_desk(database)
    asking = asyncio.ensure_future(it.desk.ask(it.request()))
    while not (pending := await it.desk.pending()):
        await asyncio.sleep(0)
    answer = ApprovalAnswer(decision="allowed", answered_by="quick")
    await it.desk.answer(pending[0].id, answer)
    assert await asking == answer


async def test_there_is_no_answer_to_what_was_never_asked(database: Database) -> None:
    it = await make_desk(database)
    with pytest.raises(LookupError, match="there is no approval"):
        await it.desk.answer(new_id(), ApprovalAnswer(decision="allowed"))


async def test_the_hash_names_tool_arguments_and_folder(database: Database, tmp_path: Path) -> None:
    it = await make_desk(database)
    same = content_hash(it.request(args={"a": 1, "b": 2}))
    assert content_hash(it.request(call_id="x", args={"b": 2, "a": 1})) == same
    assert content_hash(it.request(args={"a": 1, "b": 2.0})) != same


async def test_of_200_requests_answered_from_two_processes_at_once_each_has_one_answer(
    database: Database, core_url: str
) -> None:
    """H-021: nothing runs twice, and both sides are told the truth."""
    it = await make_desk(database)
    asking = [asyncio.ensure_future(it.desk.ask(it.request(call_id=f"c{number}"))) for number in range(200)]
    while len(it.events) < 200:
        await asyncio.sleep(0.01)
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.postgres.answering", core_url, stdin=PIPE, stdout=PIPE
    )
    assert other.stdin is not None
    assert other.stdout is not None
    assert await other.stdout.readline() == b"ready\n"
    other.stdin.write(b"go\n")
    ids = [event.approval_id for event in it.events[:200]]
    ours = ApprovalAnswer(decision="allowed", answered_by="here")
    told_here = await asyncio.gather(*(it.desk.answer(approval_id, ours) for approval_id in ids))
    told_there = json.loads(await other.stdout.readline())
    await other.wait()
    # The other process may have answered some that we reached only afterwards: their waiters hear of it.
    await it.desk.look()
    answers = {f"c{number}": answer.decision for number, answer in enumerate(await asyncio.gather(*asking))}
    got = {event.approval_id: answers[event.call_id] for event in it.events[:200]}
    assert len(got) == 200
    for approval_id, told in zip(ids, told_here, strict=True):
        assert told_there[str(approval_id)] == told.decision == got[approval_id]
    rows = await database.fetch(b"SELECT id, status FROM approvals")
    assert {row["id"]: row["status"] for row in rows} == got
