"""Two programs on one database: what one runs, the other sees, stops and takes over."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import pytest

from tests.api_server import ApiServer, open_text, reply, silence, text
from tests.api_server.server import KEY
from tests.program.fix_program import Program


@pytest.fixture
def cos(program: Program, api: ApiServer) -> Program:
    program.use_api(api, KEY)
    return program


def begun(process: subprocess.Popen[str], until: str = "message.delta") -> str:
    """The session of a `cos ask --json`, when its turn has come so far."""
    assert process.stdout is not None
    event = json.loads(process.stdout.readline())
    while event["type"] != until:
        event = json.loads(process.stdout.readline())
    session: str = event["session_id"]
    return session


def test_a_reply_grows_in_the_app_of_another_process_which_stops_it(cos: Program, api: ApiServer) -> None:
    words = " ".join(f"w{number}." for number in range(60))
    api.push(reply(text(words, pieces=60, seconds_per_piece=0.2)))
    asked = cos.start("ask", "tell me", "--json")
    session = begun(asked)
    chat = cos.chat("--session", session)
    early = chat.until("tell me", "w3.", "running")
    assert "w59." not in early, "it is still being streamed"
    chat.until("w9.")
    chat.press("esc")
    chat.until("stopped", "· cancelled ·", "+ 1 call without a price")
    output, _ = asked.communicate(timeout=30)
    assert asked.returncode == 4
    assert json.loads(output.splitlines()[-1])["status"] == "cancelled"
    assert cos.rows("SELECT status FROM turns") == [("cancelled",)]
    (partial,) = cos.rows("SELECT body->>'text' FROM messages WHERE role = 'assistant'")[0]
    assert words.startswith(partial)


def test_what_is_sent_now_stops_the_turn_of_another_process(cos: Program, api: ApiServer) -> None:
    api.push(reply(open_text("I begin", pieces=1), silence()), reply(text("At once.")))
    asked = cos.start("ask", "first", "--json")
    session = begun(asked)
    chat = cos.chat("--session", session)
    chat.until("I begin")
    chat.type("stop that")
    chat.until("││ stop that")
    chat.press("ctrl+t")
    chat.until("At once.", "idle ·")
    asked.communicate(timeout=30)
    assert asked.returncode == 4
    assert cos.rows("SELECT status FROM turns ORDER BY ordinal") == [("cancelled",), ("completed",)]


def test_whoever_waits_takes_over_from_a_killed_process_at_once(cos: Program, api: ApiServer) -> None:
    api.push(reply(open_text("I begin", pieces=1), silence()), reply(text("Mine now.")))
    asked = cos.start("ask", "first", "--json")
    session = begun(asked)
    waits = cos.start("ask", "second", "--session", session)
    while not cos.rows("SELECT id FROM queued_messages"):
        assert waits.poll() is None
        time.sleep(0.02)
    asked.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    output, _ = waits.communicate(timeout=40)
    assert output == "Mine now.\n"
    assert time.monotonic() - killed < 20, "nobody waits for the minute of the sweep"
    assert cos.rows("SELECT status FROM turns ORDER BY ordinal") == [("interrupted",), ("completed",)]
