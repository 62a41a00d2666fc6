"""The cost pane and view on a real core with CommonBill: live figures, what is unknown, the way down, budgets."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from textual.app import App, ComposeResult

from cos.agent.events import Usage
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.provider import ModelReply
from cos.agent.providers.scripted import Script, said
from cos.core.postgres.journal import PostgresJournal
from cos.plugins.bill.events import CallRecorded
from cos.plugins.bill.figures import Figures, Group
from cos.plugins.bill.money import usd
from cos.tui import cost_words, wording
from cos.tui.screens.budget_more import BudgetMore
from cos.tui.screens.cost import CostScreen
from cos.tui.transcript import TurnHeader
from cos.tui.transcript.look import Look
from cos.tui.widgets.cost_pane import MOST_GROUPS, CostPane
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in
from tests.tui.fixed_bill import SHOWN, TODAY, budget, figures

PRICED = """
[bill]
tag_key = "area"
[bill.prices."{model}"]
input = 1_000
output = 10_000
"""
BUDGET = """
[[bill.budgets]]
period = "day"
limit_usd = 0.25
"""


def answer(text: str, tokens: int) -> Script:
    return replace(said(text), usage=Usage(input_tokens=tokens, output_tokens=10))


def priced(home: CoreHome, more: str = "") -> None:
    toml = PRICED.format(model=said("x").model) + more
    (home.folder / "commonos.toml").write_text(toml)


def pane(chat: Chat) -> str:
    return str(chat.main.cost.render())


async def shown(chat: Chat, *texts: str) -> None:
    await chat.until(lambda: all(text in pane(chat) for text in texts), f"{texts} in the pane:\n{pane(chat)}")


async def seen(chat: Chat, *texts: str) -> None:
    await chat.until(lambda: all(text in chat.screen_text() for text in texts), f"{texts} on screen")


async def test_a_recorded_call_is_in_the_pane_and_in_the_status_line(core_home: CoreHome) -> None:
    priced(core_home, BUDGET)
    core_home.script(answer("one", 100), answer("two", 100))
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await shown(chat, "today by area", "home", "$0.2000", "100 in · 10 out tokens", "all/day", "! 80%")
        await chat.until(lambda: "today $0.2000" in str(chat.main.status_line.content))
        await chat.ask("second")
        await shown(chat, "$0.4000", "✗ spent")


async def test_a_new_session_has_no_cost_of_the_one_before(core_home: CoreHome) -> None:
    priced(core_home)
    core_home.script(answer("one", 100))
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await shown(chat, "session", "$0.2000")
        await chat.pilot.press("ctrl+n")
        await chat.until(lambda: "session" not in pane(chat) and "tokens" not in pane(chat))
        await shown(chat, "today", "$0.2000")


async def test_a_call_without_a_price_is_counted_and_never_free(core_home: CoreHome) -> None:
    core_home.script(answer("one", 100))
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await shown(chat, "no price", "+ 1 call without a price", "100 in · 10 out tokens")
        assert "session" in pane(chat)
        assert "$" not in pane(chat).split("14 days")[0]
        await chat.until(lambda: "today no price" in str(chat.main.status_line.content))


async def test_without_the_plugin_tokens_stay_and_the_pane_says_that_it_is_off(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text('plugins = ["workspace"]\n')
    core_home.script(answer("one", 100))
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await shown(chat, "100 in · 10 out tokens", "CommonBill is not enabled.")
        assert "today" not in str(chat.main.status_line.content)
        await chat.pilot.press("f7")
        await chat.told("CommonBill is not enabled")
        await chat.say("/cost")
        await chat.until(lambda: chat.main.composer.text == "/cost", "the command comes back")
        assert chat.app.screen is chat.main


async def test_the_view_goes_down_to_sessions_and_calls_and_back_one_layer_at_a_time(core_home: CoreHome) -> None:
    priced(core_home)
    core_home.script(answer("one", 100))
    async with chat_in(core_home) as chat:
        await chat.ask("an errand")
        await shown(chat, "$0.2000")
        await chat.pilot.press("f7")
        await seen(chat, "by area", "1 area", "home", "14 days: $0.2000 · 1 call · 100 in · 10 out")
        await chat.pilot.press("enter")
        await seen(chat, "by area › home", "an errand")
        await chat.pilot.press("enter")
        await seen(chat, "home › an errand", "first token", "turn", "$0.2000", "ok")
        await chat.pilot.press("escape")
        await chat.until(lambda: "first token" not in chat.screen_text())
        await seen(chat, "an errand")
        await chat.pilot.press("escape", "escape")
        await chat.until(lambda: chat.app.screen is chat.main)
        await chat.pilot.press("f7")
        await chat.until(lambda: isinstance(chat.app.screen, CostScreen))
        await chat.pilot.press("f7")
        await chat.until(lambda: chat.app.screen is chat.main)


async def test_every_grouping_leads_to_the_same_session(core_home: CoreHome) -> None:
    priced(core_home)
    core_home.script(answer("one", 100))
    async with chat_in(core_home) as chat:
        await chat.ask("an errand")
        await chat.pilot.press("f7")
        view = chat.app.screen
        assert isinstance(view, CostScreen)
        for number in "123456":
            await chat.pilot.press(number)
            while view._layers[-1].kind != "calls":
                await chat.until(lambda: view._shown == view._layers[-1] and view._table.rows, "it is read")
                assert len(view._table.rows) == 1
                await chat.pilot.press("enter")
            await seen(chat, "an errand", "first token")


async def test_cost_is_shown_by_the_key_of_the_command(core_home: CoreHome) -> None:
    priced(core_home)
    core_home.script(answer("one", 100))
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await chat.say("/cost client")
        await seen(chat, "by client", "1 client", "(none)")
        await chat.pilot.press("tab")
        await seen(chat, "by tag", "area:home", "The groups overlap")
        await chat.pilot.press("escape")
        await chat.say("/cost no such key")
        await chat.told("cost cannot be shown by 'no such key'")


async def test_a_spent_budget_goes_on_after_more_was_allowed(core_home: CoreHome) -> None:
    priced(core_home, BUDGET)
    core_home.script(answer("one", 150))
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await shown(chat, "✗ spent")
        await chat.pilot.press("f7", "o")
        await seen(chat, "all/day", "✗ spent")
        await chat.pilot.press("o")
        await chat.until(lambda: isinstance(chat.app.screen, BudgetMore))
        await chat.pilot.press(*"many", "enter")
        await seen(chat, "'many' is no amount of US dollars")
        assert not await chat.core.database.fetch(b"SELECT * FROM bill_overrides")
        await chat.pilot.press(*["backspace"] * 4, *"0.75", "enter")
        await seen(chat, "$1.0000", "25%")
        given = await chat.core.database.fetch(b"SELECT scope, extra_usd, granted_by FROM bill_overrides")
        assert given == [{"scope": "all", "extra_usd": Decimal("0.75"), "granted_by": "tui"}]
        await chat.until(lambda: "25%" in pane(chat))


async def test_a_budget_is_asked_about_in_the_approvals_pane_and_a_key_lets_the_turn_go_on(core_home: CoreHome) -> None:
    priced(core_home, BUDGET)
    core_home.script(answer("one", 150), answer("and on", 1))
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await chat.say("second")
        await chat.requests(1)
        await seen(chat, "A question for you", "The budget all/day is spent")
        await chat.answer("1")
        await seen(chat, "▸ 1. Allow $0.0250 more")
        await chat.answer("enter")
        await chat.until(lambda: "and on" in chat.text())
        await chat.rests()
        given = await chat.core.database.fetch(b"SELECT scope, extra_usd, granted_by FROM bill_overrides")
        assert given == [{"scope": "all", "extra_usd": Decimal("0.0250"), "granted_by": "tui"}]


def headers(chat: Chat) -> list[str]:
    return [line for line in chat.text().split("\n") if "tokens" in line and " · " in line]


def endings(chat: Chat) -> list[str]:
    return [line.rsplit(" · ", 1)[1] for line in headers(chat)]


async def test_the_line_above_a_turn_has_its_cost_live_and_loaded(core_home: CoreHome) -> None:
    priced(core_home)
    reply = answer("three", 10)
    assert isinstance(reply, ModelReply)
    no_price = replace(reply, model="who-knows")
    core_home.script(answer("one", 100), answer("two", 300), no_price)
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await chat.ask("second")
        await chat.ask("third")
        await chat.until(lambda: endings(chat) == ["$0.2000", "$0.4000", "no price"])
        session = str(chat.control.current)
    async with chat_in(core_home, session=session) as chat:
        await chat.until(lambda: endings(chat) == ["$0.2000", "$0.4000", "no price"])


def test_a_line_above_a_turn_never_cuts_its_cost() -> None:
    words, cost = "09:41 · 1m 12s · 12.3k in · 450 out tokens", "$0.7500 with children"
    entry = TurnHeader(key="turn:1", text=words, cost=cost)
    drawn = [entry.lines(width, Look())[0].text for width in (80, 60, 40)]
    assert all(text.endswith(f" · {cost}") for text in drawn)
    assert drawn[0] == f"{words} · {cost}"


async def test_usage_says_what_the_session_cost_and_how_fast_its_model_is(core_home: CoreHome) -> None:
    priced(core_home)
    core_home.script(answer("one", 100))
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await chat.say("/usage")
        await chat.until(lambda: "first token after" in chat.text())
        lines = [line.split() for line in chat.text().split("\n")]
        assert ["cost", "$0.2000"] in lines
        assert any(line[1:4] == ["first", "token", "after"] for line in lines), "of each model"


CHILD_CALL = b"""
INSERT INTO model_calls (turn_id, ordinal, session_id, session_path, profile_id, parent_turn_id, depth, tags, provider,
                         model, cause, attempt, status, cost_usd, price_source, started_at, ended_at, owner_key)
