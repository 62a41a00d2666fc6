"""The composer alone: new lines, unmarked pastes, big pastes, history, wide characters."""

from __future__ import annotations

import asyncio

import pytest
from textual import events
from textual.app import App, ComposeResult

from cos.tui.burst import Burst
from cos.tui.widgets import resting_cursor
from cos.tui.widgets.composer import Composer


class Writing(App[None]):
    def __init__(self, burst_seconds: float = 0.0) -> None:
        super().__init__()
        self._burst_seconds = burst_seconds
        self.sent: list[str] = []

    def compose(self) -> ComposeResult:
        yield Composer(burst_seconds=self._burst_seconds)

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        self.sent.append(event.text)

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)


@pytest.mark.parametrize("key", ["shift+enter", "alt+enter", "ctrl+j"])
async def test_new_line_keys_H_052(key: str) -> None:
    async with (app := Writing()).run_test() as pilot:
        await pilot.press("a", key, "b")
        assert app.composer.text == "a\nb" and not app.sent
        await pilot.press("enter")
        assert app.sent == ["a\nb"]


async def test_enter_inside_a_burst_of_keys_is_a_new_line() -> None:
    async with (app := Writing(burst_seconds=3600.0)).run_test() as pilot:
        await pilot.press(*"rm x", "enter", "enter", *"ls", "enter")
        # The last Enter waits: only what follows tells whether it was pasted.
        assert app.composer.text == "rm x\n\nls" and not app.sent
        await pilot.press("x")
        assert app.composer.text == "rm x\n\nls\nx" and not app.sent


async def test_enter_after_a_burst_sends_when_nothing_follows() -> None:
    async with (app := Writing(burst_seconds=0.2)).run_test() as pilot:
        await pilot.press(*"rm x", "enter")
        while not app.sent:
            await pilot.pause(0.05)
        assert app.sent == ["rm x"]


async def test_keys_that_come_one_by_one_are_no_burst() -> None:
    async with (app := Writing(burst_seconds=0.0)).run_test() as pilot:
        await pilot.press(*"hello", "enter")
        assert app.sent == ["hello"]


async def test_a_terminal_that_marks_its_pastes_needs_no_guess() -> None:
    async with (app := Writing(burst_seconds=3600.0)).run_test() as pilot:
        app.post_message(events.Paste("pasted\n"))
        await pilot.press(*"hello", "enter")
        assert app.sent == ["pasted\nhello"]


def test_a_burst_is_faster_than_anybody_types() -> None:
    burst = Burst(0.02)
    for number in range(20):
        assert not burst.is_inside(number * 0.05)
        burst.note(number * 0.05, counts=True)
    for number in range(4):
        burst.note(2 + number * 0.001, counts=True)
    assert burst.is_inside(2.004)
    assert not burst.is_inside(2.1)


async def test_a_paste_of_a_megabyte_is_taken_whole() -> None:
    text = "x" * 79 + "\n"
    async with (app := Writing()).run_test() as pilot:
        app.post_message(events.Paste(text * 13_000))
        await pilot.pause()
        assert app.composer.text == "\U0010ff00paste 1: 1,040,000 characters, 13,000 lines\U0010ff01"
        assert app.composer.full_text == text * 13_000
        await pilot.press("enter")
        assert not app.sent and app.composer.text
        said = [note.message for note in app._notifications]
        assert said == ["This is long, about 260,000 tokens. The same key once more sends it."]
        await pilot.press("x", "enter")
        assert not app.sent
        await pilot.press("enter")
        assert len(app.sent[0]) == 1_040_001 and app.composer.text == ""


async def test_earlier_messages_come_back_and_the_draft_too() -> None:
    async with (app := Writing()).run_test() as pilot:
        await pilot.press(*"one", "enter", *"two", "enter", *"draft", "up")
        assert app.composer.text == "two"
        await pilot.press("up")
        assert app.composer.text == "one"
        await pilot.press("down", "down")
        assert app.composer.text == "draft"


async def test_blank_messages_are_not_sent() -> None:
    async with (app := Writing()).run_test() as pilot:
        await pilot.press("space", "ctrl+j", "enter")
        assert not app.sent


async def test_undo_does_not_lead_into_another_place() -> None:
    async with (app := Writing()).run_test() as pilot:
        await pilot.press(*"secret")
        app.composer.begin("draft")
        await pilot.press("ctrl+z", "ctrl+z")
        assert "secret" not in app.composer.text


async def test_a_text_that_comes_back_does_not_overwrite_a_new_one() -> None:
    async with (app := Writing()).run_test() as pilot:
        await pilot.press(*"one", "enter", *"two")
        app.composer.put_back("one")
        assert app.composer.text == "two"
        await pilot.press("up")
        assert app.composer.text == "one"


async def test_a_command_is_not_glued_to_a_text_that_came_back() -> None:
    async with (app := Writing()).run_test() as pilot:
        app.composer.put_back("delegate it")
        await pilot.press(*"/compact", "enter", "up", "up")
        assert app.sent == ["/compact"] and app.composer.text == "delegate it"
        app.composer.begin("see ")
        await pilot.press("a", *"/b", "enter")
        assert app.sent[-1] == "see a/b"
        app.composer.begin("draft", "typing")
        await pilot.press("slash")
        assert app.composer.text == "draft\ntyping/"


@pytest.mark.parametrize("key", ["ctrl+s", "ctrl+t"])
async def test_without_a_turn_the_other_ways_to_send_say_so(key: str) -> None:
    async with (app := Writing()).run_test() as pilot:
        await pilot.press("a", key)
        assert app.composer.text == "a" and not app.sent
        assert [note.message for note in app._notifications] == ["No turn runs: Enter sends."]


@pytest.mark.parametrize("text", ["かな漢", "👩‍👩‍👧‍👦", "e\u0301", "שלום abc 123", "ก็", "a\u2060b"])
async def test_text_of_any_script_is_stored_unchanged_H_050(text: str) -> None:
    async with (app := Writing()).run_test(size=(20, 10)) as pilot:
        app.post_message(events.Paste(text))
        await pilot.press("enter")
        assert app.sent == [text]


async def test_the_cursor_stands_still_and_visible_until_the_next_key() -> None:
    async with (app := Writing()).run_test() as pilot:
        app.composer.focus()

        async def blinks() -> None:
            while app.composer._cursor_visible:
                await pilot.pause(0.02)

        await blinks()
        app.composer.stand_still()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.2):  # Two blinks would be due.
                await blinks()
        await pilot.press("x")
        await blinks()


async def test_a_cursor_that_nobody_moves_comes_to_stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resting_cursor, "STILL_SECONDS", 0.01)
    still: list[bool] = []
    monkeypatch.setattr(Composer, "stand_still", lambda self: still.append(True))
    async with Writing().run_test() as pilot:
        while not still:
            await pilot.pause(0.01)
