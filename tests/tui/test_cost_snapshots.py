"""Pictures of the cost pane and of the full-screen view: each layer, wide characters, budgets near and at their end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable

from cos.agent.errors import CosError
from cos.tui.cost_keeper import CostKeeper
from cos.tui.screens.cost import CostScreen
from cos.tui.widgets.approvals_pane import ApprovalsPane
from tests.tui.fixed_bill import SHOWN, TODAY, FixedBill, figures
from tests.tui.picture import NOW, Picture, numbered

Snap = Callable[..., bool]
SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture(autouse=True)
def fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cos.tui.wording.now", lambda: NOW)
    monkeypatch.setenv("TZ", "UTC")


class Costs(Picture):
    cost = SHOWN


class Unpriced(Picture):
    assert SHOWN.figures is not None
    unknown = figures(unpriced=4)
    cost = replace(
        SHOWN,
        figures=replace(
            SHOWN.figures,
            today=replace(TODAY, groups=(), total=unknown),
            budgets=(),
            session=replace(SHOWN.figures.session, own=unknown, with_children=unknown),  # type: ignore[type-var]
        ),
        trouble="the database does not answer",
    )


async def settled(pilot: Pilot[None]) -> None:
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def over(pilot: Pilot[None]) -> None:
    """The right column; below 100 columns it lies over the conversation."""
    await settled(pilot)
    if pilot.app.size.width < 100:
        await pilot.press("f4")
        await settled(pilot)
        while not pilot.app.query_one(ApprovalsPane).arming.is_armed:
            await pilot.pause(0.02)


@pytest.mark.parametrize("size", [*SIZES, (100, 30)])
def test_the_cost_pane(snap_compare: Snap, size: tuple[int, int]) -> None:
    assert snap_compare(Costs(), terminal_size=size, run_before=over)


def test_the_cost_pane_without_prices_and_with_trouble(snap_compare: Snap) -> None:
    assert snap_compare(Unpriced(), terminal_size=(120, 40), run_before=over)


def view(*keys: str, bill: FixedBill | None = None) -> Callable[[Pilot[None]], Awaitable[None]]:
    async def go(pilot: Pilot[None]) -> None:
        await settled(pilot)
        given = bill or FixedBill()
        keeper = CostKeeper(given, lambda: numbered(1), lambda: None)
        await pilot.app.push_screen(CostScreen(given, keeper, numbered(1)))
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
        assert pilot.app.screen.query_one(DataTable).has_focus

    return go


@pytest.mark.parametrize("size", SIZES)
def test_the_view_by_tag_key(snap_compare: Snap, size: tuple[int, int]) -> None:
    assert snap_compare(Picture(), terminal_size=size, run_before=view())


@pytest.mark.parametrize("size", SIZES)
def test_the_calls_of_a_session(snap_compare: Snap, size: tuple[int, int]) -> None:
    assert snap_compare(Picture(), terminal_size=size, run_before=view("enter", "enter"))


def test_the_sessions_of_a_group(snap_compare: Snap) -> None:
    assert snap_compare(Picture(), terminal_size=(80, 24), run_before=view("enter"))


def test_budgets(snap_compare: Snap) -> None:
    assert snap_compare(Picture(), terminal_size=(80, 24), run_before=view("7"))


def test_a_failed_read_is_a_sentence(snap_compare: Snap) -> None:
    class Broken(FixedBill):
        async def calls(self, session_id: object) -> list[object]:  # type: ignore[override]
            raise CosError("the database does not answer; see cos doctor")

    assert snap_compare(Picture(), terminal_size=(80, 24), run_before=view("enter", "enter", bill=Broken()))