SELECT %(turn)s, 1, %(child)s, ARRAY[%(parent)s, %(child)s]::uuid[], 'home', c.turn_id, 1, '{}', 'anthropic', 'm',
       'child', 1, 'ok', 2, 'test', now(), now(), 0
FROM model_calls c WHERE c.session_id = %(parent)s
"""


async def child_call(chat: Chat, parent: UUID) -> None:
    """A call of $2 in a session below one, in a turn that its only turn has delegated."""
    new = NewSession(profile_id="home", source="cli", title="child", parent_session_id=parent)
    child, turn_id = await PostgresJournal(chat.core.database).create_session(new), new_id()
    await chat.core.database.fetch(CHILD_CALL, {"turn": turn_id, "child": child, "parent": parent})
    turn = TurnInfo(profile_id="home", session_id=child, turn_id=turn_id, depth=1)
    recorded: dict[str, Any] = dict.fromkeys(field.name for field in fields(CallRecorded) if field.name != "type")
    chat.core.feed.publish(CallRecorded(**recorded | {"turn": turn, "at": wording.now()}))


def second_line(chat: Chat, session_id: UUID | None) -> str:
    """Of the session's row."""
    lines = chat.main.sessions.lines
    place = lines.rows.place_of(session_id)
    return "" if place is None else lines.render_line(2 * place + 1).text.rstrip()


