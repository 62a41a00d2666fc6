"""A message that another process sends into the turn of `cos chat`: it arrives, and a killed process loses it not."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys

import psutil
import pytest

from tests.api_server import ApiServer, reply, text, tool
from tests.api_server.server import KEY
from tests.program.fix_program import ROOT, Program
from tests.program.terminal import Terminal

READY = "F6 another profile"


@pytest.fixture
def cos(program: Program, api: ApiServer) -> Program:
    program.use_api(api, KEY)
    return program


def _steer(cos: Program, words: str) -> None:
    command = [sys.executable, "-m", "tests.program.steering", "steer", words]
    done = subprocess.run(command, env=cos.environment(), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _run(chat: Terminal, api: ApiServer, command: str) -> None:
    api.push(reply(text("I wait."), tool("terminal", {"command": command}, id="toolu_wait")))
    chat.say("wait please")
    chat.until("1 waiting · F4")
    chat.press("f4")
    chat.until("y allow once")
    chat.type("y")
    chat.until("● running terminal")


def test_a_steer_from_another_process_is_shown_where_it_went_in(cos: Program, api: ApiServer) -> None:
    chat = cos.chat()
    chat.until(READY)
    _run(chat, api, "until [ -e go ]; do sleep 0.05; done; echo gone")
    _steer(cos, "and be brief")
    chat.until("1 waiting: for the next step of the running turn", "↪ steers · and be brief")
    api.push(reply(text("Briefly: done.")))
    (cos.home / "workspaces" / "home" / "go").touch()
    shown = chat.until("and be brief", "Briefly: done.", "idle ·", gone="↪ steers · and be brief")
    assert shown.index("terminal") < shown.index("and be brief") < shown.index("Briefly: done.")
    content = api.requests[1].messages[2]["content"]
    assert [block["type"] for block in content] == ["tool_result", "text"]
    assert content[1]["text"] == "and be brief"
    assert api.requests[1].refusal is None


def test_a_steer_written_while_a_tool_runs_outlives_a_killed_process(cos: Program, api: ApiServer) -> None:
    chat = cos.chat()
    chat.until(READY)
    _run(chat, api, "sleep 61.7")
    _steer(cos, "and be brief")
    sleeping = [child.pid for child in psutil.Process(chat.pid).children(recursive=True)]
    chat.signal(signal.SIGKILL)
    chat.until_end()
    for pid in sleeping:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    again = cos.chat("--continue")
    again.until("interrupted", "and be brief")
    api.push(reply(text("Yes, briefly.")), reply(text("Going on.")))
    again.say("go on")
    again.until("Yes, briefly.", "Going on.", "idle ·")
    assert [request.refusal for request in api.requests] == [None] * 3
    sent = json.dumps(api.requests[-1].messages)
    assert [sent.count(words) for words in ("and be brief", "go on", "wait please")] == [1, 1, 1]
    assert cos.rows("SELECT count(*) FROM queued_messages") == [(0,)]
    assert cos.rows("SELECT status FROM turns ORDER BY ordinal") == [("interrupted",), ("completed",), ("completed",)]
