"""How entries become lines: widths, hygiene, wrapping, Markdown, and streaming that equals rendering at once."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from cos.tui.transcript import AssistantText, Diff, Entry, Notice, Thinking, ToolCall, TurnHeader, UserMessage
from cos.tui.transcript.calls import duration
from cos.tui.transcript.layout import LineIndex
from cos.tui.transcript.lines import Line, shorten, word_breaks
from cos.tui.transcript.look import Look
from cos.tui.transcript.markdown import render_markdown
from cos.tui.transcript.output import HeadTail
from cos.tui.transcript.stream import LARGE_BLOCK, blocks_of
from tests.tui.transcript_demo import ANSWER, DIFF, conversation

LOOK = Look()
AWKWARD = [
    "かな漢字", "👩‍👩‍👧‍👦", "e\u0301", "⏺️", "a\u2060b", "שלום", "ก็", "\x1b[31mred\x1b[0m", "\x1b]52;c;aGk=\x07",
    "\x1bP1$r\x1b\\", "\x9b2J", "\r over", "\x00", "\ud800", "\u202etxt", "\t", "&#27;", "&#8238;", "\u2028",
    "🇩🇪", "\u200d", "\ufe0f", "x" * 50,
]  # fmt: skip
PIECES = st.lists(
    st.one_of(
        st.sampled_from([
            *AWKWARD, "# ", "- ", "1. ", "> ", "**", "`", "```", "```py\n", "~~~\n", "|a|b|\n|-|-:|\n|", "|",
            "\n", "\n\n", "    ", "  ", "\n```json\n👩‍👩‍👧‍👦\n", "```py\n⏺️ = '👍🏽'\n",
            "[t](http://e.org/a)", "[t](javascript:x)", "![i](u)", "---\n", "<b>", "word", " ",
            "\\", "=\n", "***", "- [ ] ", "\r\n",
        ]),
        st.text(max_size=6),
    ),
    max_size=25,
).map("".join)  # fmt: skip


def every_kind(text: str) -> list[Entry]:
    call = ToolCall(
        key="c", name=text, title=text, state="failed", duration_seconds=3, detail=text, note=text, result=text
    )
    call.append_output(text)
    return [
        TurnHeader(key="h", text=text), UserMessage(key="u", text=text), UserMessage(key="v", text=text, folded=False),
        AssistantText(key="a", text=text), Thinking(key="k", text=text), Thinking(key="l", text=text, folded=False),
        call, Diff(key="d", diff=text, title=text), Notice(key="n", text=text, level="error"),
    ]  # fmt: skip


def assert_sound(lines: list[Line], width: int) -> None:
    for line in lines:
        assert line.strip.cell_length == width
        assert cell_len(line.strip.text) == width
        assert sum(cell_len(segment.text) for segment in line.strip) == width
        for segment in line.strip:
            bad = [c for c in segment.text if unicodedata.category(c) in ("Cc", "Cs") or c in "\u202e\u2060\u2028"]
            assert not bad, f"{segment.text!r} would reach the terminal"


@settings(deadline=None, max_examples=150)
@given(text=PIECES, width=st.integers(1, 60))
def test_every_line_is_as_wide_as_the_view_and_holds_no_control_character(text: str, width: int) -> None:
    """H-042, H-043, H-050: for every kind of entry, at every width."""
    for entry in every_kind(text):
        assert_sound(entry.lines(width, LOOK), width)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 10, 20, 80, 500])
def test_the_demo_conversation_fits_every_width(width: int) -> None:
    for entry in conversation():
        assert_sound(entry.lines(width, LOOK), width)


@settings(deadline=None, max_examples=200)
@given(text=PIECES, cuts=st.lists(st.integers(0, 200), max_size=8), draws=st.booleans())
def test_streaming_any_split_of_a_text_gives_the_lines_of_the_whole(text: str, cuts: list[int], draws: bool) -> None:
    streamed = AssistantText(key="a")
    for start, end in pairwise(sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})):
        streamed.append(text[start:end])
        if draws:
            streamed.lines(40, LOOK)
    streamed.change(streaming=False)
    assert (
        streamed.lines(40, LOOK) == AssistantText(key="b", text=text).lines(40, LOOK) == render_markdown(text, 40, LOOK)
    )
    assert streamed.plain() == AssistantText(key="b", text=text).plain()


def test_streaming_one_character_at_a_time_equals_the_whole_answer() -> None:
    streamed = AssistantText(key="a")
    for character in ANSWER * 2:
        streamed.append(character)
    streamed.change(streaming=False)
    assert streamed.lines(80, LOOK) == render_markdown(ANSWER * 2, 80, LOOK)


def test_the_whole_text_at_the_end_of_a_stream_keeps_what_was_drawn() -> None:
    streamed = AssistantText(key="a")
    streamed.append("one\n\ntwo\n")
    before = streamed.lines(40, LOOK)
    streamed.change(text="one\n\ntwo\n", streaming=False)
    assert streamed.lines(40, LOOK)[0] is before[0]


def shown(text: str, width: int = 60) -> str:
    return "\n".join(line.strip.text.rstrip() for line in render_markdown(text, width, LOOK))


def test_an_escape_cut_over_two_deltas_is_shown_not_acted_on() -> None:
    """H-043."""
    streamed = AssistantText(key="a")
    for delta in ("a \x1b", "]0;pwn\x07 b"):
        streamed.append(delta)
        assert_sound(streamed.lines(40, LOOK), 40)
    assert "␛]0;pwn␇" in streamed.lines(40, LOOK)[0].text


def test_markdown_is_laid_out_calmly() -> None:
    text = "# T\ntext *a* `b`\n- x\n- y\n  1. z\n\n> q\n\n| A | B |\n|---|--:|\n| 1 | 2 |\n\n```py\nx = 1\n```"
    assert shown(text) == (
        "  T\n\n  text a b\n\n  • x\n  • y\n    1. z\n\n  ▎ q\n\n  A  B\n  ─  ─\n  1  2\n\n  ▏ py\n  ▏ x = 1"
    )


@pytest.mark.parametrize("number", [0, 7, 10])
def test_a_numbered_list_keeps_its_first_number(number: int) -> None:
    assert shown(f"{number}. a\n{number + 1}. b") == f"  {number}. a\n  {number + 1}. b"


def test_a_link_shows_where_it_leads_unless_its_text_says_so() -> None:
    assert (
        shown("[bank](https://evil.example) <https://a.example>") == "  bank (https://evil.example) https://a.example"
    )


def test_only_plain_web_addresses_become_terminal_links() -> None:
    (line,) = render_markdown("[a](https://e.example) [b](file:///etc) [c](x://y)", 80, LOOK)
    links = [segment.style.link for segment in line.strip if segment.style and segment.style.link]
    assert links == ["https://e.example"]


def test_markup_of_rich_is_only_text() -> None:
    (line,) = UserMessage(key="u", text="[bold red]x[/] [@click=app.quit]y[/]").lines(80, LOOK)[1:]
    assert line.text == "[bold red]x[/] [@click=app.quit]y[/]"


def test_a_table_without_room_becomes_a_list_of_rows() -> None:
    assert shown("| A | B |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", 12) == "  A: 1\n  B: 2\n\n  A: 3\n  B: 4"


def test_a_wide_table_wraps_in_its_cells() -> None:
    lines = shown(f"| A | B |\n|---|---|\n| k | {'long words ' * 12}|", 40).splitlines()
    assert len(lines) > 4
    assert all(cell_len(line) <= 40 for line in lines)


@pytest.mark.parametrize("body", ["- item {}\n", "| {} | b |\n"])
def test_a_long_list_or_table_is_cut_between_items_so_that_the_open_block_stays_small(body: str) -> None:
    head = "| A | B |\n|---|---|\n" if "|" in body else ""
    blocks = blocks_of(head + "".join(body.format(n) for n in range(2_000)))
    assert len(blocks) > 2
    assert max(len(block.text) for block in blocks) < LARGE_BLOCK + 100
    assert all(block.text.startswith(head) for block in blocks)


def test_long_code_is_finished_in_parts_that_stand_together() -> None:
    lines = render_markdown("```\n" + "x\n" * 500 + "```\nafter", 40, LOOK)
    assert [line.text for line in lines] == ["x"] * 500 + ["", "after"]


def test_a_list_mark_that_just_began_does_not_turn_the_paragraph_into_a_heading() -> None:
    streamed = AssistantText(key="a")
    streamed.append("Steps:\n-")
    assert [line.text for line in streamed.lines(40, LOOK)] == ["Steps:"]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("漢字漢字", 5, ["漢字", "漢字"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("a " + "b" * 5, 3, ["a", "bbb", "bb"]),
        ("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 3, ["👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"]),
        ("e\u0301e\u0301", 1, ["e\u0301", "e\u0301"]),
        ("", 5, [""]),
    ],
)
def test_words_break_where_a_reader_expects_it(text: str, width: int, expected: list[str]) -> None:
    """H-050: never inside a visible character."""
    assert [text[found.start : found.end] for found in word_breaks(text, width)] == expected


@settings(deadline=None)
@given(text=st.text(alphabet="ab 漢👍\u0301", max_size=60), width=st.integers(2, 12))
def test_wrapping_loses_nothing_and_stays_within_the_width(text: str, width: int) -> None:
    found = word_breaks(text, width)
    rebuilt = "".join(text[part.start : part.end] + part.joint for part in found).removesuffix("\n")
    assert rebuilt.rstrip(" ") == text.rstrip(" ")
    leading = len(text) - len(text.lstrip(" "))
    assert all(cell_len(text[part.start : part.end]) <= width for part in found) or leading > width


def test_shortened_text_fits_and_says_that_it_is_cut() -> None:
    assert shorten("漢字漢字", 5) == "漢字…"
    assert shorten("short", 5) == "short"
    assert shorten("abc", 1) == "…"
    assert shorten("abc", 0) == ""


def test_a_long_notice_shows_its_start_and_unfolds_a_long_sentence_is_whole() -> None:
    notice = Notice(key="n", text="\n".join(f"entry {number}" for number in range(200)))
    assert notice.lines(80, LOOK)[-1].text == "… 170 more lines"
    notice.folded = False
    assert notice.lines(80, LOOK)[-1].text == "entry 199"
    sentence = Notice(key="s", text=" ".join(["word"] * 700) + " end")
    assert not sentence.foldable and sentence.lines(60, LOOK)[-1].text.endswith("end")


def test_a_failed_call_unfolds_itself_and_an_ok_one_does_not() -> None:
    failed = ToolCall(key="a", name="terminal", state="failed", detail="$ false")
    fine = ToolCall(key="b", name="terminal", state="ok", detail="$ true")
    assert len(failed.lines(60, LOOK)) == 2
    assert len(fine.lines(60, LOOK)) == 1
    fine.folded = False
    assert fine.lines(60, LOOK)[1].text == "$ true"


def test_a_state_is_a_glyph_and_a_word() -> None:
    row = ToolCall(key="a", name="terminal", title="make", state="timed out", duration_seconds=300).lines(80, LOOK)[0]
    assert row.text.split() == ["◷", "timed", "out", "terminal", "make", "5m", "00s"]


def test_output_keeps_head_and_tail_and_counts_what_is_hidden() -> None:
    call = ToolCall(key="a", name="terminal", state="running", folded=False)
    for number in range(100_000):
        call.append_output(f"{number}\n")
    texts = [line.text for line in call.lines(80, LOOK)]
    assert texts[1] == "0"
    assert texts[-1] == "99999"
    assert "… 99,880 lines hidden …" in texts
    assert len(texts) == 122


@given(parts=st.lists(st.text(alphabet="ab\n", max_size=30), max_size=30))
def test_output_in_any_parts_equals_the_whole(parts: list[str]) -> None:
    piecewise, whole = HeadTail(), HeadTail()
    for part in parts:
        piecewise.feed(part)
    whole.feed("".join(parts))
    assert piecewise.view(5, 5) == whole.view(5, 5)
    assert "\n".join(piecewise.view(99, 199)[0]) == "".join(parts).removesuffix("\n")


HUGE = {"x": 1_000_000, "漢": 1_000_000, "a b ": 250_000, "\n": 1_000_000, "[": 1_000_000, "x\n": 500_000}


@pytest.mark.parametrize("piece", HUGE, ids=ascii)
def test_a_megabyte_in_one_piece_is_shown_cut_with_the_amount(piece: str) -> None:
    for entry in every_kind(piece * HUGE[piece]):
        lines = entry.lines(80, LOOK)
        assert_sound(lines, 80)
        assert len(lines) < 1_200, type(entry)


def test_a_cut_line_says_how_much_is_missing() -> None:
    whole, folded = (
        UserMessage(key="u", text="x" * 100_000, folded=folded).lines(80, LOOK) for folded in (False, True)
    )
    assert "… 96,000 more characters" in "".join(line.text + line.joint for line in whole)
    assert folded[-1].text == "… 99,230 more characters"


def test_one_huge_paragraph_shows_its_start_and_says_how_much_is_missing() -> None:
    texts = [line.text for line in AssistantText(key="a", text="word " * 200_000).lines(120, LOOK)]
    assert texts[0].startswith("word word")
    assert "… 995,9" in " ".join(texts)
    assert len(texts) < 60


def test_a_huge_answer_shows_its_start_and_end_and_copies_whole() -> None:
    text = "\n\n".join(f"paragraph {number} " + "word " * 40 for number in range(3_000))
    entry = AssistantText(key="a", text=text)
    texts = [line.text for line in entry.lines(80, LOOK)]
    assert texts[0].startswith("paragraph 0 ")
    assert any("more characters are not shown here" in line for line in texts)
    assert any(line.startswith("paragraph 2999") for line in texts)
    assert entry.plain() == text


def test_a_diff_reads_without_colour() -> None:
    texts = [line.text for line in Diff(key="d", diff=DIFF, title="a.py").lines(80, LOOK)]
    assert texts[0] == "▾ a.py  +4 -1"
    assert texts[5].startswith("-        self.column")
    assert texts[6].startswith("+        if")


def test_an_unknown_field_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="Notice has no field colour; it has folded, level, text, turn_key"):
        Notice(key="n", text="x").change(colour="red")


@pytest.mark.parametrize(("seconds", "text"), [(0.04, "0.0s"), (9.96, "10s"), (59.6, "1m 00s"), (3725, "1h 02m")])
def test_durations_read_naturally(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(
    heights=st.lists(st.integers(0, 4), min_size=1, max_size=30),
    changes=st.lists(st.tuples(st.integers(0, 29), st.integers(0, 4))),
)
def test_line_index_agrees_with_counting(heights: list[int], changes: list[tuple[int, int]]) -> None:
    index = LineIndex(heights)
    for at, height in changes:
        index.set(at % len(heights), height)
        heights[at % len(heights)] = height
        assert index.total == sum(heights)
    rows = [(at, line) for at, height in enumerate(heights) for line in range(height)]
    assert [index.locate(line) for line in range(len(rows))] == rows


def test_a_turns_time_comes_before_the_parts_of_its_cost() -> None:
    header = TurnHeader(
        key="t",
        text="18:53 · waiting for you 9s · worked 10s",
        cost="$0.0007 · children 1.1k in · 20 out · $0.0013",
        total="$0.0020 with children",
    )
    assert header.lines(110, LOOK)[0].text.endswith("10s · $0.0007 · children 1.1k in · 20 out · $0.0013")
    assert header.lines(80, LOOK)[0].text.endswith("worked 10s · $0.0020 with children")
    assert header.lines(60, LOOK)[0].text == "18:53 · waiting for you 9s · $0.0020 with children"
