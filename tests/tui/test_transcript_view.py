"""The transcript as a user meets it: following, folding, keys, mouse, resize, selection, thousands of entries."""

from __future__ import annotations

import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from rich.cells import cell_len
from textual.events import MouseScrollDown

from cos.tui.transcript import AssistantText, Entry, Notice, Thinking, ToolCall, Transcript, UserMessage
from cos.tui.transcript.look import Look
from cos.tui.transcript.page import KEPT_DRAWN, KEPT_LINES
from tests.tui.transcript_demo import ANSWER, TranscriptDemo, conversation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from textual.pilot import Pilot


def texts(view: Transcript) -> list[str]:
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def numbered(count: int, first: int = 0) -> list[Entry]:
    return [Notice(key=f"n{number}", text=f"number {number}") for number in range(first, first + count)]


class Opened(NamedTuple):
    pilot: Pilot[None]
    view: Transcript


@asynccontextmanager
async def opened(entries: list[Entry], size: tuple[int, int] = (60, 12)) -> AsyncIterator[Opened]:
    app = TranscriptDemo(entries)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Opened(pilot, app.query_one(Transcript))


async def test_it_opens_at_the_end_and_follows_what_is_added() -> None:
    async with opened(numbered(50)) as it:
        assert texts(it.view)[-1].endswith("number 49")
        it.view.append(Notice(key="x", text="the newest"))
        await it.pilot.pause()
        assert texts(it.view)[-1].endswith("the newest")


async def test_scrolling_up_stops_following_and_a_hint_counts_new_lines_until_end_is_pressed() -> None:
    async with opened(numbered(50)) as it:
        await it.pilot.press("pageup")
        before = texts(it.view)
        it.view.append(*numbered(2, first=50))
        await it.pilot.pause()
        assert texts(it.view)[:-1] == before[:-1]
        assert texts(it.view)[-1].endswith("▼ 4 new lines · End")
        await it.pilot.press("end")
        assert texts(it.view)[-1].endswith("number 51")
        assert it.view.auto_follow
        assert it.view.new_lines == 0


async def test_streamed_text_below_does_not_move_what_is_read() -> None:
    async with opened([*numbered(50), AssistantText(key="a")]) as it:
        await it.pilot.press("pageup")
        before = texts(it.view)
        for _ in range(20):
            it.view.append_text("a", "a line\n\n")
        it.view.flush()
        await it.pilot.pause()
        assert texts(it.view)[:-1] == before[:-1]


async def test_scrolling_back_to_the_end_follows_again() -> None:
    async with opened(numbered(50)) as it:
        await it.pilot.press("pageup")
        assert not it.view.auto_follow
        await it.pilot.press("pagedown")
        assert it.view.auto_follow


async def test_deltas_are_only_stored_until_the_next_frame() -> None:
    async with opened([AssistantText(key="a")]) as it:
        for word in ("one ", "two ", "three"):
            it.view.append_text("a", word)
        assert texts(it.view)[0] == ""
        it.view.flush()
        assert texts(it.view)[0] == "  one two three"


async def test_many_blocks_at_once_are_drawn_in_several_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    goes: list[bool] = []
    draw_ahead = AssistantText.draw_ahead

    def counted(*arguments: Any) -> bool:
        goes.append(draw_ahead(*arguments))
        return goes[-1]

    monkeypatch.setattr(AssistantText, "draw_ahead", counted)
    monkeypatch.setattr("cos.tui.transcript.view.LONGEST_FRAME_SECONDS", 0.0)
    async with opened([AssistantText(key="a", text="first")]) as it:
        it.view.append_text("a", "".join(f"\n\nblock {number}" for number in range(20)))
        while not texts(it.view)[-1].endswith("block 19"):
            assert True not in goes
            await it.pilot.pause(0.01)
        # One block in each go; the last two are still open.
        assert goes == [False] * 19 + [True]


async def test_space_folds_and_unfolds_the_entry_under_the_cursor() -> None:
    async with opened([*numbered(2), Thinking(key="k", text="because " * 3)]) as it:
        await it.pilot.press("up", "space")
        assert it.view.cursor_key == "k"
        assert texts(it.view)[4:6] == ["▎ ▾ thought for a while (3 words)", "▎ ▏ because because because"]
        await it.pilot.press("space")
        assert texts(it.view)[4] == "▎ ▸ thought for a while (3 words)"


