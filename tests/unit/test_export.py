"""Exports: whatever the content is, a parser of Markdown or JSON sees the same document around it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from cos.agent.text import exact, visible
from cos.core.export import json_line
from cos.core.export_markdown import MarkdownExport, code, plain
from cos.core.postgres.exports import ExportedCall, ExportedMessage, ExportedSession, ExportedTurn

AT = datetime(2026, 11, 30, 14, 2, tzinfo=UTC)
ONE, TWO = UUID(int=1), UUID(int=2)
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "```\n</pre><script>alert(1)</script>\n```",
    "~~~~\n# Turn 99: completed\n~~~~",
    "---\ntitle: x\n---\n",
    "`` ` ```` `",
    "[x](javascript:alert(1)) ![](http://tracker.example/) <http://a.b> [r]: http://a.b",
    "\n\n- [ ] x\n1. y\n> z\n\ttabbed\n    indented\n***\n|a|b|\n|-|-|",
    "\x1b]52;c;aGk=\x07\x9b31m\u202e\u2028\r\n\x00\\",
    "&lt;b&gt; &#60;i&#62; **bold** _it_ $x$ @me :smile: www.example.org",
    "-->\n<!-- ",
    "",
    " ",
    "\\",
    "`",
]


def document(text: str, *, thinking: bool = True) -> str:
    """An export in which every foreign text is `text`."""
    written: list[str] = []
    export = MarkdownExport(written.append, thinking=thinking)
    session = ExportedSession(
        id=ONE, profile_id=text, source=text, title=f"t{text}", tags=[text, text], parent_session_id=ONE,
        root_session_id=ONE, forked_from_session_id=None, cwd=f"/{text}", model=f"m{text}", created_at=AT,
        last_activity_at=AT, archived_at=None,
    )  # fmt: skip
    turn = ExportedTurn(
        id=TWO, parent_turn_id=None, ordinal=1, tags=[text], depth=0, status="failed", started_at=AT, completed_at=AT,
        undone_at=AT, copied_from_turn_id=None, stop_reason=f"s{text}", error=f"e{text}", usage=None,
    )  # fmt: skip
    call = ExportedCall(
        call_id=text, name=text, args={text: [text]}, status="denied", result=text, is_error=True, risk="write",
        duration_ms=5, created_at=AT, finished_at=AT,
        approval={"decision": "denied", "scope": "once", "reason": f"r{text}", "answered_by": f"a{text}"},
    )  # fmt: skip
    thought = {"type": "thinking", "thinking": f"k{text}", "signature": text}
    calls = [{"id": text, "name": text, "args": {}}, {"id": f"other{text}", "name": text, "args": {text: text}}]
    bodies: list[dict[str, Any]] = [
        {"role": "user", "text": text, "context": f"c{text}", "parts": [{"type": "text", "text": text}]},
        {"role": "assistant", "text": f"a{text}", "tool_calls": calls, "blocks": [thought], "partial": True},
        {"role": "tool_result", "call_id": text, "content": text, "is_error": True},
        {"role": "tool_result", "call_id": f"other{text}", "content": text, "is_error": False},
    ]
    export.begin(session, AT)
    for number, body in enumerate(bodies):
        message = ExportedMessage(
            id=ONE, turn_id=TWO, ordinal=number, active=bool(number), created_at=AT, body=body,
            calls=[call] if body["role"] == "assistant" else [],
        )  # fmt: skip
        export.message(message, turn)
    return "".join(written)


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)


def shape(tokens: list[Token]) -> list[Any]:
    """The document without its words: every block, and within the lines which pieces are text and which are code."""
    return [
        (token.type, token.level, token.info, [child.type for child in token.children or []], token.map and 1)
        for token in tokens
    ]


def assert_contained(text: str) -> None:
    made = document(text)
    tokens = parsed(made)
    assert shape(tokens) == shape(parsed(document("x")))
    assert {child.type for token in tokens for child in token.children or []} <= {"text", "code_inline", "softbreak"}
    assert made == visible(made)
    assert made.startswith("# ")
    fences = [token.content for token in tokens if token.type == "fence"]
    shown = exact(text.replace("\r\n", "\n"))
    assert fences[1] == shown + ("" if shown.endswith("\n") else "\n")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_content_stays_inside_code_and_text_H_110(text: str) -> None:
    assert_contained(text)


@given(
    st.lists(st.sampled_from(["`", "``", "~~~", "\n", "<b>", "- ", "# ", "\t", " ", "x", "\\", "&", "[", "\r", "_"]))
)
def test_content_made_of_markup_stays_inside_H_110(pieces: list[str]) -> None:
    assert_contained("".join(pieces))


@given(st.text())
def test_any_content_stays_inside(text: str) -> None:
    assert_contained(text.replace("\ud800", ""))


@given(st.text())
def test_a_title_reads_as_it_is(text: str) -> None:
    (_, inline, _) = parsed(f"# x{plain(text)}")
    assert inline.children is not None
    assert "".join(child.content for child in inline.children) == "x" + " ".join(visible(f"x{text}")[1:].split())


@given(st.text(min_size=1))
def test_a_code_span_holds_the_whole_text(text: str) -> None:
    (_, inline, _) = parsed(f"a {code(text)} b")
    assert inline.children is not None
    assert [child.type for child in inline.children] == ["text", "code_inline", "text"]
    assert inline.children[1].content.strip() == " ".join(exact(text).split())


def test_thinking_is_left_out_of_markdown_unless_wanted() -> None:
    assert "kxyz" in document("xyz")
    assert "kxyz" not in document("xyz", thinking=False)


def test_a_result_stands_once_with_its_call() -> None:
    made = document("once only")
    assert made.count("Result:") == 1
    assert made.count("### Result of tool call `otheronce only`") == 1


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_is_one_line_that_a_terminal_may_receive_and_loses_nothing(value: Any) -> None:
    line = json_line(value)
    assert json.loads(line) == value
    assert line == visible(line) and "\n" not in line and "\x7f" not in line


def test_json_stays_readable_and_escapes_what_hides() -> None:
    assert json_line("昨天\u202e\x1b[31m\U000e0041é") == '"昨天\\u202e\\u001b[31m\\udb40\\udc41é"'
