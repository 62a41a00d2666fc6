"""Child agents as people meet them: what they cost, what a kill leaves, and who answers what they ask."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.api_server import ApiServer, RecordedRequest, Reply, reply, text, tool, usage
from tests.api_server.server import KEY
from tests.program.fix_program import COS, Program, interrupt
from tests.program.terminal import Terminal

PROFILE = """
provider = "anthropic"
model = "claude-sonnet-5-5"
tags = ["area:home"]
[approvals]
mode = "auto"
[delegation]
model = "claude-haiku-5-5"
"""
ASKS = '[approvals]\nmode = "deny"\n[[approvals.rules]]\ntool = "terminal"\ndecision = "ask"\n'


@pytest.fixture
def cos(program: Program, api: ApiServer) -> Program:
    program.use_api(api, KEY)
    program.setting(
        f'plugins = ["bill", "workspace"]\n[bill]\ntimezone = "UTC"\n[bill.servers]\n"{api.url}" = "anthropic"\n'
        "[delegation]\nmax_spawn_depth = 2\n"
    )
    program.profile("home", PROFILE)
    return program


def first_words(request: RecordedRequest) -> str:
    content = request.messages[0]["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


def results(request: RecordedRequest) -> list[dict[str, Any]]:
    blocks = [block for message in request.messages for block in message["content"] if isinstance(block, dict)]
    return [block for block in blocks if block.get("type") == "tool_result"]


def test_parent_and_children_cost_exactly_what_their_calls_did(cos: Program, api: ApiServer) -> None:
    """Each at its own model's price, under the same tags, once."""

    def answer(request: RecordedRequest) -> Reply:
        if first_words(request) == "look around":
            if results(request):
                return reply(text("Both looked."), usage=usage(300_000, 3_000))
            tasks = {"tasks": [{"goal": "look left"}, {"goal": "look right"}]}
            return reply(tool("delegate_task", tasks), usage=usage(100_000, 1_000))
        return reply(text(f"I did {first_words(request)}."), usage=usage(20_000, 200))

    api.answer = answer
    done = cos.run("ask", "look around", "--tag", "client:acme", "--json")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    paid = [Decimal(str(line["cost_usd"])) for line in lines if line["type"] == "bill.call_recorded"]
    assert len(paid) == 4
    assert [line["type"] for line in lines if line["type"] == "turn.completed"] == ["turn.completed"]
    assert lines[-1]["cost_usd"] == pytest.approx(float(sum(paid)))

    rows = cos.rows("SELECT depth, cause, model, tags, cost_usd FROM model_calls ORDER BY started_at")
    assert [row[:2] for row in rows] == [(0, "turn"), (1, "child"), (1, "child"), (0, "turn")]
    assert [row[2] for row in rows] == ["claude-sonnet-5-5", *["claude-haiku-5-5"] * 2, "claude-sonnet-5-5"]
    assert {tuple(row[3]) for row in rows} == {("area:home", "client:acme")}
    parent, children = rows[0][4] + rows[3][4], rows[1][4] + rows[2][4]
    assert children > 0 and sum(paid) == parent + children

    def groups(*options: str) -> dict[str, Decimal]:
        table = csv.DictReader(io.StringIO(cos.run("cost", "--format", "csv", *options).stdout))
        return {row["group"]: Decimal(row["cost_usd"]) for row in table}

    assert groups("--by", "client") == {"acme": parent + children, "total": parent + children}
    apart = groups("--by", "session")
    ids = {title: str(id_) for id_, title in cos.rows("SELECT id, title FROM sessions")}
    assert apart[ids["look around"]] == parent and apart["total"] == parent + children
    assert apart[ids["look left"]] + apart[ids["look right"]] == children
    assert groups("--by", "session", "--with-children") == {
        ids["look around"]: parent + children, "total": parent + children,
    }  # fmt: skip
    listed = cos.run("sessions", "list").stdout.splitlines()[1:]
    assert len(listed) == 3 and all(line.endswith("  area:home client:acme") for line in listed)
    (cos.home / "profiles" / "home" / "config.toml").write_text("spoiled =")
    assert "  client:acme" in cos.run("sessions", "list").stdout, "a list needs no profile"


def _runs(marker: str) -> list[psutil.Process]:
    return [
        process for process in psutil.process_iter(["cmdline"]) if marker in " ".join(process.info["cmdline"] or [])
    ]


def _delegate_a_sleep(cos: Program, api: ApiServer, marker: str, *, depth: int = 1) -> subprocess.Popen[str]:
    """A running `cos ask` whose child (depth 2: the child of its child) runs `sleep MARKER`."""
    tasks = ["delegate it", "pass it on", "sleep long"] if depth == 2 else ["delegate it", "sleep long"]

    def answer(request: RecordedRequest) -> Reply:
        level = tasks.index(first_words(request))
        if level == depth:
            assert not results(request)
            return reply(tool("terminal", {"command": f"sleep {marker}"}))
        goes_on = tool("delegate_task", {"goal": tasks[min(level + 1, depth)], "role": "orchestrator"})
        return reply(text("I see.")) if results(request) else reply(goes_on)

    api.answer = answer
    asking = cos.start("ask", "delegate it")
    deadline = time.monotonic() + 60
    while not _runs(f"sleep {marker}"):
        assert time.monotonic() < deadline and asking.poll() is None, asking.communicate()
        time.sleep(0.05)
    return asking