async def test_a_click_on_its_first_line_folds_an_entry() -> None:
    async with opened([ToolCall(key="c", name="terminal", state="ok", detail="$ true"), *numbered(1)]) as it:
        await it.pilot.click(Transcript, offset=(4, 0))
        assert texts(it.view)[1] == "▎   │ $ true"
        await it.pilot.click(Transcript, offset=(8, 1))
        assert texts(it.view)[1] == "▎   │ $ true"
        await it.pilot.click(Transcript, offset=(4, 0), times=1)
        assert "$ true" not in "\n".join(texts(it.view))


async def test_unfolding_keeps_the_first_line_where_it_is() -> None:
    long = Thinking(key="k", text="\n".join(f"thought {number}" for number in range(100)))
    async with opened([*numbered(20), long, *numbered(2, first=20)]) as it:
        y = next(y for y, text in enumerate(texts(it.view)) if "thought for" in text)
        it.view.toggle("k")
        await it.pilot.pause()
        assert "▾ thought for" in texts(it.view)[y]
        assert not it.view.auto_follow


async def test_the_cursor_skips_turn_headers_and_enter_activates() -> None:
    async with opened(conversation(), size=(80, 24)) as it:
        seen = []
        for _ in range(6):
            await it.pilot.press("up")
            seen.append(it.view.cursor_key)
        assert seen[:5] == ["n1", "c6", "c5", "c4", "u2"]
        assert seen[5] == "a1"


async def test_enter_posts_which_entry_was_activated() -> None:
    activated: list[str] = []

    class Listening(TranscriptDemo):
        def on_transcript_entry_activated(self, event: Transcript.EntryActivated) -> None:
            activated.append(event.key)

    app = Listening(numbered(3))
    async with app.run_test() as pilot:
        await pilot.press("up", "up", "enter")
    assert activated == ["n1"]


async def test_near_the_start_older_entries_are_asked_for_once_and_prepending_keeps_the_place() -> None:
    asked: list[str] = []

    class Listening(TranscriptDemo):
        def on_transcript_need_older(self) -> None:
            asked.append("older")

    app = Listening(numbered(30, first=100))
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.query_one(Transcript)
        await pilot.press("home")
        view.scroll_to(y=1)
        await pilot.pause()
        assert asked == ["older"]
        before = texts(view)
        view.prepend([AssistantText(key="old", text=ANSWER), *numbered(40)])
        await pilot.pause()
        assert texts(view)[1:] == before[1:]
        assert view.entry_at_line(0) is view.entry("old")
        await pilot.press("home")
        assert asked == ["older", "older"]


async def test_scrolling_up_line_by_line_through_entries_never_drawn_shows_every_line_once() -> None:
    """Estimated heights turn true on the way without a jump."""
    entries: list[Entry] = [
        AssistantText(key=f"a{n}", text=f"## head {n}\n\n- x\n- y\n\n" + "word " * 60) for n in range(40)
    ]
    async with opened(entries, size=(50, 10)) as it:
        bottom_up = [texts(it.view)[-1]]
        first = texts(it.view)
        top = it.view.scroll_offset.y
        for _ in range(60):
            it.view.scroll_to(y=it.view.scroll_offset.y - 1)
            await it.pilot.pause()
            now = texts(it.view)
            assert now[1:] == first[:-1]
            first = now
            bottom_up.append(now[-1])
        assert it.view.scroll_offset.y != top


@pytest.mark.parametrize("size", [(20, 5), (10, 3), (1, 1), (0, 0), (500, 10)])
async def test_it_survives_a_resize_while_a_stream_runs(size: tuple[int, int]) -> None:
    """H-051."""
    async with opened([*conversation(), AssistantText(key="s")], size=(80, 24)) as it:
        it.view.append_text("s", ANSWER)
        for step in (size, (80, 24), size):
            await it.pilot.resize_terminal(*step)
            it.view.append_text("s", "more 漢字 " * 20)
            it.view.flush()
            await it.pilot.pause()
            for y in range(it.view.size.height):
                assert cell_len(it.view.render_line(y).text) == it.view.size.width


async def test_a_resize_keeps_the_entry_that_is_read_at_the_top() -> None:
    entries: list[Entry] = [AssistantText(key=f"a{n}", text=f"start{n} " + "word " * 80) for n in range(40)]
    async with opened(entries, size=(80, 10)) as it:
        it.view.scroll_to(y=200)
        await it.pilot.pause()
        line = it.view.scroll_offset.y
        before = it.view.entry_at_line(line) or it.view.entry_at_line(line + 1)
        await it.pilot.resize_terminal(40, 10)
        await it.pilot.pause()
        line = it.view.scroll_offset.y
        assert (it.view.entry_at_line(line) or it.view.entry_at_line(line + 1)) is before


