"""Approvals in the browser: by click and by key, never by accident, and none is lost with a page."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.web.browser.fix_browser import Dash, armed_card, begin, say

CLICK_AT_ONCE = """
window.clicks = 0;
new MutationObserver(() => {
  const node = document.querySelector('.card .decision.good');
  if (node && window.clicks === 0) { window.clicks += 1; node.click(); }
}).observe(document, { childList: true, subtree: true });
"""


def _statuses(dash: Dash) -> list[str]:
    return [row[0] for row in dash.program.rows("SELECT status FROM approvals ORDER BY id")]


def _call_is(page: Page, status: str) -> None:
    expect(page.locator(".call").last).to_have_attribute("data-status", status)


def test_click_allows_once(dash: Dash) -> None:
    page = dash.page()
    begin(page, "run a command")
    _call_is(page, "waiting")
    expect(page).to_have_title("(1) cos")
    armed_card(page)
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".card .outcome")).to_contain_text("✓ allowed by you (browser)")
    _call_is(page, "ok")
    expect(page).to_have_title("cos")
    assert _statuses(dash) == ["allowed"]


def test_denied_with_a_reason_never_looks_like_done(dash: Dash) -> None:
    page = dash.page()
    begin(page, "run a command")
    armed_card(page)
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    armed_card(page)
    page.keyboard.press("r")
    text = page.locator(".card textarea")
    text.press("Enter")
    page.keyboard.type("not on a Monday")
    page.keyboard.press("Escape")
    assert _statuses(dash) == ["pending"]
    expect(page.locator(".card .hint")).to_contain_text("Your reason is kept")
    armed_card(page)
    page.keyboard.press("r")
    expect(text).to_have_value("not on a Monday")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Deny with this reason")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(text).to_be_focused()
    page.keyboard.press("Enter")
    _call_is(page, "denied")
    expect(page.locator(".call .note")).to_contain_text("denied by you (browser): not on a Monday")
    expect(page.locator(".card .age")).to_have_text("⊘ denied by you (browser)")
    page.reload()
    _call_is(page, "denied")
    expect(page.locator(".call .status")).to_contain_text("⊘")


def test_command_is_edited_and_then_allowed(dash: Dash) -> None:
    """What the server refuses stays there to be written differently."""
    page = dash.page()
    begin(page, "run a command")
    page.locator(".card").focus()
    armed_card(page)
    page.keyboard.press("e")
    text = page.locator(".card textarea")
    expect(text).to_have_value("echo 'Hello from the demo' > hello.txt && cat hello.txt")
    text.fill("echo hidden\u200b")
    armed_card(page)
    page.get_by_role("button", name="Allow once, as edited").click()
    expect(page.locator(".card .hint")).to_contain_text("hidden character U+200B")
    expect(text).to_have_value("echo hidden\u200b")
    assert _statuses(dash) == ["pending"]
    text.fill("echo edited > b.txt && cat b.txt")
    armed_card(page)
    page.get_by_role("button", name="Allow once, as edited").click()
    _call_is(page, "ok")
    expect(page.locator(".call .what")).to_have_text("$ echo edited > b.txt && cat b.txt")


def test_typing_and_enter_decide_nothing(dash: Dash) -> None:
    """A request appears while somebody writes; keys, Enter and Tab go on as if it were not there."""
    page = dash.page()
    begin(page, "run a command")
    armed_card(page)
    page.locator("#composer-text").focus()
    page.keyboard.type("yes y a s n")
    page.keyboard.press("Enter")
    expect(page.locator("#queue-list")).to_contain_text("yes y a s n")
    page.locator(".card").focus()
    armed_card(page)
    for key in ("Enter", "Space", "Shift+Enter", "Control+Enter"):
        page.keyboard.press(key)
    for _ in range(40):
        page.keyboard.press("Tab")
        assert not page.evaluate("document.activeElement.classList.contains('decision')")
    armed_card(page)
    assert _statuses(dash) == ["pending"]


def test_click_before_it_could_be_read_decides_nothing(dash: Dash) -> None:
    """A card that appears under the pointer: its button is pressed in the instant in which it is there."""
    page = dash.page(script=CLICK_AT_ONCE)
    begin(page, "run a command")
    armed_card(page)
    assert page.evaluate("window.clicks") == 1
    assert _statuses(dash) == ["pending"]


def test_key_that_is_held_down_decides_nothing(dash: Dash) -> None:
    page = dash.page()
    begin(page, "run a command")
    armed_card(page)
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    for _ in range(30):
        page.keyboard.down("y")
    page.keyboard.up("y")
    armed_card(page)
    assert _statuses(dash) == ["pending"]


def test_question_is_picked_then_sent(dash: Dash) -> None:
    page = dash.page()
    begin(page, "ask me something")
    armed_card(page)
    page.locator(".card").focus()
    armed_card(page)
    page.keyboard.press("2")
    expect(page.locator(".decision.choice").nth(1)).to_have_attribute("aria-pressed", "true")
    assert _statuses(dash) == ["pending"]
    armed_card(page)
    page.get_by_role("button", name="Send this answer").click()
    expect(page.locator(".message.assistant").last).to_contain_text("You answered: Thinking")


def test_question_is_answered_in_own_words_by_enter_or_tab(dash: Dash) -> None:
    page = dash.page()
    begin(page, "ask me something")
    page.locator(".card").focus()
    armed_card(page)
    page.keyboard.press("t")
    page.keyboard.type("both")
    page.keyboard.press("Escape")
    expect(page.locator(".card textarea")).to_have_value("both")
    page.locator(".card textarea").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Send these words")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".message.assistant").last).to_contain_text("You answered: both")


def test_h_117_reload_and_second_tab_while_a_request_waits(dash: Dash) -> None:
    """H-117: it shows again from the database, the first page may go, and the answer counts once."""
    page = dash.page()
    begin(page, "run a command")
    armed_card(page)
    page.reload()
    armed_card(page)
    second = dash.tab(page.context, page.url)
    expect(second.locator(".card")).to_have_count(1)
    page.close()
    second.bring_to_front()
    armed_card(second)
    second.get_by_role("button", name="Allow once").click()
    _call_is(second, "ok")
    expect(second.locator('.turn[data-status="completed"]')).to_have_count(1)
    assert _statuses(dash) == ["allowed"]


def test_answer_of_another_is_shown(dash: Dash) -> None:
    page = dash.page()
    begin(page, "run a command")
    armed_card(page)
    approval_id = dash.program.rows("SELECT id FROM approvals")[0][0]
    done = dash.program.run("approvals", "deny", str(approval_id), "--reason", "from the shell")
    assert done.returncode == 0, done.stderr
    expect(page.locator(".card .outcome")).to_contain_text("denied")
    expect(page.locator(".card .outcome")).to_contain_text("from the shell")
    expect(page.locator(".card .age")).to_have_text("⊘ denied by you (shell)")
    page.locator(".card").focus()
    page.keyboard.press("y")
    expect(page.locator(".toast")).to_contain_text("already denied by you (shell)")
    _call_is(page, "denied")
    say(page, "hello again")
    expect(page.locator(".turn")).to_have_count(2)
