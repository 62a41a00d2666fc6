"""What the page shows of what is over and of what will be: children at rest, older calls, rules, cost, its theme."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.api_server.script import reply, text, tool
from tests.api_server.server import KEY, ApiServer
from tests.web.browser.fix_browser import Dash, armed_card, begin, say

if TYPE_CHECKING:
    from playwright.sync_api import Page

MOUNTED = 30
STATES = {"denied": "⊘", "expired": "⌛\ufe0e", "cancelled": "■", "unknown": "?"}
THEME = "document.documentElement.dataset.theme ?? 'system'"
INK = "getComputedStyle(document.body).color"


def test_children_at_rest_show_when_their_parent_is_unfolded(dash: Dash) -> None:
    page = dash.page()
    begin(page, "delegate something")
    armed_card(page)
    expect(page.locator(".card header")).to_contain_text("Run a command that writes a small file")
    expect(page.locator(".card header")).to_contain_text("← delegate something")
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator('.turn[data-status="completed"]')).to_have_count(1)
    page.reload()
    rows, fold = page.locator(".session"), page.locator(".session .children:visible")
    expect(fold).to_have_text("▸ 2")
    expect(rows).to_have_count(1)
    fold.click()
    expect(fold).to_have_text("▾ 2")
    expect(rows).to_have_count(3)
    expect(page.locator('.session[data-depth="1"]').last).to_contain_text("Say what a child agent is.")
    fold.click()
    expect(rows).to_have_count(1)
    fold.click()
    page.locator('.session[data-depth="1"]').last.click()
    expect(page.locator("#conversation-title")).to_have_text("Say what a child agent is.")


def test_what_became_of_a_call_is_said_in_older_turns_too(dash: Dash, api: ApiServer) -> None:
    """Never failed, and never ok, when it did not run."""
    dash.stop()
    dash.program.use_api(api, KEY)
    dash.serve()
    calls = [tool("terminal", {"command": f"echo {state} > a.txt"}) for state in STATES]
    api.push(reply(*calls), reply(text("well")), *(reply(text(f"answer {number}")) for number in range(MOUNTED + 1)))
    page = dash.page()
    begin(page, "run them", profile="home")
    for left in reversed(range(len(STATES))):
        page.locator(".card.armed").first.get_by_role("button", name="Deny", exact=True).click()
        expect(page.locator(".card:not(.over)")).to_have_count(left)
    for number in range(MOUNTED + 1):
        say(page, f"question {number}")
    expect(page.locator(".message.assistant").last).to_have_text(f"answer {MOUNTED}", timeout=90_000)
    for state in set(STATES) - {"denied"}:
        found = f"args->>'command' LIKE '%{state}%'"
        dash.program.rows(f"UPDATE tool_calls SET status = '{state}', approval = NULL WHERE {found} RETURNING 1")
    page.reload()
    turns, shown = page.locator(".turn"), page.locator(".call")
    expect(turns).to_have_count(MOUNTED)
    expect(shown).to_have_count(0)
    page.locator("#conversation-scroll").evaluate("node => { node.scrollTop = 0; }")
    expect(shown).to_have_count(len(STATES))
    for place, (state, glyph) in enumerate(STATES.items()):
        call = shown.nth(place)
        expect(call).to_have_attribute("data-status", state)
        expect(call.locator(".status")).to_contain_text(glyph)
        expect(call.locator(".what")).to_have_text(f"$ echo {state} > a.txt")
    expect(shown.first.locator(".note")).to_have_text("denied by you (browser)")


@pytest.mark.parametrize(("key", "words"), [("s", "Until the session ends:"), ("a", "Will be written into ")])
def test_rule_is_shown_before_it_is_kept(dash: Dash, api: ApiServer, key: str, words: str) -> None:
    dash.stop()
    dash.program.use_api(api, KEY)
    dash.serve()
    api.push(reply(tool("terminal", {"command": "touch a.txt"})), reply(text("well")))
    page = dash.page()
    begin(page, "run it", profile="home")
    page.locator(".card").focus()
    armed_card(page)
    expect(page.locator(".card .rule")).to_have_count(0)
    page.keyboard.press(key)
    expect(page.locator(".card .rule")).to_contain_text(words)
    expect(page.locator(".card .rule")).to_contain_text("touch a.txt")
    assert dash.program.rows("SELECT status FROM approvals") == [("pending",)]
    armed_card(page)
    page.keyboard.press("y")
    expect(page.locator(".call")).to_have_attribute("data-status", "ok")
    assert dash.program.rows("SELECT scope FROM approvals") == [({"s": "session", "a": "always"}[key],)]


def test_cost_of_the_demo_is_never_shown_as_money(dash: Dash) -> None:
    page = dash.page()
    begin(page, "hello")
    places = [
        ".turn > header .cost",
        ".session .cost",
        "#conversation-about .cost",
        "#cost-total",
        "#cost-groups .figure",
    ]
    for place in places:
        expect(page.locator(place)).to_contain_text("demo")
    page.reload()
    for place in places:
        expect(page.locator(place)).to_contain_text("demo")
    expect(page.locator(".turn > header .cost")).to_have_attribute("title", re.compile("made up by the demo"))


def test_theme_goes_round_and_is_kept(dash: Dash) -> None:
    page = dash.page()
    page.emulate_media(color_scheme="dark")
    seen = [_theme(page)]
    for _ in range(3):
        page.locator("#theme").click()
        seen.append(_theme(page))
        page.reload()
        assert _theme(page) == seen[-1]
    names, inks = [name for name, _ in seen], [ink for _, ink in seen]
    assert names == ["system", "light", "dark", "system"]
    assert inks[0] == inks[2] == inks[3] != inks[1]
    page.emulate_media(color_scheme="light")
    assert _theme(page) == ("system", inks[1])


def _theme(page: Page) -> tuple[str, str]:
    return page.evaluate(THEME), page.evaluate(INK)


def test_what_has_no_price_says_so_until_it_is_priced(dash: Dash, api: ApiServer) -> None:
    """Also by another process: then a reload is right."""
    dash.stop()
    dash.program.use_api(api, KEY)
    dash.program.profile("home", 'provider = "anthropic"\nmodel = "nobody-knows"\n')
    dash.serve()
    api.models = None
    api.push(reply(text("well")), reply(text("well again")))
    page = dash.page()
    begin(page, "hello", profile="home")
    places = [".turn > header .cost", ".session .cost", "#conversation-about .cost", "#cost-total"]
    for place in places:
        expect(page.locator(place)).to_have_text("no price")
    expect(page.locator("#cost-groups .about")).to_have_text("1 call")
    dash.program.setting("[bill.prices.nobody-knows]\ninput = 1_000_000\noutput = 0\n")
    done = dash.program.run("cost", "reprice")
    assert done.returncode == 0, done.stderr
    for place in places:
        expect(page.locator(place)).to_contain_text("$")
    say(page, "hello again")
    expect(page.locator(".turn > header .cost").last).to_have_text("no price")
    for place in places[1:]:
        expect(page.locator(place)).to_contain_text("+?")
    expect(page.locator("#cost-groups .about")).to_have_text("2 calls, 1 without a price")


def test_message_to_a_profile_without_key_is_kept_over_a_reload(dash: Dash) -> None:
    page = dash.page()
    page.locator("#begin").click()
    expect(page.locator("#new-profile option[value=home]")).to_contain_text("(no key)")
    page.locator("#new-profile").select_option("home")
    say(page, "a long thought")
    expect(page.locator("#unsent .text")).to_have_text("a long thought")
    expect(page.locator("#unsent")).to_contain_text("not sent:")
    page.reload()
    expect(page.locator("#unsent .text")).to_have_text("a long thought")


def test_cost_has_the_whole_height_of_a_phone(dash: Dash) -> None:
    page = dash.page()
    page.set_viewport_size({"width": 390, "height": 844})
    begin(page, "run a command")
    page.locator("[data-tab=approvals]").click()
    armed_card(page)
    page.locator("[data-tab=cost]").click()
    assert page.locator("#cost").evaluate("node => node.clientHeight / node.parentElement.clientHeight") > 0.95
