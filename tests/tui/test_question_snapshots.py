"""Pictures of a question that waits: with a pick, and with the line for an answer in one's own words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from cos.tui.screens.free_answer import FreeAnswer
from cos.tui.screens.main import MainScreen
from tests.tui.picture import Picture, card
from tests.tui.test_snapshots import SIZES, Snap, fixed_clock, settled

__all__ = ["fixed_clock"]
QUESTION = replace(
    card(3, "clarify", "The config has two retry limits. Which one shall stay?\n\nThe other one goes."),
    title="The config has two retry limits. Which one shall stay?", kind="question", risk="read", cwd=None,
    choices=("RETRIES in client.py", "max_retries in settings.toml 設定", "Neither: no retries at all"),
)  # fmt: skip


async def picked(pilot: Pilot[None]) -> None:
    await settled(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, MainScreen)
    screen.approvals.show([QUESTION])
    screen.show_title("fix the retry  #client:acme")
    await pilot.press("f4", "2")
    while not screen.approvals.arming.is_armed:
        await pilot.pause(0.05)
    await settled(pilot)


async def writing(pilot: Pilot[None]) -> None:
    await picked(pilot)
    pilot.app.push_screen(FreeAnswer(QUESTION, "only for reads"))
    await settled(pilot)
    pilot.app.screen.query_one(Input).cursor_blink = False
    await settled(pilot)


@pytest.mark.parametrize("size", SIZES)
def test_question_with_a_pick(snap_compare: Snap, size: tuple[int, int]) -> None:
    assert snap_compare(Picture(), terminal_size=size, run_before=picked)


@pytest.mark.parametrize("size", SIZES)
def test_question_with_an_answer_being_written(snap_compare: Snap, size: tuple[int, int]) -> None:
    assert snap_compare(Picture(), terminal_size=size, run_before=writing)
