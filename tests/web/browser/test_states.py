"""What a session waits for and what became of it, in the words of the app, in the list and in the conversation."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.api_server.script import http_error, reply, text
from tests.api_server.server import KEY, ApiServer
from tests.web.browser.fix_browser import Dash, begin, say


def test_retry_is_counted_down_and_its_reason_stays(dash: Dash, api: ApiServer) -> None:
    dash.stop()
    dash.program.use_api(api, KEY)
    dash.serve()
    busy = http_error(529, "overloaded_error", "Overloaded", headers={"retry-after": "5"})
    api.push(busy, reply(text("Now I can.")))
    page = dash.page()
    begin(page, "hello", profile="home")
    notice, row = page.locator(".turn .notice"), page.locator(".session .state")
    expect(notice).to_have_text(re.compile(r"↻ .+\. Trying again in \d s \(attempt 2 of 5\); Stop stops it"))
    expect(row).to_contain_text("retrying")
    page.reload()
    expect(notice).to_contain_text("Trying again in")
    expect(page.locator(".message.assistant")).to_contain_text("Now I can.")
    expect(notice).to_have_text(re.compile(r"^[^↻].+ \(attempt 1 of 5\)$"))
    expect(row).not_to_contain_text("retrying")


def test_failure_that_nobody_saw_is_news_until_it_is_looked_at(dash: Dash, api: ApiServer) -> None:
    dash.stop()
    dash.program.use_api(api, KEY)
    dash.serve()
    busy = http_error(529, "overloaded_error", "Overloaded", headers={"retry-after": "4"})
    api.push(busy, http_error(400, "invalid_request_error", "no such thing"))
    page = dash.page()
    begin(page, "hello", profile="home")
    page.locator("#begin").click()
    expect(page.locator(".session .state")).to_contain_text("failed unseen")
    page.locator(".session").click()
    expect(page.locator('.turn[data-status="failed"]')).to_have_count(1)
    expect(page.locator(".session .state")).to_have_text(re.compile("^failed ·"))
    for cost in ("#cost-total", "#cost-groups .figure", ".session .cost", ".turn > header .cost"):
        expect(page.locator(cost)).to_have_text("no price")


def test_paused_queue_says_what_lets_it_go_on(dash: Dash) -> None:
    page = dash.page()
    begin(page, "run a command")
    say(page, "and then this")
    expect(page.locator("#queue-head")).to_have_text("» 1 waiting: for the running turn to end")
    page.locator("#composer-stop").click()
    expect(page.locator("#queue-head")).to_have_text("‖ 1 waiting: paused until your next message")
    expect(page.locator(".session .state")).to_contain_text("queue paused 1")
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator("#queue")).to_be_hidden()


def test_request_that_expired_is_said_in_the_list(dash: Dash) -> None:
    dash.stop()
    (dash.program.home / "commonos.toml").write_text("[approvals]\ntimeout_seconds = 1\n")
    dash.serve()
    page = dash.page()
    begin(page, "run a command")
    page.locator("#begin").click()
    expect(page.locator(".session .state")).to_contain_text("request expired")
    page.locator(".session").click()
    expect(page.locator(".session .state")).to_contain_text("idle")
