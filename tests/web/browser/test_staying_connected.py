"""A server that goes away and comes back: the page says so, loses nothing, and ends with exactly what is stored."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.web.browser.fix_browser import Dash, armed_card, begin, say

WATCH_LEVELS = """() => {
    window.levels = [];
    let since = null;
    new MutationObserver(() => {
        const dot = document.getElementById('connection').dataset.level;
        const note = document.getElementById('offline');
        if (since === null && dot !== 'up') since = performance.now();
        const level = note.hidden ? null : note.dataset.level;
        if (level && level !== window.levels.at(-1)?.[0]) window.levels.push([level, performance.now() - since]);
    }).observe(document.body, { attributes: true, subtree: true });
}"""
"""Keeps when the page said what, in milliseconds since the connection ended."""
SHOWN = """[...document.querySelectorAll('.turn')].map(turn => [turn.dataset.turn, turn.dataset.status])"""


def _shown(page: Page) -> list[list[str]]:
    found: list[list[str]] = page.evaluate(SHOWN)
    return found


def _stored(dash: Dash) -> list[list[str]]:
    rows = dash.program.rows("SELECT id, status FROM turns ORDER BY id")
    return [[str(row[0]), str(row[1])] for row in rows]


def test_restart_of_the_server_is_said_and_survived(dash: Dash) -> None:
    """Nothing at first, a warning, then red; what was written meanwhile is sent once; the state is the stored one."""
    page = dash.page()
    begin(page, "hello")
    expect(page.locator('.turn[data-status="completed"]')).to_have_count(1)
    port = dash.port
    page.evaluate(WATCH_LEVELS)
    dash.stop()
    expect(page.locator("#offline")).to_be_visible()
    say(page, "written while nobody listened")
    expect(page.locator("#unsent")).to_contain_text("not sent yet")
    expect(page.locator('#offline[data-level="down"]')).to_be_visible()
    levels = page.evaluate("window.levels")
    assert [level for level, _ in levels] == ["shaky", "down"]
    assert levels[0][1] >= 2900
    assert levels[1][1] >= 9900
    retry = page.locator("#offline-retry")
    expect(retry).to_be_visible()
    dash.serve(port)
    retry.dispatch_event("click")  # The page may have come back by itself before it could be hit.
    expect(page.locator("#offline")).to_be_hidden()
    expect(page.locator('.turn[data-status="completed"]')).to_have_count(2)
    expect(page.locator("#unsent li")).to_have_count(0)
    assert _shown(page) == _stored(dash)
    said = dash.program.rows("SELECT body->>'text' FROM messages WHERE body->>'role' = 'user' ORDER BY id")
    assert [row[0] for row in said] == ["hello", "written while nobody listened"]


def test_turn_that_ended_with_the_server_is_not_shown_as_running(dash: Dash) -> None:
    page = dash.page()
    begin(page, "run a command")
    armed_card(page)
    port = dash.port
    dash.stop()
    dash.serve(port)
    expect(page.locator("#connection")).to_have_attribute("data-level", "up", timeout=40_000)
    expect(page.locator('.turn[data-status="running"]')).to_have_count(0)
    expect(page.locator(".card:not(.over)")).to_have_count(0)
    assert _shown(page) == _stored(dash)


def test_answer_that_was_cut_off_is_called_unknown_and_not_sent_again(dash: Dash) -> None:
    """The socket takes the decision and dies before anything comes back."""
    page = dash.page()
    begin(page, "run a command")
    armed_card(page)
    page.evaluate(
        """() => {
          const send = WebSocket.prototype.send;
          WebSocket.prototype.send = function (text) {
            if (!text.includes('approval.respond')) return send.call(this, text);
            WebSocket.prototype.send = send;
            this.close();
          };
        }"""
    )
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".card .hint")).to_contain_text("still waits. Decide again")
    assert [row[0] for row in dash.program.rows("SELECT status FROM approvals")] == ["pending"]
    armed_card(page)
    page.get_by_role("button", name="Deny", exact=False).first.click()
    expect(page.locator(".call")).to_have_attribute("data-status", "denied")