async def test_sessions_show_their_cost_with_that_of_children_and_are_found_by_it(core_home: CoreHome) -> None:
    priced(core_home)
    core_home.script(answer("one", 100), answer("two", 900))
    async with chat_in(core_home, size=(160, 40)) as chat:
        await chat.ask("parent")
        parent = chat.control.current
        assert parent is not None
        await chat.until(lambda: second_line(chat, parent).endswith(" $0.2000"), second_line(chat, parent))
        await child_call(chat, parent)
        await chat.until(lambda: second_line(chat, parent).endswith(" $0.2000 + $2.0000"), second_line(chat, parent))
        await chat.until(lambda: headers(chat)[0].endswith(" · $0.2000 · children 0 in · 0 out · $2.0000"), chat.text())
        await chat.pilot.press("ctrl+n")
        await chat.ask("dear")
        dear, rows = chat.control.current, chat.main.sessions.lines.rows
        await chat.until(lambda: second_line(chat, dear).endswith(" $1.0000"))
        for text, wanted in (("cost:>2", {parent}), ("cost:<1.5", {dear}), ("cost:>=1 parent", {parent})):
            chat.main.sessions.filter.value = text
            await chat.until(lambda: {one.row.id for one in rows.shown} & {parent, dear} == wanted, text)  # noqa: B023


