"""An export holds the whole stored history, in order, whatever its length and whatever became of its turns."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from cos.agent.events import Usage
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage
from cos.agent.records import ApprovalAnswer, ToolCallRecord, ToolCallStatus, TurnStatus
from cos.agent.tags import merge_tags
from cos.core.errors import SessionError
from cos.core.export import Format, export_session
from cos.core.export_file import ExportError, export_to_file
from cos.core.postgres.database import Database
from cos.core.postgres.exports import PAGE, Exports
from cos.core.postgres.journal import PostgresJournal
from cos.core.whole_file import FileIsThereError

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


async def begun(database: Database) -> tuple[PostgresJournal, TurnInfo]:
    journal = PostgresJournal(database)
    new = NewSession(profile_id="home", source="cli", title="<b>Trip</b>", tags=merge_tags(["client:acme"]))
    turn = TurnInfo(profile_id="home", session_id=await journal.create_session(new), turn_id=new_id())
    await journal.start_turn(turn, UserMessage(text="go"))
    return journal, turn


async def conversation(database: Database) -> UUID:
    """A turn with a refused call, a cut reply and an end, and an undone turn without known usage."""
    journal, turn = await begun(database)
    call = ToolCall(id="c1", name="terminal", args={"z": 1.50, "command": "rm x"})
    await journal.append_message(turn, AssistantMessage(text="cut", partial=True), active=False)
    await journal.append_message(turn, AssistantMessage(tool_calls=[call], blocks=[THOUGHT]))
    record = ToolCallRecord(
        call_id="c1", name="terminal", args=call.args, status=ToolCallStatus.DENIED, result="Not run", is_error=True,
        approval=ApprovalAnswer(decision="denied", reason="keep it", answered_by="tui"),
    )  # fmt: skip
    await journal.record_tool_call(turn, record)
    await journal.append_message(turn, ToolResultMessage(call_id="c1", content="Not run", is_error=True))
    await journal.finish_turn(turn, TurnStatus.COMPLETED, stop_reason="end_turn", usage=Usage(output_tokens=7))
    undone = TurnInfo(profile_id="home", session_id=turn.session_id, turn_id=new_id())
    await journal.start_turn(undone, UserMessage(text="never mind"))
    await journal.finish_turn(undone, TurnStatus.FAILED, error="overloaded")
    await database.fetch(b"UPDATE turns SET undone_at = now() WHERE id = %(id)s", {"id": undone.turn_id})
    return turn.session_id


async def exported(database: Database, session_id: UUID, format: Format, **more: Any) -> str:
    written: list[str] = []
    await export_session(Exports(database), session_id, format, written.append, **more)
    return "".join(written)


async def test_json_holds_everything_and_null_for_what_is_unknown(database: Database) -> None:
    data = json.loads(await exported(database, await conversation(database), "json"))
    assert (data["format"], data["version"]) == ("cos-session", 1)
    assert (data["session"]["title"], data["session"]["tags"]) == ("<b>Trip</b>", ["client:acme"])
    assert data["session"]["archived_at"] is None and data["session"]["model"] is None
    first, second = data["turns"]
    assert (first["status"], first["stop_reason"], first["undone_at"]) == ("completed", "end_turn", None)
    assert (first["usage"]["output_tokens"], first["usage"]["input_tokens"]) == (7, None)
    assert (second["usage"], second["error"]) == (None, "overloaded")
    assert datetime.fromisoformat(second["undone_at"]).tzinfo is not None
    assert [message["active"] for message in data["messages"]] == [True, False, True, True, True]
    called = data["messages"][2]
    assert called["message"]["blocks"] == [THOUGHT]
    assert list(called["message"]["tool_calls"][0]["args"]) == ["z", "command"]
    (call,) = called["calls"]
    assert (call["status"], call["result"], call["duration_ms"]) == ("denied", "Not run", None)
    assert call["approval"]["reason"] == "keep it"
    assert {message["turn_id"] for message in data["messages"]} == {first["id"], second["id"]}


async def test_markdown_marks_what_was_cut_refused_and_undone(database: Database) -> None:
    session_id = await conversation(database)
    text = await exported(database, session_id, "markdown")
    for piece in (
        "# &lt;b&gt;Trip&lt;/b&gt;\n",
        "### Assistant, incomplete (inactive: not sent to the model) - 2",
        "### Tool call `terminal`, denied - 2",
        "The user was asked: `denied` by you (app)\n\n```text\nkeep it\n```",
        "## Turn 2: failed, undone\n",
        "- Tokens: unknown in, 7 out\n",
        "- Tokens: unknown\n",
        "```text\noverloaded\n```",
        "```markdown\nnever mind\n```",
    ):
        assert piece in text
    assert "hm" not in text and text.count("Not run") == 1
    assert "Thinking:\n\n```text\nhm\n```" in await exported(database, session_id, "markdown", thinking=True)


async def test_a_long_history_is_read_in_pages_without_a_gap(database: Database) -> None:
    journal, turn = await begun(database)
    for number in range(2 * PAGE):
        await journal.append_message(turn, AssistantMessage(text=f"line {number}"))
    for fmt in ("json", "markdown"):
        written: list[str] = []
        assert await export_session(Exports(database), turn.session_id, fmt, written.append) == 2 * PAGE + 1
        text = "".join(written)
        assert [n for n in range(2 * PAGE) if f"line {n}\n" in text or f'"line {n}"' in text] == list(range(2 * PAGE))


async def test_memory_does_not_grow_with_the_history(database: Database) -> None:
    """Thirty pages of a megabyte each."""
    _, turn = await begun(database)
    many = b"""INSERT INTO messages (id, session_id, turn_id, profile_id, ordinal, role, body)
               SELECT gen_random_uuid(), session_id, turn_id, profile_id, n, role,
                      json_build_object('role', 'user', 'text', repeat('x', 20000))
               FROM messages, generate_series(2, %(last)s) AS n"""
    await database.fetch(many, {"last": 30 * PAGE})
    size = [0]

    def write(text: str) -> None:
        size[0] += len(text)

    tracemalloc.start()
    await export_session(Exports(database), turn.session_id, "json", write)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size[0] > 30_000_000
    assert peak < 10_000_000


async def test_what_comes_after_the_beginning_is_left_out(database: Database) -> None:
    journal, turn = await begun(database)
    exports = Exports(database)
    _, newest = await exports.session(turn.session_id)
    await journal.append_message(turn, AssistantMessage(text="later"))
    pages = [messages async for messages, _ in exports.messages(turn.session_id, newest)]
    assert [message.body["text"] for page in pages for message in page] == ["go"]


async def test_a_session_that_is_gone_is_said_to_be(database: Database, tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="there is no session"):
        await exported(database, new_id(), "json")
    _, turn = await begun(database)
    pages = Exports(database).messages(turn.session_id, 5)
    await anext(pages)
    with pytest.raises(SessionError, match="was deleted while"):
        await anext(pages)
    with pytest.raises(SessionError):
        await export_to_file(Exports(database), new_id(), "json", tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


async def test_an_existing_file_stays_unless_forced(database: Database, tmp_path: Path) -> None:
    _, turn = await begun(database)
    target = tmp_path / "x.md"
    target.write_text("mine")
    with pytest.raises(FileIsThereError, match=r"x\.md exists; give another file$"):
        await export_to_file(Exports(database), turn.session_id, "markdown", target)
    assert target.read_text() == "mine"
    assert await export_to_file(Exports(database), turn.session_id, "markdown", target, force=True) == 1
    assert target.read_text().startswith("# ")
    assert target.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["x.md"]


@pytest.mark.parametrize("place", [lambda folder: folder / "no" / "x.md", lambda folder: folder])
async def test_a_file_that_cannot_be_written_is_named(
    database: Database, tmp_path: Path, place: Callable[[Path], Path]
) -> None:
    _, turn = await begun(database)
    with pytest.raises(ExportError, match=r"cannot be written: .*give another file"):
        await export_to_file(Exports(database), turn.session_id, "json", place(tmp_path), force=True)
