"""Searching the open session: the box, the marks, going from match to match, and what is not loaded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from cos.tui.transcript import AssistantText, Entry, Notice, Thinking, ToolCall, Transcript, UserMessage
from cos.tui.transcript.look import Look
from cos.tui.transcript.markdown import render_markdown
from cos.tui.transcript.searched import Wanted, occurrences
from cos.tui.widgets.conversation_pane import ConversationPane
from cos.tui.widgets.search_bar import SearchBar
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in
from tests.tui.long_session import long_session
from tests.tui.test_transcript_view import texts


class PaneDemo(App[None]):
    def __init__(self, entries: list[Entry]) -> None:
        super().__init__()
        self.shown = entries
        self.posted: list[object] = []

    def compose(self) -> ComposeResult:
        yield ConversationPane()

    def on_mount(self) -> None:
        self.query_one(Transcript).set_entries(self.shown)
        self.query_one(Transcript).focus()

    def on_conversation_pane_rewind_wanted(self, event: ConversationPane.RewindWanted) -> None:
        self.posted.append(event)

    def on_conversation_pane_fork_wanted(self, event: ConversationPane.ForkWanted) -> None:
        self.posted.append(event)

    def on_conversation_pane_retry_wanted(self, event: ConversationPane.RetryWanted) -> None:
        self.posted.append(event)


class Shown(NamedTuple):
    app: PaneDemo
    pilot: Pilot[None]
    pane: ConversationPane

    @property
    def view(self) -> Transcript:
        return self.pane.view

    async def keys(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()

    async def look_for(self, text: str) -> None:
        await self.keys("slash", *("space" if character == " " else character for character in text))

    @property
    def said(self) -> str:
        return str(self.pane.bar.query_one("#search-count").render())


@asynccontextmanager
async def shown(entries: list[Entry], size: tuple[int, int] = (60, 12)) -> AsyncIterator[Shown]:
    app = PaneDemo(entries)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Shown(app, pilot, app.query_one(ConversationPane))


def some() -> list[Entry]:
    """30 entries; `needle` in number 3, in a folded thought, in a call's output, and twice in a long answer."""
    entries: list[Entry] = [Notice(key=f"n{number}", text=f"number {number}") for number in range(30)]
    entries[3] = UserMessage(key="early", text="a needle early on")
    entries[10] = Thinking(key="thought", text="first\nthe Needle here")
    entries[15] = ToolCall(key="call", name="terminal", title="ls", state="ok", detail="ls", result="x\nneedle.txt")
    text = "needle up here\n\n" + "\n\n".join(f"line {n}" for n in range(20)) + "\n\nand a **nee**dle down here"
    entries[20] = AssistantText(key="long", text=text)
    return entries


def marked(view: Transcript) -> list[str]:
    """What is shown in a style of a match."""
    looks = (view._page.look.match, view._page.look.match_here)
    base = view._page.look.base
    return [
        segment.text
        for y in range(view.size.height)
        for segment in view.render_line(y)
        if any(segment.style and look.bgcolor and segment.style.bgcolor == (base + look).bgcolor for look in looks)
        or (segment.style and segment.style.reverse)
    ]


async def test_typing_counts_and_goes_to_the_newest_match_above_the_end() -> None:
    async with shown(some()) as it:
        await it.look_for("needle")
        assert it.said == "4 of 4 (2 of 2 in it)"
        assert it.view.cursor_key == "long"
        assert "needle down here" in "\n".join(texts(it.view))


async def test_up_and_down_move_between_places_and_go_on_from_the_other_end() -> None:
    async with shown(some()) as it:
        await it.look_for("needle")
        await it.keys("up")
        assert (it.view.cursor_key, "needle up here" in "\n".join(texts(it.view))) == ("long", True)
        assert it.said == "4 of 4 (1 of 2 in it)"
        await it.keys("up")
        assert (it.view.cursor_key, it.said) == ("call", "3 of 4")
        await it.keys("up", "up")
        assert (it.view.cursor_key, it.said) == ("early", "1 of 4")
        await it.keys("up")
        assert (it.view.cursor_key, it.said) == ("long", "4 of 4 (2 of 2 in it) · on from the end")
        await it.keys("down")
        assert (it.view.cursor_key, it.said) == ("early", "1 of 4 · on from the top")
        await it.keys("down")
        assert (it.view.cursor_key, it.said) == ("thought", "2 of 4")


