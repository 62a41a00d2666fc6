"""What a model writes becomes HTML that can do nothing."""

import re

import pytest

from cos.web.markdown import LONGEST, safe_html

ATTACKS = [
    "<svg onload=alert(1)>",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "<javascript:alert(1)>",
    "![x](http://x.invalid/?leak)",
    "![x](data:image/svg+xml,<svg onload=alert(1)>)",
    "[![x](http://x.invalid/i.png)](http://x.invalid)",
    "```html\n<script>alert(1)</script>",
    '```"><script>alert(1)</script>\nx\n```',
    '[x](http://a "\\" onmouseover=\\"alert(1)")',
    "<a href='x' onclick='alert(1)'>x</a>",
    "</script><script>alert(1)</script>",
    "<iframe src=http://x.invalid></iframe><object data=x></object><style>*{}</style>",
    "|a|\n|-|\n|<img src=x onerror=alert(1)>|",
    "<details open ontoggle=alert(1)>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_h_111_nothing_that_a_model_writes_runs_or_loads_anything(text: str) -> None:
    html = safe_html(text)
    assert html is not None
    tags = re.findall(r"<[^>]*>", html)
    for tag in tags:
        assert re.fullmatch(
            r"</?(p|pre|code|ul|ol|li|table|thead|tbody|tr|th|td|em|strong)( class=\"[^\"<>]*\")?>|<a [^<>]*>|</a>", tag
        ), tag
        assert not re.search(r"javascript:|vbscript:|data:|\son\w+=", re.sub(r'title="[^"]*"', "", tag), re.I), tag


def test_a_link_opens_without_telling_where_it_was() -> None:
    assert safe_html("[cos](https://example.org/a?b=1)") == (
        '<p><a href="https://example.org/a?b=1" rel="noopener noreferrer">cos</a></p>\n'
    )


def test_markdown_stays_markdown() -> None:
    html = safe_html("# T\n\n- **a** `b < c`\n\n|x|\n|-|\n|~~y~~|\n") or ""
    for piece in ("<h1>T</h1>", "<strong>a</strong>", "<code>b &lt; c</code>", "<td><s>y</s></td>"):
        assert piece in html


def test_a_text_that_is_too_long_is_left_to_the_page() -> None:
    assert safe_html("x" * LONGEST) is not None
    assert safe_html("x" * (LONGEST + 1)) is None
