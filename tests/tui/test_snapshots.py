"""Pictures of the app in its visible states, at the sizes that people use."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from cos.tui.screens.help import Help
from cos.tui.screens.main import MainScreen
from tests.tui.picture import NOW, Picture

Snap = Callable[..., bool]
SIZES = [(80, 24), (120, 40)]


@pytest.fixture(autouse=True)
def fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cos.tui.wording.now", lambda: NOW)
    monkeypatch.setenv("TZ", "UTC")


async def settled(pilot: Pilot[None]) -> None:
    await pilot.pause()
    await pilot.pause()


async def approvals(pilot: Pilot[None]) -> None:
    """The approvals with the focus, their card armed."""
    await settled(pilot)
    await pilot.press("f4")
    screen = pilot.app.screen
    assert isinstance(screen, MainScreen)
    while not screen.approvals.arming.is_armed:
        await pilot.pause(0.05)


@pytest.mark.parametrize("size", [*SIZES, (200, 60)])
def test_conversation_with_requests_that_wait(snap_compare: Snap, size: tuple[int, int]) -> None:
    assert snap_compare(Picture(), terminal_size=size, run_before=settled)


@pytest.mark.parametrize("size", SIZES)
def test_approvals_with_the_focus(snap_compare: Snap, size: tuple[int, int]) -> None:
    async def go(pilot: Pilot[None]) -> None:
        await approvals(pilot)
        await settled(pilot)

    assert snap_compare(Picture(), terminal_size=size, run_before=go)


def test_sessions_over_a_narrow_screen(snap_compare: Snap) -> None:
    async def go(pilot: Pilot[None]) -> None:
        await settled(pilot)
        await pilot.press("f2")
        await settled(pilot)

    assert snap_compare(Picture(), terminal_size=(80, 24), run_before=go)


@pytest.mark.parametrize("size", SIZES)
def test_help(snap_compare: Snap, size: tuple[int, int]) -> None:
    async def go(pilot: Pilot[None]) -> None:
        await settled(pilot)
        pilot.app.push_screen(Help([]))
        await settled(pilot)

    assert snap_compare(Picture(), terminal_size=size, run_before=go)


def test_too_small(snap_compare: Snap) -> None:
    assert snap_compare(Picture(), terminal_size=(38, 9), run_before=settled)


def test_light_theme(snap_compare: Snap) -> None:
    async def go(pilot: Pilot[None]) -> None:
        pilot.app.theme = "textual-light"
        await settled(pilot)

    assert snap_compare(Picture(), terminal_size=(120, 40), run_before=go)
