"""Text of models, tools and users is text: none of it becomes a script, a request or a link that runs."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from cos.tui import wording
from tests.api_server.script import reply, text, tool
from tests.api_server.server import KEY, ApiServer
from tests.web.browser.fix_browser import Dash, begin

IMAGE = "<img src=x onerror=alert(1)>"
CORPUS = [
    "<svg onload=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "![x](http://x.invalid/?leak)",
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    '<a href="javascript:alert(1)" onmouseover="alert(1)">x</a>',
    "<math><mtext></table><mglyph><style><!--</style><img title='--><img src=x onerror=alert(1)>'>",
    "<form action=http://x.invalid><button formaction=javascript:alert(1)>x</button></form>",
    "<details open ontoggle=alert(1)>x</details>",
    "<link rel=stylesheet href=http://x.invalid/a.css><base href=http://x.invalid/>",
    '<p style="background:url(http://x.invalid/)">x</p>',
    "```html\n<script>alert(1)</script>\n```",
    '" onmouseover="alert(1)',
    IMAGE,
]
LENGTHS = """async all => {
    const words = await import('/static/js/words.js');
    return all.map(s => [words.duration(s * 1000), words.span(s * 1000)]);
}"""
HARMFUL = """() => [...document.querySelectorAll('main *')].filter(node =>
    ['IMG', 'SCRIPT', 'IFRAME', 'STYLE', 'LINK', 'OBJECT', 'EMBED', 'BASE', 'MATH'].includes(node.tagName.toUpperCase())
    || [...node.attributes].some(one => one.name.startsWith('on') || /^\\s*(javascript|data):/i.test(one.value))
).map(node => node.outerHTML)"""


@pytest.fixture
def home(dash: Dash, api: ApiServer) -> Dash:
    """The profile home talks to the local API."""
    dash.stop()
    dash.program.use_api(api, KEY)
    dash.serve()
    return dash


def test_h_111_markup_of_a_model_is_shown_and_does_nothing(home: Dash, api: ApiServer) -> None:
    """H-111: whole, and cut into small pieces while it streams."""
    whole = "\n\n".join(CORPUS)
    api.push(reply(text(whole, pieces=150, seconds_per_piece=0.01)))
    page = home.page()
    begin(page, f'{IMAGE} " onmouseover="alert(1)', profile="home")
    expect(page.locator(".markdown.live")).to_contain_text("onload")
    assert page.evaluate(HARMFUL) == []
    expect(page.locator('.turn[data-status="completed"]')).to_have_count(1)
    assert page.evaluate(HARMFUL) == []
    expect(page.locator(".message.user")).to_contain_text(IMAGE)
    expect(page.locator(".session .title")).to_contain_text("<img src=x")
    for node in page.locator(".markdown a").all():
        assert (node.get_attribute("href") or "http").startswith("http")
    page.reload()
    expect(page.locator(".markdown pre code").first).to_contain_text("<script>alert(1)</script>")
    assert page.evaluate(HARMFUL) == []


def test_h_110_names_and_arguments_of_tools_are_text(home: Dash, api: ApiServer) -> None:
    """H-110: the name of a tool, its arguments, a tag, a title, the request and its reason."""
    bad = tool(IMAGE, {"x": IMAGE})
    asked = tool("terminal", {"command": f"echo '{IMAGE}' > 'x.html'"})
    api.push(reply(bad), reply(asked), reply(text("done")))
    page = home.page()
    begin(page, IMAGE, profile="home")
    expect(page.locator(".card .exact")).to_contain_text(IMAGE)
    page.locator(".call .head").first.click()
    page.locator(".call .head").last.click()
    assert page.evaluate(HARMFUL) == []
    page.locator("#edit-open").click()
    page.locator("#edit-tags").fill(IMAGE.replace(" ", ""))
    page.locator("#edit-form button[type=submit]").click()
    expect(page.locator("#edit-note")).to_contain_text("is no tag")
    page.locator("#edit-tags").fill("")
    page.locator("#edit-title").fill(f'"{IMAGE}')
    page.locator("#edit-form button[type=submit]").click()
    expect(page.locator("#conversation-title")).to_have_text(f'"{IMAGE}')
    assert page.evaluate(HARMFUL) == []


def test_what_hides_in_a_command_is_spelled_out(dash: Dash) -> None:
    page = dash.page()
    shown = page.evaluate("async () => (await import('/static/js/words.js')).exact('rm \\u202e a\\u200bb\\u0007')")
    assert shown == "rm \\u{202e} a\\u{200b}b\\u{7}"


def test_amounts_and_times_have_the_words_of_the_app(dash: Dash) -> None:
    """An amount is never rounded through a float, and never shown as zero when it is not."""
    page = dash.page()
    amounts = ["0.00004", "0.0034", "1.23456", "999.99994", "1234.567", "1234567.8", "0.1", "12345678901234567.89"]
    words = page.evaluate(
        "async all => { const { money } = await import('/static/js/words.js'); return all.map(money); }", amounts
    )
    assert words == [wording.money(Decimal(one)) for one in amounts]
    seconds = [0, 42, 323, 3723, 90000]
    lengths = page.evaluate(LENGTHS, seconds)
    assert lengths == [[wording.duration(timedelta(seconds=s)), wording.span(timedelta(seconds=s))] for s in seconds]