def test_an_interrupt_stops_the_child_and_what_it_runs_H_067(cos: Program, api: ApiServer) -> None:
    asking = _delegate_a_sleep(cos, api, "600.7041")
    interrupt(asking)
    asking.communicate(timeout=60)
    assert asking.returncode == 4
    assert not _runs("sleep 600.7041")
    assert cos.rows("SELECT depth, status FROM turns ORDER BY depth") == [(0, "cancelled"), (1, "cancelled")]
    calls = dict(cos.rows("SELECT name, status FROM tool_calls"))
    assert calls == {"delegate_task": "cancelled", "terminal": "cancelled"}
    assert cos.run("ask", "go on", "--continue").stdout == "I see.\n"
    ((child,),) = cos.rows("SELECT id FROM sessions WHERE source = 'subagent'")
    refused = cos.run("ask", "and you?", "--session", str(child))
    assert refused.returncode == 2 and "this child agent does not work any more" in refused.stderr
    assert [request.refusal for request in api.requests if request.refusal] == []


@pytest.mark.parametrize("depth", [1, 2])
def test_a_kill_leaves_the_effect_unknown_once_and_nobody_running_H_072(
    cos: Program, api: ApiServer, depth: int
) -> None:
    marker = f"600.7042{depth}"
    asking = _delegate_a_sleep(cos, api, marker, depth=depth)
    asking.kill()
    asking.wait()
    requests = len(api.requests)

    done = cos.run("ask", "what happened?", "--continue")
    assert done.returncode == 0, done.stderr
    assert "I see." in done.stdout
    states = cos.rows("SELECT depth, status FROM turns ORDER BY depth, started_at")
    assert states == [(0, "interrupted"), (0, "completed"), *((it, "interrupted") for it in range(1, depth + 1))]
    assert len(api.requests) == requests + 1, "nothing was asked or run again"
    (result,) = results(api.requests[-1])
    assert result["is_error"] and str(result["content"]).count("outcome unknown") == 1
    calls = dict(cos.rows("SELECT name, status FROM tool_calls"))
    assert calls == {"delegate_task": "unknown", "terminal": "unknown"}
    assert cos.rows("SELECT count(*) FROM sessions WHERE source = 'subagent'") == [(depth,)]

    cos.run("ask", "and now?", "--continue")
    assert len(results(api.requests[-1])) == 1
    assert [request.refusal for request in api.requests if request.refusal] == []
    assert len(cos.rows("SELECT 1 FROM messages WHERE role = 'tool_result'")) == depth + 1
    left = _runs(f"sleep {marker}")
    if left:
        assert "sleep" in cos.run("doctor").stdout
    for process in left:
        process.kill()


def test_what_a_child_asks_is_refused_where_nobody_can_answer_H_024(program: Program) -> None:
    program.profile("demo", f'provider = "mock"\n{ASKS}')
    done = program.run("ask", "delegate something", "--profile", "demo")
    assert "The child agents have ended" in done.stdout, done.stderr
    assert "nobody can answer here" in done.stdout
    assert program.rows("SELECT status, answered_by FROM approvals") == [("denied", "cos ask")]
    assert not Path(program.home, "workspaces", "demo", "hello.txt").exists()


def test_a_request_of_a_child_that_nobody_answers_ends_in_time_H_024(program: Program) -> None:
    program.profile("demo", f'provider = "mock"\n{ASKS}')
    program.setting("[approvals]\ntimeout_seconds = 1\n")
    done = program.run("ask", "delegate something", "--profile", "demo", "--approve", "ask")
    assert "nobody answered the request for approval in time" in done.stdout, done.stderr
    assert program.rows("SELECT status FROM approvals") == [("expired",)]


def test_another_process_sees_both_sessions_and_answers(program: Program) -> None:
    process = program.start("ask", "delegate something", "--profile", "demo", "--approve", "ask")
    while not (found := json.loads(program.run("approvals", "list", "--json").stdout)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    assert (found[0]["session_title"][:13], found[0]["root_title"]) == ("Run a command", "delegate something")
    listed = program.run("approvals", "list").stdout
    assert "← delegate something · profile demo" in listed
    program.run("approvals", "approve", found[0]["id"][-8:])
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "Hello from the demo" in output


def test_at_a_terminal_the_child_is_named_and_the_answer_reaches_it(program: Program) -> None:
    terminal = Terminal(
        [*COS, "ask", "delegate something", "--profile", "demo"], program.environment(), program.home, 100, 60
    )
    program.terminals.append(terminal)
    terminal.until("A child agent wants to run terminal", "Type yes to run it")
    terminal.type("yes\r")
    terminal.until("Hello from the demo", "The child agents have ended")
    assert terminal.until_end() == 0