async def test_without_the_plugin_no_cost_is_shown_and_the_filter_says_why(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text('plugins = ["workspace"]\n')
    core_home.script(answer("one", 100))
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        chat.main.sessions.filter.value = "cost:>1"
        await seen(chat, "so nobody knows what")
        assert "$" not in chat.screen_text()


AMOUNTS = ["0", "0.00001", "0.00005", "1.23456", "999.99996", "1000", "1234567.891", "-2.5", "-0.35", "-1000"]


@pytest.mark.parametrize("amount", AMOUNTS)
def test_amounts_look_as_those_of_the_plugin(amount: str) -> None:
    assert wording.money(Decimal(amount)) == usd(Decimal(amount))


@pytest.mark.parametrize(("paid", "amount"), [("0", "$0.0300 demo"), ("1", "$1.0300")])
async def test_the_row_of_the_other_groups_says_when_nobody_pays_it(paid: str, amount: str) -> None:
    def demo(usd: str) -> Figures:
        return figures(usd, made_up_usd=Decimal(usd))

    groups = [Group(label=f"g{number}", figures=demo("5")) for number in range(MOST_GROUPS)]
    groups += [Group(label="a", figures=demo("0.01")), Group(label="b", figures=demo("0.02"))]
    groups += [Group(label="c", figures=figures(paid))] if paid != "0" else []
    today = replace(TODAY, groups=tuple(groups))

    class Pane(App[None]):
        def compose(self) -> ComposeResult:
            yield CostPane()

    async with Pane().run_test(size=(40, 20)) as pilot:
        pane = pilot.app.query_one(CostPane)
        assert SHOWN.figures is not None
        pane.show(replace(SHOWN, figures=replace(SHOWN.figures, today=today, budgets=())))
        (row,) = [line for line in str(pane.render()).splitlines() if " more" in line]
        assert row.endswith(f" {amount}")


def test_unknown_is_never_zero() -> None:
    assert cost_words.cost(figures(calls=3, unpriced=2, lost=1)) == "no price"
    assert cost_words.together([figures(calls=1, unpriced=1), figures(calls=2, lost=2)]) == "no price"
    assert cost_words.together([figures(calls=1, unpriced=1), figures("0.5")]) == "$0.5000 +?"
    assert cost_words.together([figures(), figures()]) == "$0.0000"
    assert cost_words.cost(figures("1", calls=3, unpriced=2)) == "$1.0000"
    # An attempt that was refused counts nothing: alone, and before one without a price.
    refused: dict[str, Any] = {"input_tokens": 0, "output_tokens": 0, "cache_read_tokens": 0}
    assert cost_words.known(figures(calls=1, **refused)) == "no price"
    assert cost_words.known(figures(calls=2, unpriced=1)) == "no price"
    assert cost_words.known(figures(calls=1)) == "$0.0000"
    assert cost_words.today(figures("1", calls=3, lost=1)) == "today $1.0000 +?"
    assert cost_words.today(figures(calls=0)) == "today $0.0000"
    assert cost_words.apart(figures(unpriced=1, lost=2)) == "+ 1 call without a price + 2 lost calls"


def test_a_budget_says_how_far_it_is_in_words_too() -> None:
    states = [budget(None, spent, "1") for spent in ("0", "0.799", "0.8", "0.9999", "1", "7")]
    assert [cost_words.budget_state(state) for state in states] == ["0%", "79%", "! 80%", "! 99%", "✗ spent", "✗ spent"]
    assert cost_words.filled(Decimal("99.9"), 7) == "██████░"
    assert cost_words.filled(Decimal(700), 7) == "███████"


def test_bars_and_plots_show_whatever_is_above_zero() -> None:
    amounts = [Decimal(0), Decimal("0.0001"), Decimal(4), Decimal(8)]
    assert cost_words.sparkline(amounts) == "·▁▅█"
    assert cost_words.columns(amounts, 2, 2) == ["      █ ", "  ▁ █ █ "]
    assert [cost_words.bar(amount, Decimal(8), 4) for amount in amounts] == ["", "▏", "██", "████"]
    assert cost_words.bar(Decimal(1), Decimal(0), 4) == ""


async def test_budgets_say_that_they_do_not_count_the_demo(core_home: CoreHome) -> None:
    priced(core_home, BUDGET)
    async with chat_in(core_home) as chat:
        await chat.ask("hello")
        await shown(chat, "demo")
        await chat.pilot.press("f7", "7")
        await seen(chat, "all/day", "Budgets count what is paid: $", " of the last 14 days is the demo's.")
