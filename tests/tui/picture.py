"""The main screen with fixed content, without a core: what the snapshots are pictures of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from textual.app import App

from cos.agent.events import Usage
from cos.agent.records import ContextMeter, TurnStatus
from cos.core.sessions import SessionRow
from cos.tui.cost_keeper import CostShown
from cos.tui.light import LIGHT
from cos.tui.preferences import Preferences
from cos.tui.screens.main import MainScreen
from cos.tui.timing import Timing
from cos.tui.transcript.answer import AssistantText
from cos.tui.transcript.calls import ToolCall
from cos.tui.transcript.entries import Notice, Thinking, TurnHeader, UserMessage
from cos.tui.widgets.approval_card import Card
from cos.tui.widgets.status_line import Status

NOW = datetime(2026, 11, 30, 14, 2, tzinfo=UTC)
DIFF = """--- a/client.py
+++ b/client.py
@@ -1,3 +1,4 @@
 import time
-RETRIES = 3
+RETRIES = int(os.environ.get("RETRIES", "3"))
+DELAY = 0.5
"""


def numbered(number: int) -> UUID:
    return UUID(int=number)


def row(number: int, title: str | None, status: TurnStatus | None, *, minutes: int = 0, **changes: Any) -> SessionRow:
    """A session with its newest activity so long ago; `changes` are fields of the row."""
    ended = None if status in (None, TurnStatus.RUNNING) else NOW - timedelta(minutes=minutes)
    fields: dict[str, Any] = {
        "id": numbered(number), "profile_id": "work", "source": "cli", "title": title,
        "tags": ("client:acme",),
        "parent_session_id": None, "root_session_id": numbered(number), "created_at": NOW,
        "last_activity_at": NOW - timedelta(minutes=minutes), "queue_paused": False, "is_archived": False,
        "context": ContextMeter(model="m", used=31_000, window=200_000), "model": None, "turn_status": status,
        "turn_started_at": NOW - timedelta(seconds=42, minutes=minutes), "turn_completed_at": ended,
        "is_unseen": False, "waiting": 0, "waiting_since": None, "waiting_kind": None, "queued": 0, "children": 0,
    }  # fmt: skip
    return SessionRow(**fields | changes)


def card(number: int, tool: str, detail: str, *, diff: str | None = None) -> Card:
    return Card(
        id=numbered(100 + number), session_id=numbered(1), turn_id=numbered(50 + number),
        session_title="fix the retry", root_title=None, profile_id="work", tags=("client:acme",), tool=tool,
        title="client.py (+2 -1)" if diff else detail, detail=detail, diff=diff,
        reason="it changes files" if diff else "it runs a program with your rights",
        risk="write" if diff else "execute", cwd="/home/ada/acme",
        requested_at=NOW - timedelta(seconds=65), expires_at=NOW + timedelta(seconds=235),
    )  # fmt: skip


WAITS: dict[str, Any] = {"waiting": 2, "waiting_since": NOW - timedelta(seconds=65), "waiting_kind": "tool_call"}
ROWS = [
    row(1, "fix the retry", TurnStatus.RUNNING, **WAITS),
    row(2, "昨天的部署脚本报错问题 👩‍👩‍👧‍👦", TurnStatus.RUNNING),
    row(3, "[bold]not markup[/]", TurnStatus.FAILED, minutes=12),
    row(4, "summary of the week", TurnStatus.COMPLETED, minutes=180),
    row(5, "cut off", TurnStatus.INTERRUPTED, minutes=2000),
]
CARDS = [card(1, "patch", "", diff=DIFF), card(2, "terminal", "pytest -q tests/client && git push\u202e origin main")]


class Picture(App[None]):
    """Shows what it holds; nothing behind it moves."""

    cost = CostShown(is_on=False, tokens=Usage(input_tokens=12_300, output_tokens=450))
    CSS_PATH = "../../cos/tui/screens/main.tcss"

    def get_default_screen(self) -> MainScreen:
        return MainScreen(Timing(), Preferences())

    def __init__(self) -> None:
        super().__init__()
        self.register_theme(LIGHT)

    def on_ready(self) -> None:
        screen = self.screen
        assert isinstance(screen, MainScreen)
        lines = screen.sessions.lines
        with lines.changing():
            lines.rows.begin(ROWS, is_nested=True)
        lines.mark_open(numbered(1))
        screen.sessions.count()
        screen.approvals.show(CARDS)
        screen.show_title("fix the retry  #client:acme")
        screen.cost.show(self.cost)
        screen.status_line.status = Status(
            profile="work", tags=("client:acme",), model="claude-sonnet-5-5", context="ctx 31k (3%)",
            used="12.3k in · 450 out tokens", cost="today $4.1200 +?", note="",
        )  # fmt: skip
        screen.composer.cursor_blink = False
        screen.conversation.set_entries(
            [
                TurnHeader(key="t", text="2026-11-30 14:01 · running for 42s"),
                UserMessage(key="u", text="make the retry configurable"),
                Thinking(key="k", text="Two constants, one place."),
                AssistantText(
                    key="a", text="I change the client and run its **tests**:\n\n- `RETRIES` from the environment"
                ),
                ToolCall(key="c1", name="read_file", title="client.py", state="ok", duration_seconds=0.1, detail="x"),
                ToolCall(
                    key="c2", name="terminal", title="$ rm -rf build", state="denied", note="by you (app): keep it"
                ),
                ToolCall(key="c3", name="patch", title="client.py (+2 -1)", state="waiting", detail="x"),
                Notice(key="n", level="warning", text="overloaded. Trying again in 3 s (attempt 2 of 5); Esc stops it"),
            ]
        )
