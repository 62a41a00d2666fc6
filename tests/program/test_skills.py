"""Skills for the user of the program: `cos skills`, `cos doctor`, and a skill as a message."""

from __future__ import annotations

import json
from pathlib import Path

from tests.api_server import ApiServer, reply, text
from tests.api_server.server import KEY
from tests.program.fix_program import Program

BROKEN = "---\nname: a\ndescription: Use when: asked\n---\nx\n"


def put(program: Program, name: str, content: str) -> Path:
    file = program.home / "profiles" / "home" / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


def test_a_fresh_machine_has_the_skills_that_ship(program: Program) -> None:
    done = program.run("skills")
    assert (done.returncode, done.stderr) == (0, "")
    assert [" ".join(line.split()[:2]) for line in done.stdout.splitlines()] == [
        "demo", "no skills", "home", "official-letter Read", "work", "client-report Write",
    ]  # fmt: skip


def test_H_093_a_broken_skill_is_named_with_its_line_by_skills_and_doctor_and_ask_goes_on(
    program: Program, api: ApiServer
) -> None:
    program.run("skills")
    file = put(program, "a", BROKEN)
    done = program.run("skills", "--profile", "home")
    assert done.returncode == 1
    assert f"Left out, a broken skill: {file}, line 3: " in done.stdout
    assert program.run("skills", "--profile", "work").returncode == 0
    listed = json.loads(program.run("skills", "--json").stdout)
    assert [skill["name"] for skill in listed["home"]["skills"]] == ["official-letter"]
    assert (listed["home"]["broken"][0]["file"], listed["home"]["broken"][0]["line"]) == (str(file), 3)
    checks = json.loads(program.run("doctor", "--json").stdout)["checks"]
    found = [(check["state"], check["sentence"]) for check in checks if check["name"] == "skills of home"]
    assert found[0] == ("ok", "official-letter")
    assert found[1][0] == "warning" and f"{file}, line 3: " in found[1][1]
    program.use_api(api, KEY)
    api.push(reply(text("Fine.")))
    assert program.run("ask", "hello").stdout == "Fine.\n"
    assert "- official-letter: Read a letter" in str(api.requests[0].body["system"])


def test_an_unknown_profile_is_said(program: Program) -> None:
    done = program.run("skills", "--profile", "hme")
    assert done.returncode == 2
    assert "Did you mean home?" in done.stderr


def test_a_skill_is_used_from_the_shell(program: Program, api: ApiServer) -> None:
    program.use_api(api, KEY)
    program.run("skills")
    put(program, "tone", "---\nname: tone\ndescription: Changes the tone.\n---\nWrite it again.\n")
    api.push(reply(text("Dear Sir")))
    done = program.run("ask", "/tone Hey you")
    assert (done.returncode, done.stdout) == (0, "Dear Sir\n")
    (message,) = api.requests[0].messages
    typed, instructions = (block["text"] for block in message["content"])
    assert typed == "/tone Hey you"
    assert instructions.endswith("Write it again.")
    assert program.rows("SELECT body->>'text', body->>'context' FROM messages WHERE role = 'user'") == [
        (typed, instructions)
    ]


def test_the_context_is_shown_in_the_shell_without_a_turn(program: Program) -> None:
    done = program.run("ask", "/context", "--profile", "demo")
    assert done.returncode == 0
    assert "System prompt" in done.stdout and "not frozen yet" in done.stdout
    assert program.rows("SELECT count(*) FROM turns") == [(0,)]
