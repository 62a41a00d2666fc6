"""Every attempt of a model call is one row, with its figures taken once, whatever becomes of the call."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cos.agent.events import Usage
from cos.agent.ids import new_id
from cos.core.event_json import event_object
from cos.core.live import PluginEvent
from cos.plugins.bill.events import CallRecorded
from tests.bill_bench import bill_bench, costs
from tests.fix_home import CoreHome

CACHED = Usage(input_tokens=400, cache_read_tokens=6000, cache_write_5m_tokens=2000, output_tokens=500)


async def test_each_kind_of_token_is_charged_once_at_its_own_rate_H_030(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        await bill.call(bill.turn("client:acme"), CACHED)
        (row,) = await bill.calls()
        assert row["cost_usd"] == Decimal("0.018")
        assert (row["status"], row["tags"], row["is_partial"]) == ("ok", ["client:acme"], False)
        assert row["price_source"] == "commonos.toml"
        assert row["rates"] == {
            "input": "3", "output": "15", "cache_read": "0.3", "cache_write_5m": "3.75", "cache_write_1h": "6",
        }  # fmt: skip
        assert (row["ttft_ms"], row["duration_ms"]) == (500, 2000)
        assert row["cache_saved_usd"] == Decimal("0.0147"), "6000 x 2.70 saved, 2000 x 0.75 paid for writing"
        await bill.call(bill.turn(), Usage(input_tokens=1000, output_tokens=1000))
        assert (await bill.calls())[1]["cost_usd"] == Decimal("0.018"), "what is not reported counts as 0"
        await bill.assert_rollup_equals_rows()


async def test_a_row_is_there_before_the_request_leaves_and_ends_once(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        given = bill.arguments(bill.turn("client:acme"))
        assert await bill.begin(given) is None
        assert [row["status"] for row in await bill.calls()] == ["running"]
        assert (await bill.reports.report("model")).running == 1
        assert (await bill.reports.total()).calls == 0
        for _ in range(2):
            await bill.end(given, CACHED)
        await bill.fail(given, Usage(input_tokens=1))
        (row,) = await bill.calls()
        assert (row["status"], row["cost_usd"], row["output_tokens"]) == ("ok", Decimal("0.018"), 500)
        await bill.assert_rollup_equals_rows()


async def test_failed_calls_keep_what_was_reported_and_no_words_of_the_conversation(
    core_url: str, tmp_path: Path
) -> None:
    partial = Usage(input_tokens=1000, output_tokens=1, is_partial=True)
    cases: list[tuple[dict[str, Any], Usage, str, Decimal, str | None]] = [
        ({"status_code": 529}, Usage(), "error", Decimal(0), "ProviderUnavailable (HTTP 529)"),
        ({"first_token_seconds": 0.1}, partial, "dropped", Decimal("0.003015"), "ProviderUnavailable"),
        ({"reason": "cancelled", "first_token_seconds": 0.1}, partial, "cancelled", Decimal("0.003015"), None),
        ({"reason": "cancelled"}, Usage(), "cancelled", Decimal(0), None),
    ]
    async with bill_bench(core_url, tmp_path) as bill:
        for number, (more, usage, *_) in enumerate(cases, 1):
            given = bill.arguments(bill.turn(), attempt=number)
            await bill.begin(given)
            await bill.fail(given, usage, **more)
        rows = await bill.calls()
        found = [(row["status"], row["cost_usd"], row["error"]) for row in rows]
        assert found == [tuple(case[2:]) for case in cases]
        assert [row["is_partial"] for row in rows] == [False, True, True, False]
        assert [row["cause"] for row in rows] == ["turn", "retry", "retry", "retry"]
        total = await bill.reports.total()
        assert (total.calls, total.partial, total.unpriced, total.cost_usd) == (4, 2, 0, Decimal("0.00603"))


async def test_unknown_models_are_unpriced_and_never_zero(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        turn = bill.turn()
        await bill.call(turn, CACHED, model="who-knows")
        await bill.call(turn, CACHED, model="claude-opus-5-5", base_url="http://127.0.0.1:11434")
        await bill.call(turn, Usage(), model="a")
        await bill.call(turn, CACHED, model="claude-opus-5-5")
        rows = await bill.calls()
        assert [row["cost_usd"] for row in rows[:3]] == [None] * 3
        assert [row["price_source"] for row in rows[:3]] == [
            "no price is known for who-knows",
            "no price is known for claude-opus-5-5",
            "the server counted no tokens",
        ]
        assert rows[3]["price_source"].startswith("genai-prices ")
        # 400 x 4 + 6000 x 0.20 + 2000 x 5 + 500 x 20, per million.
        assert rows[3]["cost_usd"] == Decimal("0.0228")
        total = await bill.reports.total()
        assert (total.calls, total.unpriced, total.cost_usd) == (4, 3, Decimal("0.0228"))
        await bill.assert_rollup_equals_rows()


async def test_what_the_demo_shows_as_cost_is_marked_everywhere_and_spends_no_budget(
    core_url: str, tmp_path: Path
) -> None:
    toml = "[[bill.budgets]]\nperiod = 'day'\nlimit_usd = 1\n[[bill.budgets]]\nperiod = 'session'\nlimit_usd = 1\n"
    async with bill_bench(core_url, tmp_path, toml) as bill:
        demo = bill.turn("client:acme")
        await bill.call(demo, CACHED, provider="mock", model="mock-1")
        await bill.call(bill.turn("client:acme"), CACHED)
        found = [(row["cost_usd"], row["cache_saved_usd"], row["price_source"]) for row in await bill.calls()]
        assert found[0] == (Decimal("0.018"), 0, "demo prices, made up")
        total = await bill.reports.total()
        assert (total.cost_usd, total.made_up_usd) == (Decimal("0.036"), Decimal("0.018"))
        assert [event.is_made_up for event in bill.events if isinstance(event, CallRecorded)] == [True, False]
        cost = await bill.reports.session(demo.session_id)
        assert cost.own.cost_usd == cost.own.made_up_usd == Decimal("0.018")
        states = await bill.reports.budgets(demo.session_id)
        assert [state.spent_usd for state in states] == [Decimal("0.018"), Decimal(0)], "nobody spends what is made up"
        await bill.assert_rollup_equals_rows()


async def test_a_price_of_ones_own_counts_for_the_demo_too(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path, '[bill.prices."mock-1"]\ninput = 1\noutput = 2\n') as bill:
        await bill.call(bill.turn(), Usage(input_tokens=10, output_tokens=10), provider="mock", model="mock-1")
        (row,) = await bill.calls()
        assert (row["cost_usd"], row["price_source"]) == (Decimal("0.00003"), "commonos.toml")
        assert (await bill.reports.total()).made_up_usd == 0


async def test_each_call_has_the_price_of_its_own_model_at_its_time_H_032(core_url: str, tmp_path: Path) -> None:
    thousand = Usage(input_tokens=1000, output_tokens=1000)
    async with bill_bench(core_url, tmp_path) as bill:
        parent = bill.turn("client:acme")
        await bill.call(parent, thousand, model="a")
        await bill.call(bill.turn(parent=parent), thousand, model="b", parent=parent)
        await bill.call(parent, thousand, model="b")
        found = [(row["cost_usd"], row["cause"]) for row in await bill.calls()]
        assert found == [(Decimal("0.018"), "turn"), (Decimal("0.006"), "child"), (Decimal("0.006"), "turn")]
        before = await bill.calls()
    changed = "[bill.prices.c]\ninput = 9\noutput = 9"
    async with bill_bench(core_url, tmp_path, changed) as later:
        assert await later.calls() == before, "a later price changes nothing that is stored"
        assert costs(await later.reports.report("model")) == {"a": Decimal("0.018"), "b": Decimal("0.012")}


async def test_a_call_is_in_the_live_feed_when_its_cost_is_stored(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        turn = bill.turn("client:acme")
        await bill.call(turn, CACHED)
        (event,) = bill.events
        assert isinstance(event, PluginEvent)
        data = event_object(1, event)
        assert (data["type"], data["turn_id"], data["cost_usd"]) == ("bill.call_recorded", str(turn.turn_id), 0.018)
        assert (data["model"], data["status"], data["output_tokens"], data["tags"]) == ("a", "ok", 500, ["client:acme"])


async def test_what_the_database_could_not_take_is_said_kept_and_stored_before_the_next_call(
    core_url: str, tmp_path: Path
) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        turn = bill.turn()
        first, second = bill.arguments(turn), bill.arguments(turn)
        await bill.begin(first)
        await bill.rows("ALTER TABLE model_calls RENAME TO away")
        await bill.end(first, CACHED)
        assert await bill.begin(second) is None, "without a budget the call goes on"
        assert ["could not be stored yet" in bill.notices[0], "not in the ledger yet" in bill.notices[1]] == [True] * 2
        await bill.rows("ALTER TABLE away RENAME TO model_calls")
        await bill.begin(bill.arguments(turn))
        assert [row["status"] for row in await bill.calls()] == ["ok", "running"]
        await bill.end(second, CACHED)
        assert [row["status"] for row in await bill.calls()] == ["ok", "ok", "running"]
        await bill.assert_rollup_equals_rows()


async def test_a_process_that_dies_while_another_begins_is_found_soon_afterwards(
    core_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cos.plugins.bill.bill.FIRST_SWEEP_SECONDS", 1.0)
    home = CoreHome(tmp_path, core_url)
    async with bill_bench(core_url, tmp_path / "other") as other:
        await other.begin(other.arguments(other.turn()))
        core = await home.open()
    async with asyncio.timeout(20):
        while await core.database.fetch(b"SELECT 1 FROM model_calls WHERE status = 'running'"):
            await asyncio.sleep(0.05)
    await core.close()


async def test_calls_that_nobody_ended_are_lost_when_their_turn_or_process_ends(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        turn = bill.turn()
        await bill.begin(bill.arguments(turn))
        ids = {"turn": turn, "session_id": "", "task_id": "", "turn_id": ""}
        more = {"completed": True, "interrupted": False, "model": "a", "platform": "cli", "reason": None}
        await bill.hooks.fire("on_session_end", **ids, **more)
        living = bill.arguments(bill.turn())
        await bill.begin(living)
        async with bill_bench(core_url, tmp_path / "other") as other:
            abandoned = other.arguments(other.turn())
            await other.begin(abandoned)
            assert [row["status"] for row in await bill.calls()] == ["lost", "running", "running"]
        async with bill_bench(core_url, tmp_path / "third") as third:
            assert [row["status"] for row in await third.calls()] == ["lost", "running", "lost"]
            total = await third.reports.total()
            assert (total.calls, total.lost, total.unpriced) == (2, 2, 0)
        await bill.end(living, CACHED)
        await bill.end(abandoned, CACHED)
        assert [row["status"] for row in await bill.calls()] == ["lost", "ok", "ok"], "it had only been taken for lost"
        await bill.assert_rollup_equals_rows()


async def test_cancelling_before_the_row_is_stored_leaves_no_call_under_way(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        given = bill.arguments(bill.turn())
        firing = asyncio.ensure_future(bill.begin(given))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        firing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await firing
        await bill.fail(given, Usage(), reason="cancelled")
        assert [row["status"] for row in await bill.calls()] == ["cancelled"]


async def test_made_up_figures_and_names_neither_break_a_row_nor_keep_later_ones_out(
    core_url: str, tmp_path: Path
) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        given = bill.arguments(bill.turn())
        await bill.begin(given)
        await bill.end(
            given, Usage(input_tokens=-5, output_tokens=10**30), response_model="a\0\ud800", api_duration=1e9
        )
        await bill.call(bill.turn(), CACHED)
        first, second = await bill.calls()
        assert (first["status"], first["input_tokens"], first["output_tokens"]) == ("ok", 0, 10**12)
        assert (second["status"], bill.notices) == ("ok", [])


async def test_reprice_touches_only_what_has_no_price(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path) as bill:
        turn = bill.turn()
        await bill.call(turn, CACHED)
        await bill.call(turn, CACHED, model="late")
        await bill.call(turn, CACHED, model="never")
        await bill.rows("UPDATE model_calls SET cost_usd = 7 WHERE model = 'a'")
    price = "[bill.prices.late]\ninput = 1\noutput = 1\ncache_read = 0"
    async with bill_bench(core_url, tmp_path, price) as bill:
        owner = bill.reports._ledger
        prices = bill.plugins.registrations["bill"].cli["cost"].__self__.prices  # type: ignore[attr-defined]
        bill.events.clear()
        tried = await owner.reprice(prices, dry_run=True)
        assert not bill.events
        assert [row["cost_usd"] for row in await bill.calls()] == [7, None, None]
        done = await owner.reprice(prices, dry_run=False)
        assert tried == done
        (told,) = bill.events
        assert isinstance(told, CallRecorded)
        assert (told.turn, told.ordinal, told.cost_usd) == (turn, 2, done.cost_usd)
        assert (done.priced, done.still_unpriced, done.cost_usd) == (1, 1, Decimal("0.0029"))
        assert [row["cost_usd"] for row in await bill.calls()] == [7, Decimal("0.0029"), None]
        await bill.assert_rollup_equals_rows()


async def test_session_ids_may_come_first_from_a_child(core_url: str, tmp_path: Path) -> None:
    """A parent that has no row yet, as when the plugin was enabled in between."""
    async with bill_bench(core_url, tmp_path) as bill:
        parent = bill.turn()
        child = bill.turn(parent=parent)
        await bill.dollars(child, 2, parent=parent)
        grandchild = bill.turn(session=new_id(), parent=child)
        await bill.dollars(grandchild, 3, parent=child)
        cost = await bill.reports.session(parent.session_id)
        assert (cost.own.cost_usd, cost.with_children.cost_usd) == (Decimal(0), Decimal(5))
