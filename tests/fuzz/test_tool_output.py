"""Any bytes that a command prints: as the model, the app, an export and the page get them, live and from the tables."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cos.agent.events import ToolOutput, TurnCompleted, TurnEvent
from cos.agent.messages import ToolResultMessage
from cos.agent.providers.anthropic_wire import request_body
from cos.agent.providers.scripted import called, said
from cos.agent.records import TurnStatus
from cos.agent.text import visible
from cos.core.export import Format, export_session
from cos.core.inbound import Inbound
from cos.core.live import PluginEvent
from cos.plugins.workspace.output import RESULT_BYTES
from cos.tui.conversation import Conversation
from cos.tui.history import entries_of
from cos.tui.live_events import apply_event
from cos.tui.transcript import Entry, ToolCall
from tests.fuzz.making import texts, tries
from tests.tui.test_transcript_rendering import LOOK, assert_sound

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.tools import Json
    from tests.fix_home import CoreHome
    from tests.web.fix_dashboard import Served

AUTO = '[approvals]\nmode = "auto"\n'
SEQUENCES = (
    b"\x1b[31mred\x1b[0m", b"\x1b]52;c;aGk=\x07", b"\x1bP1$r\x1b\\", b"\x1b[2J\x1b[H", b"\x1b[?1049h", b"\x9b2J",
    b"\xc2\x9b2J", b"\r over", b"\b\b\b", b"\x7f", b"\x00", b"\x00" * 9_000, b"\xed\xa0\x80", b"\xff\xfe", b"\xf0\x9f",
    b"\xe2\x80\xaetxt", b"\xe2\x80\xa8", b"\x89PNG\r\n\x1a\n", b"%PDF-1.4", b"\n" * 700, b"x" * 30_000, b"\x1b",
    "漢".encode() * 9_000, "e\u0301".encode() * 200, b"```\n", b"<script>x</script>", b'{"a": "', b"line\n" * 3_000,
)  # fmt: skip
outputs = st.lists(
    st.one_of(
        st.sampled_from(SEQUENCES),
        st.binary(max_size=40),
        texts.map(lambda text: text.encode("utf-8", "surrogatepass")),
    ),
    max_size=6,
).map(b"".join)  # fmt: skip


@tries(20)
@given(printed=outputs)
async def test_any_output_of_a_command(
    dashboard: Served, core_home: CoreHome, caplog: pytest.LogCaptureFixture, printed: bytes
) -> None:
    core_home.write_profile("home", 'provider = "mock"\n', AUTO)
    (core_home.folder / "workspaces" / "home" / "out").write_bytes(printed)
    dashboard.model.add(called(("c", "terminal", {"command": "cat out"})), said("done"))
    session_id, live, told = await _turn(dashboard)

    request = dashboard.model.requests[-1]
    (result,) = [message for message in request.messages if isinstance(message, ToolResultMessage)]
    json.dumps(request_body(request), ensure_ascii=False).encode()
    fields = json.loads(result.content)
    _nothing_is_dropped_silently(fields, printed)
    assert told == _text(printed) or told.endswith(("binary output, not shown live]\n", "is not shown live]\n"))

    stored = entries_of(await dashboard.core.sessions.transcript(session_id))
    for entries in (stored, live):
        _sound(entries)
    assert await _exported(dashboard, session_id) == result.content
    status, page = await dashboard.get(f"/api/sessions/{session_id}/messages")
    assert status == 200
    assert [one["content"] for one in page["messages"] if one["role"] == "tool_result"] == [result.content]
    bad = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info]
    caplog.clear()
    assert bad == []


async def _turn(dashboard: Served) -> tuple[UUID, list[Entry], str]:
    """The session of a turn to its end, what the app shows of it while it runs, and the live output."""
    told = ""
    with dashboard.core.feed.subscribe() as events:
        accepted = await dashboard.core.dispatcher.dispatch(Inbound(text="go", profile_id="home", source="cli"))
        assert accepted.session_id is not None
        conversation = Conversation(accepted.session_id)
        async with asyncio.timeout(60):
            async for live in events:
                event = live.event
                if (
                    not isinstance(event, TurnEvent)
                    or isinstance(event, PluginEvent)
                    or event.turn.turn_id != accepted.turn_id
                ):
                    continue
                apply_event(conversation, event)
                told += event.text if isinstance(event, ToolOutput) else ""
                if isinstance(event, TurnCompleted):
                    assert event.status is TurnStatus.COMPLETED, event.error
                    break
    return accepted.session_id, conversation.entries, told


def _nothing_is_dropped_silently(fields: Json, printed: bytes) -> None:
    output, missing = fields["output"], fields.get("truncated", 0)
    if not missing:
        assert output == _text(printed)
    elif output.startswith("[binary output not shown"):
        assert f"{len(printed):,} bytes" in output or missing == len(printed)
    else:
        assert f"{missing:,} bytes" in output
        assert missing >= len(printed) - RESULT_BYTES > 0


def _text(printed: bytes) -> str:
    return printed.decode("utf-8", "replace").replace("\0", "\ufffd")


def _sound(entries: list[Entry]) -> None:
    """All that may be drawn, and what `plain` gives to a copy and to a file."""
    (call,) = [entry for entry in entries if isinstance(entry, ToolCall)]
    assert call.state == "ok"
    for folded in (True, False, None):
        call.change(folded=folded)
        for width in (80, 7):
            assert_sound(call.lines(width, LOOK), width)
    assert visible(call.plain()) == call.plain()


async def _exported(dashboard: Served, session_id: UUID) -> str:
    """The result as the JSON export has it; both forms may be printed on a terminal."""
    forms: tuple[Format, Format] = ("markdown", "json")
    for form in forms:
        written: list[str] = []
        await export_session(dashboard.core.exports, session_id, form, written.append)
        text = "".join(written)
        assert visible(text) == text, form
        text.encode()
    messages = json.loads(text)["messages"]
    (content,) = [one["message"]["content"] for one in messages if one["message"]["role"] == "tool_result"]
    return str(content)
