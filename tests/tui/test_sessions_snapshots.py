"""Pictures of the sessions pane: every state, a filter with an error, children, dialogs, and the look at a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from cos.agent.records import ContextMeter, TurnStatus
from cos.core.session_edits import Doomed, DoomedSession
from cos.tui.screens.main import MainScreen
from cos.tui.screens.peek import Peek
from cos.tui.screens.session_delete import SessionDelete
from cos.tui.screens.session_tags import SessionTags
from cos.tui.screens.session_title import SessionTitle
from cos.tui.session_activity import Activity
from cos.tui.transcript.answer import AssistantText
from cos.tui.transcript.entries import UserMessage
from cos.tui.transcript.view import Transcript
from cos.tui.widgets.approval_card import Card
from tests.tui.picture import CARDS, NOW, Picture, numbered, row

Snap = Callable[..., bool]
SIZES = [(80, 24), (120, 40), (200, 60)]


def context(used: int) -> dict[str, Any]:
    return {"context": ContextMeter(model="m", used=used, window=200_000)}


def waits(minutes: int, kind: str, count: int = 1) -> dict[str, Any]:
    return {"waiting": count, "waiting_since": NOW - timedelta(minutes=minutes), "waiting_kind": kind}


STATES = [
    row(1, "fix the retry", TurnStatus.RUNNING, **waits(3, "tool_call", 2), **context(130_000), children=2),
    row(2, "which colour?", TurnStatus.RUNNING, **waits(1, "question"), **context(180_000)),
    row(3, "weekly summary", TurnStatus.COMPLETED, minutes=2, is_unseen=True),
    row(4, "nightly build", TurnStatus.FAILED, minutes=9, is_unseen=True, context=None),
    row(5, "docs sweep", TurnStatus.RUNNING),
    row(6, "昨天的部署脚本报错问题 👩‍👩‍👧‍👦 again", TurnStatus.RUNNING, queued=1),
    row(7, "run by another process", TurnStatus.RUNNING, tags=()),
    row(8, "overloaded", TurnStatus.RUNNING),
    row(9, "two to go", TurnStatus.COMPLETED, minutes=20, queued=2),
    row(10, "paused", TurnStatus.CANCELLED, minutes=30, queued=1, queue_paused=True),
    row(11, "[bold]not markup[/]", TurnStatus.FAILED, minutes=50),
    row(12, "cut off", TurnStatus.INTERRUPTED, minutes=400),
    row(13, "stopped", TurnStatus.CANCELLED, minutes=2000),
    row(14, "old idea", TurnStatus.COMPLETED, minutes=9000, tags=("client:acme", "ticket:1234", "area:home")),
    row(15, None, None, minutes=90000, context=None, is_archived=True),
]
CHILDREN = [
    replace(row(21, "read the client", TurnStatus.RUNNING, **waits(3, "tool_call")), parent_session_id=numbered(1)),
    replace(row(22, "write the tests", TurnStatus.COMPLETED, minutes=1), parent_session_id=numbered(1)),
]


def doomed(number: int, title: str, turns: int, messages: int, parent: UUID | None = None) -> DoomedSession:
    return DoomedSession(
        id=numbered(number), profile_id="home", title=title, parent_session_id=parent, turns=turns, messages=messages,
        is_running=False,
    )  # fmt: skip


DOOM = Doomed(
    named=(doomed(1, "fix the retry", 10, 1_200),),
    children=(
        doomed(2, "read the client", 1, 2, numbered(1)), doomed(3, "write the tests", 1, 2, numbered(1)),
    ),
    forks_kept=0,
)  # fmt: skip


class Look:
    """A session to look at."""

    heading = "! waiting for approval 3m (2) · fix the retry  #client:acme"

    def cards(self) -> list[Card]:
        return CARDS

    async def answer(self, approval_id: UUID, answer: str) -> None:
        raise NotImplementedError

    async def load(self, view: Transcript) -> None:
        view.set_entries(
            [
                UserMessage(key="u", text="make the retry configurable"),
                AssistantText(key="a", text="I change the client and run its **tests**:\n\n- `RETRIES` first"),
            ]
        )

    def hide(self) -> None: ...

    async def load_older(self) -> None: ...

    async def decide(self, approval_ids: Sequence[UUID], decision: str) -> None: ...

    async def open_panel(self, panel: str, card: Card, pane: object) -> None: ...

    async def reply(self, text: str, back: Callable[[str], bool]) -> None: ...


@pytest.fixture(autouse=True)
def fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cos.tui.wording.now", lambda: NOW)
    monkeypatch.setenv("TZ", "UTC")


async def show_states(pilot: Pilot[None]) -> MainScreen:
    """All states in the pane, which has the focus; one parent is unfolded."""
    await pilot.pause()
    screen = pilot.app.screen
    assert isinstance(screen, MainScreen)
    lines = screen.sessions.lines
    for number, activity in {
        5: Activity("tool", NOW - timedelta(seconds=12), "terminal"),
        6: Activity("thinking", NOW - timedelta(minutes=4)),
        8: Activity("retrying", NOW - timedelta(seconds=3)),
    }.items():
        lines.activities._now[numbered(number)] = activity
    with lines.changing():
        lines.rows.begin(STATES, is_nested=True)
        lines.rows.expand(numbered(1), CHILDREN)
    screen.sessions.count()
    await pilot.press("f2", "down")
    screen.sessions.filter.cursor_blink = False
    await pilot.pause()
    return screen


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
def test_every_state(snap_compare: Snap, size: tuple[int, int], theme: str) -> None:
    async def go(pilot: Pilot[None]) -> None:
        await show_states(pilot)
        pilot.app.theme = theme
        await pilot.pause()
        await pilot.pause()

    assert snap_compare(Picture(), terminal_size=size, run_before=go)


@pytest.mark.parametrize("size", SIZES[:2], ids=str)
def test_a_filter_that_means_nothing(snap_compare: Snap, size: tuple[int, int]) -> None:
    async def go(pilot: Pilot[None]) -> None:
        screen = await show_states(pilot)
        await pilot.press("slash", *"state:wating")
        screen.sessions.say("state:wating names no state; did you mean state:waiting?")
        await pilot.pause()

    assert snap_compare(Picture(), terminal_size=size, run_before=go)


async def nothing(*_: object) -> None: ...


DIALOGS: dict[str, Callable[[], Screen[Any]]] = {
    "title": lambda: SessionTitle("fix the retry", nothing),
    "tags": lambda: SessionTags("fix the retry", ["client:acme"], nothing),
    "delete": lambda: SessionDelete(DOOM, nothing),
    "peek": lambda: Peek(Look(), arm_seconds=3600.0),
}


@pytest.mark.parametrize("size", SIZES[:2], ids=str)
@pytest.mark.parametrize("dialog", DIALOGS)
def test_dialogs(snap_compare: Snap, size: tuple[int, int], dialog: str) -> None:
    async def go(pilot: Pilot[None]) -> None:
        await show_states(pilot)
        screen = DIALOGS[dialog]()
        await pilot.app.push_screen(screen)
        for line in screen.query(Input):
            line.cursor_blink = False
        await pilot.pause()
        await pilot.pause()

    assert snap_compare(Picture(), terminal_size=size, run_before=go)


def test_no_session_yet(snap_compare: Snap) -> None:
    async def go(pilot: Pilot[None]) -> None:
        screen = await show_states(pilot)
        with screen.sessions.lines.changing():
            screen.sessions.lines.rows.begin([], is_nested=True)
        screen.sessions.lines.empty_text = "No sessions yet. Your first message begins one."
        screen.sessions.count()
        await pilot.pause()

    assert snap_compare(Picture(), terminal_size=(120, 40), run_before=go)
