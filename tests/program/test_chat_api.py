"""`cos chat` against the local API server: what the user sees, and what the model is sent."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time

import psutil
import pytest

from tests.api_server import ApiServer, drop, http_error, open_text, reply, silence, text, tool
from tests.api_server.server import KEY
from tests.program.fix_program import Program
from tests.program.terminal import Terminal

READY = "F6 another profile"
ESCAPES = r"printf '\033[?1049h\033[?1003h\033[2J\033[31mred\033[0m\007\r over'"


def _unfold_last_call(chat: Terminal) -> None:
    chat.press("f3")
    chat.until("Fold", gone="New line")
    chat.type("\x1b[A\x1b[A ")
    chat.until("▾ ✓ ok", "red")


@pytest.fixture
def cos(program: Program, api: ApiServer) -> Program:
    program.use_api(api, KEY)
    return program


def _allow(chat: Terminal) -> None:
    chat.until("1 waiting · F4")
    chat.press("f4")
    chat.until("y allow once")
    chat.type("y")


def test_whole_conversation_is_shown_and_sent_append_only(cos: Program, api: ApiServer) -> None:
    workspace = cos.home / "workspaces" / "home"
    workspace.mkdir(parents=True)
    for name in ("one", "two"):
        (workspace / f"{name}.txt").write_text(f"content of {name}\n")
    chat = cos.chat()
    chat.until(READY)

    both = (tool("read_file", {"path": "one.txt"}), tool("read_file", {"path": "two.txt"}))
    api.push(reply(text("I read both."), *both), reply(text("Both are short.")))
    chat.say("read the files")
    assert chat.until("Both are short.", "idle ·").count("✓ ok") == 2

    api.push(http_error(529, "overloaded_error", "Overloaded", headers={"retry-after": "1"}), reply(text("Now I can.")))
    chat.say("busy?")
    chat.until("is overloaded", "Trying again in")
    chat.until("Now I can.", "idle ·")

    api.push(reply(open_text("It begins well"), drop()), reply(text("It begins well and ends well.")))
    chat.say("tell a story")
    assert chat.until("It begins well and ends well.", "idle ·").count("It begins well") == 1

    api.push(reply(open_text("A long answer"), silence()), reply(text("Shorter.")))
    chat.say("at length")
    chat.until("A long answer")
    chat.press("esc")
    chat.until("cancelled ·")
    chat.say("shorter please")
    chat.until("Shorter.", "idle ·")

    assert [request.refusal for request in api.requests] == [None] * len(api.requests)
    for before, after in zip(api.requests, api.requests[1:], strict=False):
        assert after.messages[: len(before.messages)] == before.messages
        assert after.body["system"] == before.body["system"]
        assert after.body["tools"] == before.body["tools"]


def test_kill_while_a_tool_runs_loses_nothing_and_the_session_goes_on(cos: Program, api: ApiServer) -> None:
    """H-001"""
    chat = cos.chat()
    chat.until(READY)
    api.push(reply(text("I wait a minute."), tool("terminal", {"command": "sleep 61.5"}, id="toolu_sleep")))
    chat.say("wait please")
    _allow(chat)
    chat.until("● running terminal")
    sleeping = [child.pid for child in psutil.Process(chat.pid).children(recursive=True)]
    chat.signal(signal.SIGKILL)
    chat.until_end()
    for pid in sleeping:
        _kill(pid)

    again = cos.chat("--continue")
    again.until("wait please", "I wait a minute.", "? unknown terminal", "sleep 61.5", "interrupted")
    api.push(reply(text("Going on.")), reply(text("And on.")))
    again.say("go on")
    again.until("Going on.", "idle ·")
    again.say("once more")
    again.until("And on.", "idle ·")

    for request in api.requests[1:]:
        results = re.findall(r'"tool_use_id": "toolu_sleep"', json.dumps(request.messages))
        assert len(results) == 1
    content = api.requests[1].messages[2]["content"]
    assert content[0]["type"] == "tool_result"
    assert content[0]["is_error"] is True
    assert "outcome unknown" in json.dumps(content[0])
    assert content[-1]["text"] == "go on"
    assert cos.rows("SELECT status FROM turns ORDER BY ordinal") == [("interrupted",), ("completed",), ("completed",)]
    assert cos.rows("SELECT status FROM tool_calls") == [("unknown",)]


def test_kill_while_a_reply_streams_keeps_what_was_shown_and_what_was_queued(cos: Program, api: ApiServer) -> None:
    chat = cos.chat()
    chat.until(READY)
    api.push(reply(open_text("It was a dark and stormy"), silence()))
    chat.say("tell a story")
    chat.until("It was a dark and stormy")
    chat.say("then another")
    chat.until("for the running turn to end")
    deadline = time.monotonic() + 20
    while cos.rows("SELECT count(DISTINCT turn_id) FROM reply_pieces") != [(1,)]:
        assert time.monotonic() < deadline
    chat.signal(signal.SIGKILL)
    chat.until_end()

    again = cos.chat("--continue")
    shown = again.until(
        "It was a dark and stormy", "the program ended", "then another", "paused until your next message"
    )
    assert "for the running turn to end" not in shown
    api.push(reply(text("Another.")), reply(text("More.")))
    again.say("go on")
    again.until("Another.", "More.", "idle ·")
    said = [message["content"][-1].get("text") for message in api.requests[-1].messages]
    assert said == ["tell a story", "It was a dark and stormy", "then another", "Another.", "go on"]


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_output_of_a_tool_never_controls_the_terminal(cos: Program, api: ApiServer) -> None:
    """H-042"""
    chat = cos.chat()
    chat.until(READY)
    api.push(reply(tool("terminal", {"command": ESCAPES})), reply(text("Done.\x1b[?1003l\x1b]0;owned\x07")))
    chat.say("print it")
    before = len(chat.raw)
    chat.until("✓ ok", "Done.", "idle ·")
    _unfold_last_call(chat)
    live = chat.raw[before:]
    again = cos.chat("--continue")
    again.until("Done.", "✓ ok")
    _unfold_last_call(again)
    resumed = again.raw
    for written in (live, resumed[resumed.index(b"Done.") :]):
        # The title that cos itself sets ends with BEL.
        written = re.sub(rb"\x1b\][02];[^\x07\x1b]*\x07", b"", written.replace(b"owned\x07", b"<leak>\x1b[2J"))
        assert not re.search(rb"\x1b\[\?1049|\x1b\[\?1003|\x1b\[2J|\x07", written)
    assert "Sessions" in again.text
