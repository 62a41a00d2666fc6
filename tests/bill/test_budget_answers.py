"""What an answer to the question of a spent budget lets it spend."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cos.agent.errors import CosError
from cos.agent.events import Notice
from cos.agent.hook_rules import first_action
from cos.agent.identity import TurnInfo
from cos.agent.records import ApprovalAnswer
from cos.core.questions import meant_answer
from cos.plugins.bill.reports import BillReports
from tests.bill.test_budgets import budget
from tests.bill_bench import BillBench, bill_bench

Stop = dict[str, Any]


async def asked(bill: BillBench, given: dict[str, Any]) -> Stop | None:
    return first_action(await bill.hooks.fire("pre_api_request", **given), frozenset({"stop"}))


async def spent(bill: BillBench, turn: TurnInfo) -> Stop:
    stop = await asked(bill, bill.arguments(turn))
    assert stop is not None
    return stop


async def answer(stop: Stop, typed: str) -> bool:
    """Whether the turn goes on."""
    said = meant_answer(typed, stop["choices"])
    goes_on: bool = await stop["answered"](ApprovalAnswer(decision="answered", answer=said, answered_by="test"))
    return goes_on


async def allowed(bill: BillBench) -> Decimal:
    (row,) = await bill.rows("SELECT COALESCE(sum(extra_usd), 0) AS extra FROM bill_overrides")
    extra: Decimal = row["extra"]
    return extra


@pytest.mark.parametrize(
    ("typed", "usd"),
    [
        ("1", "1"), ("2", "2"), ("3", "3"), ("1.5", "1.5"), ("$ 5", "5"), ("5 $", "5"), ("5 USD", "5"), ("7 usd", "7"),
        ("5 dollars", "5"), ("$1,000", "1000"), ("1,234.50", "1234.50"), ("20,00", "20"), ("1,5", "1.5"), (".5", "0.5"),
        ("a", "1"), ("b", "10"), ("Allow $10.0000 more", "10"),
    ],
)  # fmt: skip
async def test_an_amount_is_read_as_it_was_meant(core_url: str, tmp_path: Path, typed: str, usd: str) -> None:
    async with bill_bench(core_url, tmp_path, budget("month", 10)) as bill:
        turn = bill.turn()
        await bill.dollars(turn, 10)
        assert await answer(await spent(bill, turn), typed)
        assert await allowed(bill) == Decimal(usd)


@pytest.mark.parametrize(
    "typed",
    ["yes", "allow", "1e30", "1e999999", "1e-30", "0.0000000000000001", "NaN", "Infinity", "-5", "１２", "1_0",
     "1,00,0", "0,001", "1000001", "9" * 5000],
)  # fmt: skip
async def test_what_is_no_amount_is_asked_again_with_a_sentence(core_url: str, tmp_path: Path, typed: str) -> None:
    async with bill_bench(core_url, tmp_path, budget("month", 10)) as bill:
        turn = bill.turn()
        await bill.dollars(turn, 13)
        given = bill.arguments(turn)
        stop = await asked(bill, given)
        assert stop is not None
        assert await answer(stop, typed)
        assert await allowed(bill) == 0
        again = await asked(bill, given)
        assert again is not None
        assert again["question"].startswith(f"'{typed[:40]}")
        assert again["question"].endswith(stop["question"])
        assert await answer(again, "2")
        assert await asked(bill, given) is None


@pytest.mark.parametrize("text", ["", "-1", "0", "NaN", "Infinity", "two", "1000001", "1e999999"])
def test_the_command_line_and_the_cost_view_refuse_what_an_answer_may_not_be(text: str) -> None:
    with pytest.raises(CosError, match=r"is no amount of US dollars above 0 and up to a million, such as 5 or 2\.50"):
        BillReports.amount(text)


def test_the_command_line_and_the_cost_view_read_what_an_answer_may_be() -> None:
    texts = [" $0.10 ", "$1,000", "2.50 USD", "20,00"]
    assert [BillReports.amount(text) for text in texts] == list(map(Decimal, ["0.10", "1000", "2.50", "20.00"]))


@pytest.mark.parametrize("typed", ["0", "$0", "no", "Stop", "c", "Stop the turn"])
async def test_a_refusal_stops_the_turn(core_url: str, tmp_path: Path, typed: str) -> None:
    async with bill_bench(core_url, tmp_path, budget("month", 10)) as bill:
        turn = bill.turn()
        await bill.dollars(turn, 10)
        assert not await answer(await spent(bill, turn), typed)
        assert await allowed(bill) == 0


async def test_what_is_allowed_counts_from_what_is_spent(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path, budget("month", 20)) as bill:
        turn = bill.turn()
        await bill.dollars(turn, 26)
        stop = await spent(bill, turn)
        assert stop["choices"][0] == "Allow $2.0000 more"
        assert await answer(stop, stop["choices"][0])
        assert await bill.dollars(turn, 1) is None
        assert await bill.dollars(turn, 1) is None
        assert await bill.dollars(turn, 1) is not None


@pytest.mark.parametrize(("first", "second", "usd"), [("$5", "$50", 50), ("$50", "$5", 50), ("$5", "$5", 5)])
async def test_of_two_questions_about_one_budget_the_larger_answer_holds(
    core_url: str, tmp_path: Path, first: str, second: str, usd: int
) -> None:
    async with bill_bench(core_url, tmp_path, budget("month", 10)) as bill:
        turns = [bill.turn(), bill.turn()]
        await bill.dollars(turns[0], 10)
        stops = [await spent(bill, turn) for turn in turns]
        for stop, typed in zip(stops, (first, second), strict=True):
            assert await answer(stop, typed)
        assert await allowed(bill) == usd
        said = [event.text for event in bill.events if isinstance(event, Notice) and event.level == "info"]
        assert said[-1].startswith(
            f"The budget all/month may spend ${usd}.0000 more now: ${10 + usd}.0000 in all since "
        )
        assert len(said) == 2


async def test_an_answer_to_an_old_question_counts_from_now_when_the_budget_is_spent_again(
    core_url: str, tmp_path: Path
) -> None:
    async with bill_bench(core_url, tmp_path, budget("month", 10)) as bill:
        turns = [bill.turn(), bill.turn()]
        await bill.dollars(turns[0], 10)
        stops = [await spent(bill, turn) for turn in turns]
        assert await answer(stops[0], "$5")
        await bill.dollars(turns[0], 7)
        assert await answer(stops[1], "$3")
        assert await allowed(bill) == 10
