"""Pictures of the composer with its lists, at the sizes that people use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from cos.tui.completion import CommandHint
from cos.tui.screens.main import MainScreen
from cos.tui.widgets.queue_strip import Waiting
from cos.tui.widgets.writing import Writing
from tests.tui.picture import Picture, numbered
from tests.tui.test_snapshots import SIZES, Snap, fixed_clock, settled
from tests.tui.test_writing import Earlier

__all__ = ["fixed_clock"]


class Commands:
    def commands(self) -> Sequence[CommandHint]:
        return [
            CommandHint(name="compact", arguments="[instructions]", summary="replace old messages by a summary"),
            CommandHint(name="cost", summary="what this session, this day and each tag cost"),
            CommandHint(name="commands", summary="所有命令"),
        ]


async def _ready(pilot: Pilot[None]) -> Writing:
    await settled(pilot)
    writing = pilot.app.screen.query_one(Writing)
    writing.connect(Earlier(30), Commands())
    writing.at("work", Path("/nowhere"))
    writing.composer.focus()
    return writing


async def commands(pilot: Pilot[None]) -> None:
    await _ready(pilot)
    await pilot.press(*"/co", "down")


async def search(pilot: Pilot[None]) -> None:
    writing = await _ready(pilot)
    await pilot.press(*"half a thought", "ctrl+r", *"pt 1")
    await writing.workers.wait_for_complete()


async def waiting(pilot: Pilot[None]) -> None:
    writing = await _ready(pilot)
    writing.composer.turn_runs = True
    texts = ["also update the changelog", "昨天的部署 👩‍👩‍👧‍👦 again", "[bold]not markup[/]", "the fourth"]
    rows = [Waiting(id=numbered(place), text=text) for place, text in enumerate(texts)]
    writing.queue.show([*rows, Waiting(id=numbered(9), text="shorter", mode="steer")], "for the running turn to end")
    await pilot.press("up", "up")


async def folded(pilot: Pilot[None]) -> None:
    writing = await _ready(pilot)
    writing.composer.turn_runs = True
    await pilot.press(*"see ")
    pilot.app.post_message(events.Paste("line\n" * 1_300))
    await pilot.pause()
    await pilot.press(*" please")
    writing.queue.show([Waiting(id=numbered(1), text="then run the tests")], "for the running turn to end")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("state", [commands, search, waiting, folded])
def test_composer(snap_compare: Snap, size: tuple[int, int], state: Callable[[Pilot[None]], Awaitable[None]]) -> None:
    async def go(pilot: Pilot[None]) -> None:
        await state(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, MainScreen)
        screen.composer.cursor_blink = False
        for line in screen.query(Input):
            line.cursor_blink = False
        await settled(pilot)

    assert snap_compare(Picture(), terminal_size=size, run_before=go)
