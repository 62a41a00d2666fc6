"""Logging in, a turn that streams, narrow screens, the keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.api_server.script import reply, text
from tests.api_server.server import KEY, ApiServer
from tests.web.browser.fix_browser import Dash, armed_card, begin, say

LONG_WORD = "W" * 600
TURNS, MOUNTED = 40, 30
TOO_WIDE = """name => [...document.querySelectorAll(`#${name} *`)]
    .filter(node => node.clientWidth > 390).map(node => node.id || node.className)"""


def _width(page: Page) -> int:
    found: int = page.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
    return found


def test_token_becomes_a_cookie_and_leaves_the_address(dash: Dash) -> None:
    page = dash.page()
    assert page.url == f"http://127.0.0.1:{dash.port}/"
    cookie = page.context.cookies()[0]
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == (f"cos_{dash.port}", True, "Strict")
    assert page.evaluate("document.cookie") == ""
    page.reload()
    expect(page.locator("#connection")).to_have_text("connected")


def test_page_that_is_not_logged_in_shows_nothing(dash: Dash) -> None:
    context = dash.browser.new_context()
    dash.contexts.append(context)
    page = context.new_page()
    answer = page.goto(f"http://127.0.0.1:{dash.port}/")
    assert answer is not None
    assert answer.status in {401, 403}
    assert page.locator("#session-list").count() == 0


def test_turn_streams_and_ends_as_the_server_renders_it(dash: Dash, api: ApiServer) -> None:
    """The text stands there while the turn runs, once, and what is stored is what is shown."""
    dash.stop()
    dash.program.use_api(api, KEY)
    dash.serve()
    api.push(
        reply(
            text("# Head\n\nThe **first** words, and then some more of them. " * 6, pieces=60, seconds_per_piece=0.05)
        )
    )
    page = dash.page()
    begin(page, "stream something", profile="home")
    live = page.locator(".markdown.live")
    expect(live).to_contain_text("The first words")
    expect(page.locator(".turn > header")).to_contain_text("running for")
    expect(page.locator("#composer-stop")).to_be_visible()
    expect(page.locator('.turn[data-status="completed"]')).to_have_count(1)
    expect(live).to_have_count(0)
    expect(page.locator(".message.assistant")).to_have_count(1)
    expect(page.locator(".message.assistant strong").first).to_have_text("first")
    expect(page.locator("#composer-stop")).to_be_hidden()
    page.reload()
    expect(page.locator(".message.assistant h1").first).to_have_text("Head")
    expect(page.locator(".message.user")).to_have_text("stream something")


def test_message_during_a_turn_waits_in_the_queue_and_can_be_removed(dash: Dash) -> None:
    page = dash.page()
    begin(page, "run a command")
    armed_card(page)
    say(page, "and then this")
    expect(page.locator("#queue-head")).to_have_text("» 1 waiting: for the running turn to end")
    page.locator("#queue-list button").click()
    expect(page.locator("#queue")).to_be_hidden()
    page.locator("#composer-stop").click()
    expect(page.locator('.turn[data-status="cancelled"]')).to_contain_text("cancelled")
    expect(page.locator(".call")).to_have_attribute("data-status", "cancelled")


def test_draft_is_kept_for_each_session_over_a_reload(dash: Dash) -> None:
    page = dash.page()
    begin(page, "hello")
    page.locator("#composer-text").fill("half a thought\nof two lines")
    page.locator("#begin").click()
    expect(page.locator("#composer-text")).to_have_value("")
    page.locator("#composer-text").fill("for the next one")
    page.reload()
    expect(page.locator("#composer-text")).to_have_value("for the next one")
    page.locator(".session").click()
    expect(page.locator("#composer-text")).to_have_value("half a thought\nof two lines")


def test_tags_of_a_new_session_are_checked_and_counted(dash: Dash) -> None:
    page = dash.page()
    page.locator("#begin").click()
    page.locator("#new-tags").fill("client:acme nonsense")
    say(page, "hello")
    expect(page.locator("#composer-note")).to_contain_text('"nonsense" is no tag')
    page.locator("#new-tags").fill("client:acme")
    page.locator("#composer-text").press("Enter")
    expect(page.locator(".session .about")).to_contain_text("#client:acme")
    expect(page.locator("#cost-groups li")).to_contain_text("acme")
    expect(page.locator("#cost-note")).to_contain_text("made up by the demo")


@pytest.mark.parametrize("pane", ["sessions", "conversation", "approvals", "cost"])
def test_nothing_is_wider_than_a_phone(dash: Dash, pane: str) -> None:
    """Not even with words that have no place to break, in the title, the text and the request."""
    page = dash.page(width=390, height=844)
    begin(page, f"run a command {LONG_WORD}")
    expect(page.locator("#tabs [data-waiting]")).to_have_text("1")
    page.locator(f'[data-tab="{pane}"]').click()
    expect(page.locator(f"#{pane}")).to_be_visible()
    assert _width(page) == 390
    for other in {"sessions", "conversation", "approvals", "cost"} - {pane}:
        expect(page.locator(f"#{other}")).to_be_hidden()
    boxes = page.evaluate(TOO_WIDE, pane)
    assert boxes == []


def test_keyboard_alone_is_enough(dash: Dash) -> None:
    """Begin, write, go to the request, allow it, filter, open, and the help, without a pointer."""
    page = dash.page()
    page.keyboard.press("n")
    expect(page.locator("#composer-text")).to_be_focused()
    page.keyboard.type("run a command")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("please")
    page.keyboard.press("Enter")
    expect(page.locator(".message.user")).to_have_text("run a command\nplease")
    armed_card(page)
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.locator(".card")).to_be_focused()
    armed_card(page)
    page.keyboard.press("y")
    expect(page.locator(".call")).to_have_attribute("data-status", "ok")
    page.keyboard.press("F2")
    expect(page.locator("#session-list")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("#session-list")).to_have_attribute("aria-activedescendant", re.compile("^session-"))
    page.keyboard.press("/")
    expect(page.locator("#filter")).to_be_focused()
    page.keyboard.type("no such session")
    expect(page.locator("#sessions-empty")).to_have_text("No session fits this filter.")
    page.keyboard.press("Escape")
    expect(page.locator(".session")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


def test_only_the_newest_turns_are_mounted_and_older_ones_come_on_demand(dash: Dash, api: ApiServer) -> None:
    """What you read stays where it is when older turns come above it; at the end they go again."""
    dash.stop()
    dash.program.use_api(api, KEY)
    dash.serve()
    api.push(*(reply(text(f"answer {number}")) for number in range(TURNS)))
    page = dash.page()
    begin(page, "question 0", profile="home")
    for number in range(1, TURNS):
        say(page, f"question {number}")
    expect(page.locator(".message.assistant").last).to_have_text(f"answer {TURNS - 1}", timeout=90_000)
    page.reload()
    turns = page.locator(".turn")
    expect(turns).to_have_count(MOUNTED)
    expect(turns.first).to_contain_text(f"question {TURNS - MOUNTED}")
    page.locator("#conversation-scroll").evaluate("node => { node.scrollTop = 0; }")
    expect(turns).to_have_count(TURNS)
    expect(page.locator("#older")).to_be_hidden()
    assert page.locator(".message.user").all_inner_texts() == [f"question {number}" for number in range(TURNS)]
    kept = turns.nth(TURNS - MOUNTED).bounding_box()
    assert kept is not None
    assert 0 < kept["y"] < 400
    page.locator("#newest").click()
    expect(turns).to_have_count(MOUNTED)
    expect(page.locator(".message.assistant").last).to_be_in_viewport()
