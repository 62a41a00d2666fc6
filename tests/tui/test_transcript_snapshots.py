"""How the conversation looks, compared with stored pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cos.tui.transcript import Notice, Transcript
from cos.tui.widgets.search_bar import SearchBar
from tests.tui.test_conversation_search import PaneDemo as SearchDemo
from tests.tui.transcript_demo import TranscriptDemo, conversation

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
@pytest.mark.parametrize("keys", [[], ["home"], ["pageup"]], ids=["end", "start", "between"])
def test_the_conversation(snap_compare: Callable[..., bool], size: tuple[int, int], keys: list[str]) -> None:
    assert snap_compare(TranscriptDemo(), terminal_size=size, press=keys)


def test_the_conversation_in_a_light_theme_with_the_cursor_on_a_call(snap_compare: Callable[..., bool]) -> None:
    async def light(pilot: Pilot[None]) -> None:
        pilot.app.theme = "textual-light"
        await pilot.press("up", "up", "up")

    assert snap_compare(TranscriptDemo(), terminal_size=(120, 40), run_before=light)


def test_the_conversation_without_colour(snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(TranscriptDemo(), terminal_size=(80, 24))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_a_search(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    assert snap_compare(SearchDemo(conversation()), terminal_size=size, run_before=_look_for_columns)


def test_a_search_without_colour(snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(SearchDemo(conversation()), terminal_size=(80, 24), run_before=_look_for_columns)


async def _look_for_columns(pilot: Pilot[None]) -> None:
    pilot.app.query_one(SearchBar).box.cursor_blink = False
    await pilot.press("slash", *"column")
    await pilot.app.workers.wait_for_complete()
    await pilot.press("up")
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def test_the_hint_that_something_came_below(snap_compare: Callable[..., bool]) -> None:
    async def add_below(pilot: Pilot[None]) -> None:
        await pilot.press("pageup")
        pilot.app.query_one(Transcript).append(Notice(key="new", text="Something new."))
        await pilot.pause()

    assert snap_compare(TranscriptDemo(), terminal_size=(80, 24), run_before=add_below)
