"""Questions of a running call wait where approvals wait, and only words of a person answer them."""

from __future__ import annotations

import asyncio

import pytest

from cos.agent.records import ApprovalAnswer
from cos.core.errors import DatabaseError
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.database import Database
from cos.core.postgres.schema import apply_core_schema
from tests.postgres.test_approval_desk import make_desk

QUESTION = {"kind": "question", "choices": ("Red", "Blue \udcff")}
RED = ApprovalAnswer(decision="answered", answer="Red", answered_by="tui")
OLD_CHECK = b"""ALTER TABLE approvals DROP CONSTRAINT approvals_status_of_kind,
    ADD CONSTRAINT approvals_status_check
        CHECK (status IN ('pending', 'allowed', 'denied', 'expired', 'cancelled')),
    DROP COLUMN answer, DROP COLUMN choices; DELETE FROM applied_schemas"""


async def test_a_question_is_a_row_that_names_its_choices_before_anyone_is_asked(database: Database) -> None:
    it = await make_desk(database)
    asking, shown = await it.asked(**QUESTION)
    (pending,) = await it.desk.pending()
    assert (pending.id, pending.kind, pending.choices) == (shown.approval_id, "question", ("Red", "Blue \ufffd"))
    assert (shown.kind, shown.choices[0]) == ("question", "Red")
    assert it.desk.proposals(pending) == ()
    assert await it.desk.answer(shown.approval_id, RED) == RED
    assert await asking == RED
    assert it.events[-1].answer == RED
    assert await it.desk.pending() == []


async def test_an_answer_of_another_process_is_heard(database: Database) -> None:
    it = await make_desk(database)
    asking, shown = await it.asked(**QUESTION)
    assert await Approvals(database).answer(shown.approval_id, RED) == RED
    await it.desk.hear(str(shown.approval_id))
    assert await asking == RED


async def test_of_two_answers_the_first_counts_and_the_other_is_told(database: Database) -> None:
    it = await make_desk(database)
    asking, shown = await it.asked(**QUESTION)
    other = ApprovalAnswer(decision="answered", answer="no idea", answered_by="cli")
    told = await asyncio.gather(*(it.desk.answer(shown.approval_id, answer) for answer in (RED, other)))
    assert told[0] == told[1] == await asking


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (QUESTION, ApprovalAnswer(decision="allowed", answered_by="tui")),
        ({}, RED),
    ],
)
async def test_a_question_is_not_allowed_and_a_call_is_not_answered(
    database: Database, request_: dict[str, object], answer: ApprovalAnswer
) -> None:
    it = await make_desk(database)
    asking, shown = await it.asked(**request_)
    with pytest.raises(LookupError, match=f"that can be {answer.decision}"):
        await it.desk.answer(shown.approval_id, answer)
    assert await it.decisions() == ["pending"]
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await it.decisions() == ["cancelled"]


@pytest.mark.parametrize("status", ["'allowed', answer = 'x'", "'answered'", "'answered', answer = ''", "'maybe'"])
async def test_the_database_itself_refuses_what_is_no_answer_to_a_question(database: Database, status: str) -> None:
    it = await make_desk(database, timeout_seconds=0.01)
    asking, _ = await it.asked(**QUESTION)
    assert (await asking).decision == "expired"
    with pytest.raises(DatabaseError, match="approvals_status_of_kind"):
        await database.fetch(f"UPDATE approvals SET status = {status}".encode())


async def test_a_question_that_nobody_answers_expires_and_a_declined_one_is_denied(database: Database) -> None:
    it = await make_desk(database, timeout_seconds=0.05)
    asking, shown = await it.asked(**QUESTION)
    assert await asking == ApprovalAnswer(decision="expired")
    assert await it.desk.answer(shown.approval_id, RED) == ApprovalAnswer(decision="expired")
    it = await make_desk(database)
    asking, shown = await it.asked(**QUESTION)
    declined = ApprovalAnswer(decision="denied", answered_by="tui")
    await it.desk.answer(shown.approval_id, declined)
    assert await asking == declined


async def test_an_older_database_learns_to_keep_answers(database: Database) -> None:
    await database.fetch(OLD_CHECK)
    for _ in range(2):
        await apply_core_schema(database)
    it = await make_desk(database)
    asking, shown = await it.asked(**QUESTION)
    await it.desk.answer(shown.approval_id, RED)
    assert await asking == RED
