"""`cos sessions` as a user types it, on sessions of the demo profile."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from tests.api_server import ApiServer, open_text, reply, silence
from tests.api_server.server import KEY
from tests.program.fix_program import COS, Program
from tests.program.terminal import Terminal


def asked(program: Program, words: str, *more: str) -> str:
    """Have a turn of the demo profile; the id of its session."""
    done = program.run("ask", words, "--profile", "demo", *more)
    return done.stderr.rsplit("session ", 1)[1].split(",")[0]


def sessions(program: Program, *arguments: str, code: int = 0) -> str:
    """What the command says."""
    done = program.run("sessions", *arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if code else done.stdout


def listed(program: Program, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(sessions(program, "list", "--json", *arguments))
    return found


def cells(words: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in words)


def test_a_session_is_listed_shown_renamed_tagged_and_archived(program: Program) -> None:
    id_ = asked(program, "hello \x1b]0;x\x07\x1b[2J there", "--tag", "client:acme")
    assert sessions(program, "rename", id_[:20], " A\nbetter\x1b[31m title ") == "renamed: A better title\n"
    assert sessions(program, "tag", id_, "--add", "z:1", "--remove", "client:acme") == "tags: z:1\n"
    (one,) = listed(program, "--profile", "demo")
    assert (one["id"], one["title"], one["tags"], one["state"]) == (id_, "A better title", ["z:1"], "idle")
    shown = sessions(program, "show", id_)
    assert shown.startswith(f"A better title\n{id_} · profile demo · z:1\n\nturn 1 · ")
    assert "you:\n  hello ␛]0;x␇␛[2J there\n\ndemo:\n  " in shown
    whole = json.loads(sessions(program, "show", id_, "--json"))
    assert [entry["message"]["role"] for entry in whole["messages"]] == ["user", "assistant"]
    assert (whole["turns"][0]["status"], whole["turns"][0]["tags"]) == ("completed", ["area:demo", "client:acme"])

    sessions(program, "archive", id_)
    assert sessions(program) == sessions(program, "list") == "There is no session.\n"
    assert [entry["id"] for entry in listed(program, "--archived")] == [id_]
    sessions(program, "unarchive", id_)
    assert [entry["id"] for entry in listed(program, "--limit", "1")] == [id_]


def test_the_table_stays_aligned_with_wide_characters(program: Program) -> None:
    for words in ("漢字かな漢字", "plain"):
        asked(program, words, "--tag", "client:acme")
    head, *rows = sessions(program, "list").splitlines()
    starts = [cells(row[: row.index("area:demo client:acme")]) for row in rows]
    assert starts == [head.index("TAGS")] * 2
    for row in rows:
        assert sessions(program, "show", row.split()[0]), "the short id of the list names the session"


def test_search_finds_what_was_said_H_055_H_056(program: Program) -> None:
    id_ = asked(program, "昨天的部署脚本报错问题", "--tag", "client:acme")
    asked(program, "a test-run\x1b[31m of it")
    (hit,) = json.loads(sessions(program, "search", "部署脚本", "--json"))
    assert (hit["session_id"], hit["tags"], hit["matched_role"]) == (id_, ["client:acme"], "user")
    assert hit["snippet"] == "昨天的>>>部署脚本<<<报错问题"
    head, snippet = sessions(program, "search", "test-run").splitlines()
    assert "demo" in head and snippet.startswith("    user: a >>>test-run<<<") and "\x1b" not in snippet
    assert len(json.loads(sessions(program, "search", "部署", "OR", "test-run", "OR", "errors", "--json"))) == 2
    for text in ("AND AND", "OR", '"unclosed', "a & | b"):
        assert "rror" not in sessions(program, "search", text)
    assert sessions(program, "search", "部署", "--role", "tool") == "Nothing was found.\n"
    assert "there is no profile 'nobody'" in sessions(program, "search", "x", "--profile", "nobody", code=2)


def test_undo_gives_the_words_back_and_fork_takes_a_turn_by_its_number(program: Program) -> None:
    id_ = asked(program, "first")
    asked(program, "second", "--session", id_)
    fork = sessions(program, "fork", id_, "--through", "1").removeprefix("forked: ").strip()
    assert "second" not in sessions(program, "show", fork)
    assert sessions(program, "undo", id_) == "undone: 1 turn. What you had said there:\nsecond\n"
    assert "you:\n  second" not in sessions(program, "show", id_)
    assert "has no turn 2, or it was undone" in sessions(program, "fork", id_, "--before", "2", code=2)
    assert {entry["title"] for entry in listed(program)} == {"first", "first (fork)"}


def test_what_cannot_be_done_is_said_in_a_sentence(program: Program) -> None:
    id_ = asked(program, "hello")
    for arguments, sentence in {
        ("show", "ffff"): "no session whose id begins with 'ffff'",
        ("rename", id_, " "): "is empty; give at least one visible character",
        ("tag", id_, "--add", "Client:x"): "bad tag 'Client:x': the key takes only lower-case",
        ("tag", id_, "--remove", "a:b"): "has no tag a:b to remove",
        ("tag", id_): "give --add KEY:VALUE or --remove KEY:VALUE",
        ("undo", id_, "--turns", "0"): "'0' is not a whole number from 1",
    }.items():
        assert sentence in sessions(program, *arguments, code=2)


def test_delete_says_what_goes_and_asks_on_a_terminal(program: Program) -> None:
    id_ = asked(program, "hello")
    refused = sessions(program, "delete", id_, code=2)
    assert "hello: 1 turn, 2 messages" in refused
    assert "give --yes to delete without asking" in refused
    for word, code, count in (("no", 1, 1), ("yes", 0, 0)):
        terminal = Terminal([*COS, "sessions", "delete", id_], program.environment(), program.home, 100, 20)
        program.terminals.append(terminal)
        terminal.until("This goes for good:", "hello: 1 turn, 2 messages", "Type yes to delete")
        terminal.type(f"{word}\r")
        assert terminal.until_end() == code
        assert program.rows("SELECT count(*) FROM sessions") == [(count,)]


def test_several_are_deleted_without_asking_and_their_text_is_found_nowhere_H_058(program: Program) -> None:
    ids = [asked(program, words) for words in ("needle one", "needle two")]
    asked(program, "other")
    assert len(json.loads(sessions(program, "search", "needle", "--json"))) == 2
    assert sessions(program, "delete", *ids, "--yes") == "deleted: 2 sessions\n"
    assert sessions(program, "search", "needle") == "Nothing was found.\n"
    assert program.rows("SELECT count(*) FROM messages WHERE body::text LIKE '%needle%'") == [(0,)]
    assert [entry["title"] for entry in listed(program)] == ["other"]


def test_the_turn_of_another_cos_is_not_undone_and_stopped_before_its_session_is_deleted(
    program: Program, api: ApiServer
) -> None:
    program.use_api(api, KEY)
    api.push(reply(open_text("I begin", pieces=1), silence()))
    process = program.start("ask", "hi", "--json")
    assert process.stdout is not None
    seen = json.loads(process.stdout.readline())
    while seen["type"] != "message.delta":
        seen = json.loads(process.stdout.readline())
    id_ = seen["session_id"]
    assert "a turn runs in session" in sessions(program, "undo", id_, code=2)
    assert sessions(program, "delete", id_, "--yes") == "deleted: 1 session\n"
    output, _ = process.communicate(timeout=30)
    assert json.loads(output.splitlines()[-1])["status"] == "cancelled"
    assert process.returncode == 4
    assert program.rows("SELECT count(*) FROM messages") == [(0,)]


def test_a_session_deleted_elsewhere_vanishes_from_an_open_app(program: Program) -> None:
    id_ = asked(program, "doomed")
    chat = program.chat("--profile", "demo", "--session", id_)
    chat.until("Welcome to cos", "idle ·")
    kept = asked(program, "stays")
    chat.until("Sessions (2)", "stays")
    sessions(program, "delete", id_, "--yes")
    sessions(program, "rename", kept, "renamed there")
    chat.until("Sessions (1)", "renamed there")
    chat.press("ctrl+c")
    chat.until("once more quits")
    chat.press("ctrl+c")
    assert chat.until_end() == 0