async def test_a_resize_inside_a_long_entry_stays_near_the_words_that_were_read() -> None:
    text = "\n\n".join(f"mark{number} " + "word " * 30 for number in range(100))
    async with opened([AssistantText(key="a", text=text)], size=(80, 10)) as it:
        it.view.scroll_to(y=it.view.max_scroll_y // 2)
        await it.pilot.resize_terminal(30, 10)
        await it.pilot.pause()
        assert any(f"mark{number} " in "\n".join(texts(it.view)) for number in range(47, 54))


async def test_unfolding_at_the_end_goes_on_following_when_the_whole_entry_fits() -> None:
    async with opened([*numbered(20), Thinking(key="k", text="a\nb\nc")]) as it:
        it.view.toggle("k")
        await it.pilot.pause()
        assert texts(it.view)[-1] == "  ▏ c"
        assert it.view.auto_follow


async def select(pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int]) -> str | None:
    await pilot.mouse_down(Transcript, offset=start)
    await pilot.hover(Transcript, offset=end)
    await pilot.mouse_up(Transcript, offset=end)
    return pilot.app.screen.get_selected_text()


async def test_a_mouse_selection_copies_words_without_bars_and_rejoins_wrapped_lines() -> None:
    """H-052."""
    async with opened([UserMessage(key="u", text="alpha beta gamma\nsecond line")], size=(15, 8)) as it:
        assert texts(it.view)[:4] == ["▌ you", "▌ alpha beta", "▌ gamma", "▌ second line"]
        assert await select(it.pilot, (2, 1), (7, 3)) == "alpha beta gamma\nsecond"


async def test_a_selection_over_several_entries_takes_their_text() -> None:
    entries = [UserMessage(key="u", text="漢字 x"), AssistantText(key="a", text="- **b**\n\n```py\nx = 1\n```")]
    async with opened(entries) as it:
        assert await select(it.pilot, (0, 0), (20, 7)) == "漢字 x\n\nb\n\nx = 1"


async def test_a_selection_is_painted_and_stays_on_its_words_while_text_streams() -> None:
    async with opened([UserMessage(key="u", text="hello world"), AssistantText(key="a", text="x")]) as it:
        assert await select(it.pilot, (2, 1), (6, 1)) == "hello"
        style = it.pilot.app.screen.get_component_rich_style("screen--selection")
        painted = [s.text for s in it.view.render_line(1) if s.style and s.style.bgcolor == style.bgcolor]
        assert painted == ["hello"]
        it.view.prepend(numbered(30))
        it.view.append_text("a", "y\n\n" * 50)
        it.view.flush()
        assert it.pilot.app.screen.get_selected_text() == "hello"


async def test_a_drag_that_begins_on_a_tool_row_does_not_fold_it() -> None:
    async with opened([ToolCall(key="c", name="terminal", state="ok", detail="$ true")]) as it:
        await select(it.pilot, (4, 0), (20, 0))
        assert len([text for text in texts(it.view) if text]) == 1


async def test_a_double_click_takes_the_whole_entry() -> None:
    async with opened([*numbered(1), AssistantText(key="a", text="one\n\ntwo")]) as it:
        await it.pilot.double_click(Transcript, offset=(3, 2))
        assert it.pilot.app.screen.get_selected_text() == "one\n\ntwo"


async def test_everything_selected_copies_entries_that_were_never_drawn() -> None:
    async with opened(numbered(500)) as it:
        it.view.text_select_all()
        copied = it.pilot.app.screen.get_selected_text()
        assert copied is not None
        assert copied.count("number") == 500


async def test_ten_thousand_entries_open_without_drawing_them() -> None:
    drawn = 0

    class Counted(Notice):
        def lines(self, width: int, look: Any) -> Any:
            nonlocal drawn
            drawn += 1
            return super().lines(width, look)

    async with opened([Counted(key=str(number), text=f"number {number}") for number in range(10_000)]) as it:
        assert texts(it.view)[-1].endswith("number 9999")
        assert drawn < 200
        await it.pilot.press("home")
        assert texts(it.view)[0].endswith("number 0")
        assert drawn < 400


async def test_drawn_lines_of_entries_left_behind_are_forgotten() -> None:
    async with opened(numbered(2_000)) as it:
        for y in range(0, 3_900, 10):
            it.view.scroll_to(y=y)
        page = it.view._page
        assert sum(row.drawn is not None for row in page.rows) <= KEPT_DRAWN
        assert page.total == 3_999


async def test_few_long_entries_are_forgotten_as_well_as_many_short_ones() -> None:
    long = "\n\n".join(f"line {number}" for number in range(1_000))
    async with opened([AssistantText(key=f"a{number}", text=long) for number in range(20)]) as it:
        for y in range(0, it.view._page.total, 500):
            it.view.scroll_to(y=y)
        assert sum(len(row.drawn or ()) for row in it.view._page.rows) <= KEPT_LINES + 2_000


