"""Pictures in the light theme, of what is over the main screen or has the focus there, at the sizes people use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input

from cos.tui.screens.help import Help
from tests.tui.picture import Picture
from tests.tui.test_cost_snapshots import view
from tests.tui.test_question_snapshots import picked
from tests.tui.test_sessions_snapshots import DIALOGS, SIZES, show_states
from tests.tui.test_snapshots import Snap, approvals, fixed_clock, settled

__all__ = ["fixed_clock"]
Go = Callable[[Pilot[None]], Awaitable[None]]


async def help_screen(pilot: Pilot[None]) -> None:
    await settled(pilot)
    await pilot.app.push_screen(Help([]))


async def palette(pilot: Pilot[None]) -> None:
    await settled(pilot)
    await pilot.press("ctrl+p")
    screen = pilot.app.screen
    assert isinstance(screen, CommandPalette)
    screen.query_one(Input).cursor_blink = False
    while not screen.query_one("CommandList").option_count:  # type: ignore[attr-defined]
        await pilot.pause(0.02)
    await pilot.app.workers.wait_for_complete()


def dialog(name: str) -> Go:
    async def go(pilot: Pilot[None]) -> None:
        await show_states(pilot)
        screen = DIALOGS[name]()
        await pilot.app.push_screen(screen)
        for line in screen.query(Input):
            line.cursor_blink = False

    return go


STATES: dict[str, Go] = {
    "approvals": approvals,
    "question": picked,
    "cost": view(),
    "help": help_screen,
    "palette": palette,
    **{name: dialog(name) for name in DIALOGS},
}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("state", STATES)
def test_light(snap_compare: Snap, state: str, size: tuple[int, int]) -> None:
    async def go(pilot: Pilot[None]) -> None:
        pilot.app.theme = "textual-light"
        await STATES[state](pilot)
        await settled(pilot)

    assert snap_compare(Picture(), terminal_size=size, run_before=go)
