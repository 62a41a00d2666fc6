"""`cos ask` as scripts use it, against the local API server."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

import pytest

from tests.api_server import ApiServer, drop, http_error, open_text, reply, silence, text, tool
from tests.api_server.server import KEY
from tests.program.fix_program import COS, Program, interrupt


@pytest.fixture
def cos(program: Program, api: ApiServer) -> Program:
    program.use_api(api, KEY)
    return program


def _events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def _session_of(stderr: str) -> str:
    return stderr.rsplit("session ", 1)[1].split(",")[0]


def test_message_comes_from_stdin_and_the_reply_goes_to_stdout(cos: Program, api: ApiServer) -> None:
    api.push(reply(text("It is *Tuesday*.")))
    done = cos.run("ask", "-", stdin="which day?\nin one word\n")
    assert (done.returncode, done.stdout) == (0, "It is *Tuesday*.\n")
    assert done.stderr.startswith("cos: session ")
    assert "tokens out" in done.stderr
    assert "which day?\nin one word" in api.requests[0].messages[0]["content"][0]["text"]


def test_json_lines_have_one_order_and_end_with_the_outcome(cos: Program, api: ApiServer) -> None:
    api.push(reply(text("Both"), tool("read_file", {"path": "a.txt"})), reply(text("There is none.")))
    done = cos.run("ask", "look", "--json", "--tag", "client:acme")
    events = _events(done.stdout)
    assert done.returncode == 0
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert all({"type", "session_id", "turn_id", "at"} <= event.keys() for event in events)
    assert len({event["session_id"] for event in events}) == 1
    last = events[-1]
    assert (last["type"], last["status"], last["text"]) == ("turn.completed", "completed", "There is none.")
    assert last["tags"] == ["area:home", "client:acme"]
    assert last["cost_usd"] is None
    assert last["usage"]["output_tokens"] > 0
    kinds = [event["type"] for event in events]
    assert kinds.index("turn.started") < kinds.index("tool.proposed") < kinds.index("tool.finished")


def test_session_goes_on_with_the_same_conversation(cos: Program, api: ApiServer) -> None:
    api.push(reply(text("One.")), reply(text("Two.")))
    session = _session_of(cos.run("ask", "first").stderr)
    assert cos.run("ask", "second", "--session", session[:30]).stdout == "Two.\n"
    first, second = (request.messages for request in api.requests)
    assert second[: len(first)] == first
    assert cos.rows("SELECT count(*) FROM sessions") == [(1,)]


def test_session_of_another_profile_is_refused(program: Program) -> None:
    session = _session_of(program.run("ask", "first", "--profile", "demo").stderr)
    done = program.run("ask", "second", "--session", session, "--profile", "work")
    assert done.returncode == 2
    assert "demo" in done.stderr
    assert "work" in done.stderr


def test_bad_tag_is_refused_with_the_rule(cos: Program) -> None:
    done = cos.run("ask", "hi", "--tag", "client:acme corp")
    assert done.returncode == 2
    assert "'client:acme corp': it must not contain spaces" in done.stderr
    assert "Traceback" not in done.stderr


def test_denied_call_exits_3_and_is_not_run(program: Program) -> None:
    """Without a terminal nobody can say yes."""
    done = program.run("ask", "run a command", "--profile", "demo")
    assert done.returncode == 3
    assert "I do not claim that it ran" in done.stdout
    assert program.rows("SELECT status, duration_ms FROM tool_calls") == [("denied", None)]


def test_a_rule_that_asks_is_refused_at_once_where_nobody_can_answer(program: Program) -> None:
    rule = '[[approvals.rules]]\ntool = "terminal"\ndecision = "ask"\n'
    program.profile("demo", f'provider = "mock"\n{rule}')
    done = program.run("ask", "run a command", "--profile", "demo")
    assert done.returncode == 3
    assert program.rows("SELECT status, answered_by, answer_reason FROM approvals") == [
        ("denied", "cos ask", "nobody can answer here: this cos has no terminal")
    ]


def test_refusal_exits_3(cos: Program, api: ApiServer) -> None:
    api.push(reply(text("I will not."), stop="refusal"))
    assert cos.run("ask", "hi").returncode == 3


def test_time_limit_cancels_the_turn(program: Program) -> None:
    done = program.run("ask", "hi", "--profile", "demo", "--timeout-seconds", "0.3")
    assert done.returncode == 4
    assert "longer than 0.3 s" in done.stderr
    assert program.rows("SELECT status FROM turns") == [("cancelled",)]


def test_interrupt_cancels_the_turn_and_keeps_what_was_said(cos: Program, api: ApiServer) -> None:
    api.push(reply(open_text("I begin", pieces=1), silence()), reply(text("Again.")))
    process = cos.start("ask", "hi", "--json")
    assert process.stdout is not None
    seen = [json.loads(process.stdout.readline())]
    while seen[-1]["type"] != "message.delta":
        seen.append(json.loads(process.stdout.readline()))
    interrupt(process)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 4
    assert _events(output)[-1]["status"] == "cancelled"
    assert cos.rows("SELECT status FROM turns") == [("cancelled",)]
    assert cos.run("ask", "go on", "--continue").stdout == "Again.\n"
    assert "I begin" in json.dumps(api.requests[1].messages)


def test_message_to_a_busy_session_waits_for_its_turn(cos: Program, api: ApiServer) -> None:
    api.push(reply(text("First.", seconds_per_piece=1.0)), reply(text("Second.")))
    first = cos.start("ask", "one", "--json")
    assert first.stdout is not None
    while json.loads(first.stdout.readline())["type"] != "message.delta":
        continue
    second = cos.run("ask", "two", "--continue")
    assert (second.returncode, second.stdout) == (0, "Second.\n")
    assert "waiting for the message's turn" in second.stderr
    first.communicate(timeout=30)
    assert first.returncode == 0
    assert cos.rows("SELECT status FROM turns ORDER BY ordinal") == [("completed",), ("completed",)]
    assert [message["role"] for message in api.requests[1].messages] == ["user", "assistant", "user"]


def test_a_waiting_message_that_somebody_removes_ends_the_wait(cos: Program, api: ApiServer) -> None:
    api.push(reply(open_text("Busy"), silence()))
    cos.start("ask", "one")
    api.wait_for(1)
    second = cos.start("ask", "two", "--continue")
    while not cos.rows("WITH gone AS (DELETE FROM queued_messages RETURNING id) SELECT id FROM gone"):
        assert second.poll() is None
    assert second.wait(30) == 2
    assert second.stderr is not None
    assert "was removed from the session's queue" in second.stderr.read()


def test_overload_and_dropped_connection_are_tried_again_and_said(cos: Program, api: ApiServer) -> None:
    api.push(http_error(529, "overloaded_error", "Overloaded"), reply(open_text("Once upon"), drop()))
    api.push(reply(text("Once upon a time.")))
    done = cos.run("ask", "tell")
    assert done.returncode == 0
    assert done.stdout == "Once upon a time.\n"
    assert done.stderr.count("attempt") == 2


def test_rejected_key_is_named_by_its_place_and_never_shown(cos: Program) -> None:
    """H-098"""
    done = cos.run("ask", "hi", ANTHROPIC_API_KEY="sk-ant-wrong-key-0987654321")
    assert done.returncode == 1
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert "rejected" in done.stderr
    log = cos.home / "cos.log"
    assert "sk-ant-wrong" not in done.stdout + done.stderr + (log.read_text() if log.exists() else "")


@pytest.mark.parametrize("env", [{}, {"ANTHROPIC_API_KEY": ""}, {"ANTHROPIC_API_KEY": "  "}])
def test_missing_key_names_the_variable_and_the_file(program: Program, env: dict[str, str]) -> None:
    """H-098: blank counts as missing. Nothing is begun that could only fail."""
    done = program.run("ask", "hi", **env)
    assert done.returncode == 2
    assert program.rows("SELECT 1 FROM sessions") == []
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert str(program.home / "profiles" / "home" / "config.toml") in done.stderr
    assert "demo" in done.stderr


def test_reader_that_goes_away_is_no_crash(cos: Program, api: ApiServer) -> None:
    """`cos ask | head -1`"""
    api.push(reply(text("line\n" * 20_000, pieces=400)))
    process = cos.start("ask", "long")
    assert process.stdout is not None
    assert process.stdout.readline() == "line\n"
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read()
    process.wait(30)
    assert process.returncode in {0, 1, -signal.SIGPIPE}
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


def test_embedded_database_serves_two_first_starts_at_one_instant(program: Program) -> None:
    program.database_url = None
    both = [program.start("ask", f"hello {number}", "--profile", "demo") for number in (1, 2)]
    outputs = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert all("Welcome to cos" in output for output, _ in outputs)
    assert not list(program.home.glob("pg/*/data/postmaster.pid")), "the last one to leave stops the server"


def test_message_of_another_encoding_is_no_crash(program: Program) -> None:
    command = [*COS, "ask", "-", "--profile", "demo"]
    done = subprocess.run(
        command, input=b"caf\xe9\n", env=program.environment(), cwd=program.home, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