async def test_what_is_not_on_screen_any_more_holds_its_text_alone() -> None:
    answers = [AssistantText(key=f"a{number}", text=f"answer\n\nnumber\n\n{number}") for number in range(3)]
    async with opened([*answers]) as it:
        assert all(answer._drawn and answer._splitter for answer in answers)
        await it.pilot.resize_terminal(50, 12)
        it.view.set_entries([])
        assert not any(answer._drawn or answer._splitter for answer in answers)
        answers[0].append(" and more")
        assert [line.text for line in answers[0].lines(40, Look())] == ["answer", "", "number", "", "0 and more"]


def test_of_a_huge_streamed_answer_only_the_ends_stay_drawn() -> None:
    entry = AssistantText(key="a")
    for number in range(8_000):
        entry.append(f"paragraph {number} " + "word " * 40 + "\n\n")
        if number % 100 == 0:
            shown = len(entry.lines(80, Look()))
    assert len(entry._drawn) < 2_000
    assert len(entry.lines(80, Look())) <= shown + 50
    assert entry.estimate(80) > 15_000


@pytest.mark.parametrize("keys", [["pageup"], ["home"], ["pageup", "pagedown", "pageup"]])
async def test_in_a_long_session_a_stream_moves_nothing_that_is_read_and_the_end_is_followed_again(
    keys: list[str],
) -> None:
    async with opened([*numbered(10_000), AssistantText(key="a")]) as it:
        await it.pilot.press(*keys)
        before = texts(it.view)[:-1]
        for _ in range(50):
            it.view.append_text("a", "more text\n\n")
            it.view.flush()
        await it.pilot.pause()
        assert texts(it.view)[:-1] == before and it.view.new_lines >= 98
        it.view._on_mouse_scroll_down(_wheel(it.view))
        assert not it.view.auto_follow
        await it.pilot.press("end")
        it.view.append_text("a", "the last")
        it.view.flush()
        assert texts(it.view)[-1].endswith("the last")


def _wheel(view: Transcript) -> MouseScrollDown:
    return MouseScrollDown(
        view, x=1, y=1, delta_x=0, delta_y=1, button=0, shift=False, meta=False, ctrl=False, screen_x=1, screen_y=1
    )


async def test_a_changed_theme_recolours_what_was_drawn() -> None:
    async with opened([UserMessage(key="u", text="hi")]) as it:
        before = it.view.render_line(0)
        it.pilot.app.theme = "textual-light"
        await it.pilot.pause()
        after = it.view.render_line(0)
        assert [s.text for s in before] == [s.text for s in after]
        assert [s.style for s in before] != [s.style for s in after]


async def test_entries_change_by_key_and_unknown_keys_are_named() -> None:
    async with opened([ToolCall(key="c", name="terminal", state="running")]) as it:
        it.view.update("c", state="ok", duration_seconds=2.0)
        it.view.append_output("c", "out\n")
        it.view.flush()
        assert texts(it.view)[0].split() == ["▸", "✓", "ok", "terminal", "2.0s"]
        assert it.view.visible_text_of("c") == "ok  terminal\nout"
        with pytest.raises(KeyError, match="no entry has the key 'gone'"):
            it.view.update("gone", state="ok")
        with pytest.raises(TypeError, match="only AssistantText and Thinking stream text"):
            it.view.append_text("c", "x")
        with pytest.raises(ValueError, match="'c' is used by two entries"):
            it.view.append(Notice(key="c", text="x"))
        it.view.remove_entry("c")
        assert not it.view.has("c")
        assert texts(it.view)[0] == ""


@pytest.mark.parametrize(
    "change",
    [lambda view: view.clear(), lambda view: view.remove_entry("n49"), lambda view: view.set_entries(numbered(1))],
    ids=["clear", "remove", "set_entries"],
)
async def test_a_delta_that_waits_for_its_frame_does_not_survive_its_entry(
    change: Callable[[Transcript], None],
) -> None:
    async with opened(numbered(50)) as it:
        it.view.update("n49", text="changed")
        change(it.view)
        it.view.flush()
        assert "changed" not in "\n".join(texts(it.view))


def test_importing_the_view_loads_nothing_heavy() -> None:
    code = "import sys, cos.tui.transcript; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {
        "markdown_it",
        "pygments.lexers",
        "rich.markdown",
        "pydantic",
        "psycopg",
        "jsonschema",
        "cos.core",
    } & set(loaded)
