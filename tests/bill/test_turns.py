"""CommonBill in the real loop: what the hooks are told, and how a spent budget ends a turn."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

from cos.agent.events import Notice, TurnCompleted, Usage
from cos.agent.provider import ModelReply, ProviderUnavailable, StreamStarted, TextChunk
from cos.agent.providers.scripted import Script, called
from cos.agent.records import ApprovalAnswer, TurnStatus
from cos.plugins.bill.reports import BillReports
from tests.fix_home import CoreHome, asked

TOML = """plugins = ["bill", "workspace"]
[[bill.budgets]]
tag = "client:acme"
period = "day"
limit_usd = 2
[bill.prices."scripted-1"]
input = 1_000_000
output = 0
"""


def cost(dollars: int, text: str = "fine") -> ModelReply:
    usage = Usage(input_tokens=dollars, output_tokens=1)
    return ModelReply(text=text, stop_reason="end_turn", usage=usage, model="scripted-1", is_complete=True)


async def ask(core: Any, text: str, session: Any = None) -> TurnCompleted:
    return await asked(core, text, session, profile="work")


async def rows(core: Any, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await core.database.fetch(query.encode())
    return found


async def test_a_spent_budget_ends_the_turn_and_raising_it_goes_on(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text(TOML)
    provider = core_home.script(cost(2), cost(1, "and on"), profile="work")
    core = await core_home.open()
    first = await ask(core, "one")
    assert first.status is TurnStatus.COMPLETED
    asking = asyncio.ensure_future(ask(core, "two", first.turn.session_id))
    (question,) = await answered(core, "Stop the turn")
    assert question.detail.startswith("The budget client:acme/day is spent: $2.0000 of $2.0000 since ")
    assert question.choices == ("Allow $0.2000 more", "Allow $2.0000 more", "Stop the turn")
    stopped = await asking
    assert (stopped.status, stopped.stop_reason) == (TurnStatus.FAILED, "budget")
    assert stopped.error is not None
    assert "cos cost override client:acme/day AMOUNT" in stopped.error
    assert provider.unused == 1, "nothing was sent"
    reports = core.plugins.offered("bill")
    assert isinstance(reports, BillReports)
    (state,) = await reports.budgets()
    await reports.override(state, Decimal(5), "test")
    assert (await ask(core, "three", first.turn.session_id)).text == "and on"
    assert [row["status"] for row in await rows(core, "SELECT status FROM model_calls")] == ["ok", "ok"]


async def test_an_answer_to_the_question_lets_the_budget_spend_more_once(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text(TOML)
    core_home.script(cost(3), cost(1, "and on"), profile="work")
    core = await core_home.open()
    session = (await ask(core, "one")).turn.session_id
    asking = asyncio.ensure_future(ask(core, "two", session))
    await answered(core, "$1.50")
    assert (await asking).text == "and on"
    (extra,) = await rows(core, "SELECT scope, extra_usd, granted_by FROM bill_overrides")
    assert extra == {"scope": "client:acme", "extra_usd": Decimal("2.50"), "granted_by": "test"}, "beyond the 3 spent"
    assert (await rows(core, "SELECT ordinal, status FROM model_calls ORDER BY started_at"))[-1]["status"] == "ok"


async def test_an_answer_that_is_no_amount_asks_again_and_says_so(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text(TOML)
    core_home.script(cost(3), profile="work")
    core = await core_home.open()
    session = (await ask(core, "one")).turn.session_id
    asking = asyncio.ensure_future(ask(core, "two", session))
    (question,) = await answered(core, "yes")
    while [waiting.id for waiting in await core.desk.pending()] in ([], [question.id]):
        await asyncio.sleep(0.002)
    (again,) = await answered(core, "0")
    assert again.detail.startswith("'yes' is no amount between $0.0001 and $1,000,000.00, so nothing was allowed yet. ")
    assert again.choices[0] == "Allow $0.2000 more", "counted from what is spent"
    assert (await asking).stop_reason == "budget"
    assert not await rows(core, "TABLE bill_overrides")


async def test_one_answer_is_enough_for_all_sessions_that_wait_for_the_budget(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text(TOML)
    core_home.script(cost(3), cost(0), cost(0), profile="work")
    core = await core_home.open()
    await ask(core, "one")
    asking = [asyncio.ensure_future(ask(core, text)) for text in ("two", "three")]
    assert len(await answered(core, "Allow $2.0000 more", count=2)) == 2
    assert [(await one).status for one in asking] == [TurnStatus.COMPLETED] * 2
    assert len(await rows(core, "TABLE bill_overrides")) == 1


async def test_cancelling_a_turn_that_waits_for_the_budget_leaves_no_call(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text(TOML)
    core_home.script(cost(3), profile="work")
    core = await core_home.open()
    session = (await ask(core, "one")).turn.session_id
    asking = asyncio.ensure_future(ask(core, "two", session))
    while not await core.desk.pending():
        await asyncio.sleep(0.002)
    core.dispatcher.cancel(session)
    assert (await asking).status is TurnStatus.CANCELLED
    assert not await core.desk.pending()
    assert len(await rows(core, "TABLE model_calls")) == 1


async def answered(core: Any, answer: str, *, count: int = 1) -> list[Any]:
    """Give the same answer to `count` questions once all of them wait."""
    while len(await core.desk.pending()) < count:
        await asyncio.sleep(0.002)
    waiting: list[Any] = await core.desk.pending()
    for question in waiting:
        await core.desk.answer(question.id, ApprovalAnswer(decision="answered", answer=answer, answered_by="test"))
    return waiting


async def test_retries_steps_and_failures_are_rows_of_their_own(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text(TOML.replace("limit_usd = 2", "limit_usd = 999"))
    partial = ModelReply(text="cut", usage=Usage(input_tokens=3, output_tokens=1), model="scripted-1")
    scripts: list[Script] = [
        ProviderUnavailable("busy", status=529),
        [StreamStarted("scripted-1"), TextChunk("cut"), partial, ProviderUnavailable("gone")],
        called(("c1", "read_file", {"path": "a.txt"})),
        cost(4),
    ]
    core_home.script(*scripts, profile="work")
    core = await core_home.open()
    with core.feed.subscribe() as events:
        done = await ask(core, "go")
        events.close()
        seen = [live.event async for live in events]
    found = await rows(core, "SELECT * FROM model_calls ORDER BY ordinal")
    assert [(row["ordinal"], row["status"], row["cause"], row["attempt"], row["cost_usd"]) for row in found] == [
        (1, "error", "turn", 1, 0),
        (2, "dropped", "retry", 2, 3),
        (3, "ok", "retry", 3, None),
        (4, "ok", "turn", 1, 4),
    ]
    assert all(row["turn_id"] == done.turn.turn_id and row["tags"] == ["client:acme"] for row in found)
    recorded = [event for event in seen if event.type == "bill.call_recorded"]
    assert len(recorded) == 4
    assert not [event for event in seen if isinstance(event, Notice) and "stored" in event.text]


async def test_the_call_that_writes_a_summary_is_a_row_with_its_cause(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text(TOML.replace("limit_usd = 2", "limit_usd = 7"))
    core_home.script(cost(1), cost(2, "more"), cost(4, "the summary"), profile="work")
    core = await core_home.open()
    session = (await ask(core, "one")).turn.session_id
    await ask(core, "two", session)
    assert (await compacted(core, session)).status is TurnStatus.COMPLETED
    found = await rows(core, "SELECT cause, cost_usd, tags FROM model_calls ORDER BY started_at")
    assert [(row["cause"], row["cost_usd"]) for row in found] == [("turn", 1), ("turn", 2), ("compaction", 4)]
    assert all(row["tags"] == ["client:acme"] for row in found)
    asking = asyncio.ensure_future(ask(core, "three", session))
    await answered(core, "Stop the turn")
    assert (await asking).stop_reason == "budget", "it was paid from the budget"


async def compacted(core: Any, session: Any) -> TurnCompleted:
    while core.dispatcher.running(session) is not None:
        await asyncio.sleep(0.002)
    with core.feed.subscribe() as events:
        turn_id = await core.dispatcher.compact(session)
        async for live in events:
            if isinstance(live.event, TurnCompleted) and live.event.turn.turn_id == turn_id:
                return live.event
    raise AssertionError("no end")


async def test_without_the_plugin_nothing_is_offered_and_turns_run(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text('plugins = ["workspace"]\n')
    core_home.script(cost(2), profile="work")
    core = await core_home.open()
    assert core.plugins.offered("bill") is None
    assert (await ask(core, "one")).status is TurnStatus.COMPLETED
