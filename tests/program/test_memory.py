"""Memory as people use it: an agent saves and a later session knows, `cos memory`, `/memory`, processes at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api_server import ApiServer, RecordedRequest, reply, text, tool
from tests.api_server.server import KEY
from tests.program.fix_program import Program
from tests.program.terminal import Terminal

READY = "F6 another profile"
FACT = "The user's editor is helix"


@pytest.fixture
def cos(program: Program, api: ApiServer) -> Program:
    program.use_api(api, KEY)
    return program


def _say(chat: Terminal, words: str) -> None:
    """Write a message and send it, at any width."""
    chat.type(words)
    chat.until(f"│ {words}")
    chat.press("enter")


def system_of(request: RecordedRequest) -> str:
    return json.dumps(request.body["system"], ensure_ascii=False)


def last_result(request: RecordedRequest) -> dict[str, Any]:
    (block,) = request.messages[-1]["content"]
    told: dict[str, Any] = json.loads(
        block["content"][0]["text"] if isinstance(block["content"], list) else block["content"]
    )
    return told


def test_what_a_model_saves_is_in_the_next_sessions_prompt_and_not_in_its_own(cos: Program, api: ApiServer) -> None:
    saving = tool("memory", {"action": "add", "target": "user", "content": FACT})
    api.push(reply(saving), reply(text("Noted.")), reply(text("Still here.")), reply(text("Helix.")))
    saved = cos.run("ask", "remember that my editor is helix", "--json")
    lines = [json.loads(line) for line in saved.stdout.splitlines()]
    assert (saved.returncode, lines[-1]["text"]) == (0, "Noted."), saved.stderr
    (notice,) = (line["text"] for line in lines if line["type"] == "notice")
    assert notice == f"Remembered: {FACT} (what it knows about you, 1% — 26/1,375 chars)"
    assert last_result(api.requests[1])["success"] is True
    cos.run("ask", "which editor?", "--session", lines[-1]["session_id"])
    assert cos.run("ask", "which editor?").stdout == "Helix.\n"
    first, second, third, fresh = api.requests
    assert FACT not in system_of(first)
    assert first.body["system"] == second.body["system"] == third.body["system"]
    assert first.body["tools"] == third.body["tools"]
    assert f"USER PROFILE (who the user is) [1% — 26/1,375 chars]\\n{'═' * 46}\\n{FACT}\\n{'═' * 46}" in system_of(
        fresh
    )
    assert [request.refusal for request in api.requests] == [None] * 4
    listed = cos.run("memory", "list", "--session", lines[-1]["session_id"][:18])
    assert f"  #1 + {FACT}" in listed.stdout
    assert "It lacks what is marked with +." in listed.stdout


def test_what_could_not_be_saved_is_said_to_the_user_H_084(cos: Program, api: ApiServer) -> None:
    assert cos.run("memory", "add", "x" * 2_190).returncode == 0
    api.push(reply(tool("memory", {"action": "add", "content": "my editor is helix"})), reply(text("It is full.")))
    asked = cos.run("ask", "remember that my editor is helix")
    assert asked.returncode == 0
    assert (
        "cos: Memory was not changed (Keep: my editor is helix). The store memory holds 2,190 of 2,200 characters."
        in asked.stderr
    )
    assert last_result(api.requests[1])["current_entries"] == ["x" * 2_190]


def test_a_profile_that_denies_memory_by_a_rule_is_obeyed(cos: Program, api: ApiServer) -> None:
    cos.profile(
        "home",
        'provider = "anthropic"\nmodel = "claude-sonnet-5-5"\n'
        '[[approvals.rules]]\ntool = "memory"\ndecision = "deny"\n',
    )
    api.push(reply(tool("memory", {"action": "add", "content": "x"})), reply(text("I may not.")))
    assert cos.run("ask", "remember x").returncode == 3
    assert cos.rows("SELECT 1 FROM memory_entries") == []


def test_the_command_line_lists_adds_edits_and_removes(cos: Program) -> None:
    added = cos.run("memory", "add", "builds with make")
    assert (added.returncode, added.stderr) == (0, "")
    said = "Remembered: builds with make (the agent's notes, 0% — 16/2,200 chars)"
    assert added.stdout.startswith(f"Profile home\n{said}\n")
    cos.run("memory", "add", "--user", "--profile", "work", "likes tea")
    assert cos.run("memory", "edit", "1", "builds with just").returncode == 0
    listed = json.loads(cos.run("memory", "list", "--json").stdout)
    (entry,) = listed["stores"]["memory"]["entries"]
    assert (listed["profile"], entry["text"], entry["number"]) == ("home", "builds with just", 1)
    assert "#2   likes tea" in cos.run("memory", COS_PROFILE="work").stdout
    wrong = cos.run("memory", "remove", "2")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "cos: The profile home has no entry #2. Its entries: #1.\n"
    assert "no profile 'wrk'" in cos.run("memory", "list", "--profile", "wrk").stderr
    assert cos.rows("SELECT content FROM memory_entries ORDER BY number") == [("builds with just",), ("likes tea",)]


def test_processes_that_write_at_once_lose_nothing_H_087(cos: Program) -> None:
    cos.run("memory", "list")
    words = [f"fact {number}" for number in range(5)]
    started = [cos.start("memory", "add", word) for word in words]
    assert [process.wait(60) for process in started] == [0] * len(words)
    stored = [content for (content,) in cos.rows("SELECT content FROM memory_entries ORDER BY number")]
    assert sorted(stored) == words


@pytest.mark.parametrize(("columns", "rows"), [(120, 40), (80, 24)])
def test_slash_memory_shows_what_the_session_has_and_lacks(
    cos: Program, api: ApiServer, columns: int, rows: int
) -> None:
    cos.run("memory", "add", "builds with make")
    chat = cos.chat(columns=columns, rows=rows)
    chat.until(READY)
    api.push(reply(text("Hello there.")))
    _say(chat, "hello")
    chat.until("Hello there.", "out token")
    _say(chat, "/memory add likes tea")
    chat.until("Remembered: likes tea")
    _say(chat, "/memory edit 1 builds with just")
    chat.until("Changed: “builds with make”")
    _say(chat, "/memory")
    chat.until("#2 + likes tea", "It still holds:", "- builds with make")
    _say(chat, "/memory remove 9")
    chat.until("has no entry #9")