async def test_a_folded_entry_unfolds_when_it_is_reached_but_not_while_typing() -> None:
    async with shown([*some()[:16]]) as it:
        await it.look_for("needle")
        assert it.view.cursor_key == "call" and it.view.entry("call").is_folded
        await it.keys("up")
        assert (it.view.cursor_key, it.view.entry("call").is_folded) == ("call", False), "first what is at the cursor"
        assert "needle.txt" in "\n".join(texts(it.view))
        await it.keys("up")
        assert not it.view.entry("thought").is_folded
        assert "the Needle here" in "\n".join(texts(it.view))


async def test_enter_leaves_the_box_at_the_hit_and_n_goes_on_at_once() -> None:
    async with shown(some()) as it:
        await it.look_for("needle")
        await it.keys("enter")
        assert it.view.has_focus and (it.view.cursor_key, it.said) == ("long", "4 of 4 (2 of 2 in it)")
        await it.keys("N")
        assert (it.view.cursor_key, it.said) == ("long", "4 of 4 (1 of 2 in it)")
        await it.keys("n", "n")
        assert (it.view.cursor_key, it.said) == ("early", "1 of 4 · on from the top")
        await it.keys("slash", "up", "enter")
        assert it.view.has_focus and (it.view.cursor_key, it.said) == ("long", "4 of 4 (2 of 2 in it)")
        await it.keys("slash", "backspace", "enter")
        assert it.view.has_focus and not it.pane.bar.is_open, "nothing to look for"


async def test_enter_unfolds_the_hit_that_typing_went_to() -> None:
    async with shown([*some()[:16]]) as it:
        await it.look_for("needle")
        await it.keys("enter")
        assert (it.view.cursor_key, it.view.entry("call").is_folded) == ("call", False)
        assert "needle.txt" in "\n".join(texts(it.view)) and it.said == "3 of 3"


async def test_escape_leaves_the_box_then_ends_the_search_and_moves_nothing() -> None:
    async with shown(some()) as it:
        await it.look_for("needle")
        await it.keys("up", "up")
        assert it.view.cursor_key == "call"
        before = it.view.scroll_offset.y
        await it.keys("escape")
        assert it.view.has_focus and it.view.cursor_key == "call"
        assert it.pane.bar.is_open and marked(it.view)
        await it.keys("escape")
        assert not it.pane.bar.is_open and not marked(it.view)
        assert (it.view.cursor_key, it.view.scroll_offset.y) == ("call", before)


async def test_escape_unfolds_nothing_that_was_only_typed_at() -> None:
    async with shown([*some()[:16]]) as it:
        await it.look_for("needle")
        await it.keys("escape", "escape")
        assert it.view.cursor_key == "call" and it.view.entry("call").is_folded


async def test_n_takes_up_an_ended_search_from_where_the_reader_is() -> None:
    async with shown(some()) as it:
        await it.look_for("needle")
        await it.keys("escape", "escape")
        assert not it.pane.bar.is_open
        await it.keys("home", "n")
        assert (it.view.cursor_key, it.said) == ("early", "1 of 4")
        assert it.view.has_focus and marked(it.view)
        await it.keys("n")
        assert (it.view.cursor_key, it.said) == ("thought", "2 of 4")
        it.view.scroll_to(y=it.view.max_scroll_y)
        await it.keys("N")
        assert (it.view.cursor_key, it.said) == ("long", "4 of 4 (2 of 2 in it)")


async def test_n_goes_on_within_a_long_entry_that_the_reader_has_scrolled() -> None:
    text = "\n\n".join(f"needle {number}" for number in range(40))
    async with shown([AssistantText(key="long", text=text)]) as it:
        await it.look_for("needle")
        assert it.said == "1 of 1 (40 of 40 in it)"
        await it.keys("escape")
        it.view.scroll_to(y=20)
        await it.keys("n")
        assert it.said == "1 of 1 (11 of 40 in it)", "needle 10 stands on line 20"
        it.view.scroll_to(y=60)
        await it.keys("N")
        here = int(it.said.split("(")[1].split()[0])
        assert 60 <= 2 * here <= 60 + 2 * it.view.size.height


async def test_where_the_cursor_was_moved_by_hand_the_search_goes_on_from_there() -> None:
    entries: list[Entry] = [Notice(key=f"n{number}", text=f"needle {number}") for number in range(6)]
    async with shown(entries) as it:
        await it.look_for("needle")
        await it.keys("escape", "up", "up", "up", "N")
        assert (it.view.cursor_key, it.said) == ("n1", "2 of 6")


async def test_matches_are_marked_in_the_lines_also_where_the_width_broke_them() -> None:
    text = "alpha beta gamma delta epsilon zeta eta theta iota kappa"
    async with shown([AssistantText(key="a", text=text)], size=(30, 12)) as it:
        await it.look_for("delta epsilon")
        assert "".join(marked(it.view)) in ("delta epsilon", "deltaepsilon")


async def test_nothing_found_says_so_and_an_empty_box_ends_the_search() -> None:
    async with shown(some()) as it:
        await it.look_for("zebra")
        assert it.said == "not found"
        await it.keys("enter")
        assert it.said == "not found"
        await it.keys("slash", "right", *["backspace"] * 5)
        assert it.said == "" and not it.pane.search.is_on


async def test_what_came_after_typing_is_found_by_the_next_move() -> None:
    async with shown(some()) as it:
        await it.look_for("needle")
        it.view.append(Notice(key="new", text="one more needle"))
        await it.keys("down")
        assert (it.view.cursor_key, it.said) == ("new", "5 of 5")


async def test_letters_typed_into_the_box_are_text_and_brackets_are_no_markup() -> None:
    async with shown([Notice(key="a", text="[bold] ncbwoeufR")]) as it:
        await it.look_for("[bold] ncb")
        assert it.said == "1 of 1" and it.app.posted == []


def test_a_text_is_wanted_as_written_or_as_read_in_either_case() -> None:
    text = "the **loader** reads\n`part.toml`"
    assert all(Wanted(wanted).is_in(text) for wanted in ("**LOADER**", "loader reads part.toml", "`part"))
    assert not Wanted("loader part").is_in(text)
    assert Wanted(".*").pattern.search("abc") is None


def test_occurrences_are_found_across_lines_and_counted_once() -> None:
    lines = render_markdown("one two three four five two three", 14, Look())
    found = occurrences(lines, Wanted("two three").pattern)
    assert len(found.lines) == 2
    pieces = [
        "".join(lines[n].text[s:e] for n in sorted(found.spans) for s, e, w in found.spans[n] if w == i) for i in (0, 1)
    ]
    assert [piece.replace(" ", "") for piece in pieces] == ["twothree", "twothree"]


def count_of(chat: Chat) -> str:
    return str(chat.main.query_one(SearchBar).query_one("#search-count").render())


async def test_matches_that_are_not_loaded_are_counted_and_loaded_when_they_are_reached(core_home: CoreHome) -> None:
    core = await core_home.open()
    session_id = await long_session(core.database, 300)
    async with chat_in(core_home, session=str(session_id)) as chat:
        assert len(chat.main.conversation.entries) < 200
        await chat.pilot.press("ctrl+f", *"step", "space", *"299")
        await chat.until(lambda: count_of(chat) == "1 of 1")
        await chat.pilot.press("ctrl+f", *"question", "space", *"7")
        await chat.until(lambda: count_of(chat).endswith("11"), "question 7 and 70 to 79")
        await chat.pilot.press("enter")
        await chat.shows("question 79")
        await chat.until(lambda: count_of(chat) == "11 of 11")
        await chat.pilot.press(*["N"] * 10)
        await chat.until(lambda: count_of(chat) == "1 of 11")
        key = chat.main.conversation.cursor_key
        assert key is not None and chat.main.conversation.entry(key).plain() == "question 7"
        keys = [entry.key for entry in chat.main.conversation.entries]
        assert len(keys) == len(set(keys))


async def test_ctrl_f_searches_from_the_composer_and_keeps_what_is_written(core_home: CoreHome) -> None:
    async with chat_in(core_home, size=(80, 24)) as chat:
        await chat.pilot.press(*"draft", "ctrl+f", *"zz")
        await chat.until(lambda: count_of(chat) == "not found")
        assert chat.main.composer.text == "draft"
        await chat.pilot.press("escape", "escape")
        assert not chat.main.query_one(SearchBar).is_open and not chat.main.composer.has_focus
        await chat.pilot.press("escape")
        assert chat.main.composer.has_focus


async def test_the_search_goes_on_in_the_session_that_is_opened(core_home: CoreHome) -> None:
    core = await core_home.open()
    one = await long_session(core.database, 2)
    two = await long_session(core.database, 5)
    async with chat_in(core_home, session=str(one)) as chat:
        await chat.pilot.press("ctrl+f", *"question")
        await chat.until(lambda: count_of(chat) == "2 of 2")
        await chat.control.open(two)
        await chat.until(lambda: count_of(chat) == "5 of 5")
