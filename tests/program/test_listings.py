"""`cos profiles` and `cos plugins`: what there is, from a shell."""

from __future__ import annotations

import json

from tests.program.fix_program import Program


def test_profiles_are_listed_with_what_they_lack(program: Program) -> None:
    listed = program.run("profiles", COS_PROFILE="work")
    assert (listed.returncode, listed.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in listed.stdout.splitlines()]
    assert lines[1].startswith("demo mock area:demo ")
    assert lines[2].startswith("home anthropic claude-sonnet-5-5 no key area:home ")
    assert lines[3].startswith("* work anthropic claude-sonnet-5-5 no key area:work ")
    assert "ANTHROPIC_API_KEY" in lines[4]
    known = json.loads(program.run("profiles", "--json", ANTHROPIC_API_KEY="sk-ant-x").stdout)["profiles"]
    assert [(it["id"], it["trouble"]) for it in known] == [("demo", ""), ("home", ""), ("work", "")]


def test_a_broken_profile_is_named_and_the_others_are_listed(program: Program) -> None:
    program.run("profiles")
    file = program.profile("home", 'provider = "anthropick"\n')
    listed = program.run("profiles")
    assert listed.returncode == 1
    assert f"{file}" in listed.stdout and "anthropick" in listed.stdout
    assert "demo" in listed.stdout and "work" in listed.stdout


def test_plugins_are_listed_in_order_with_those_that_could_be_enabled(program: Program) -> None:
    program.setting('plugins = ["workspace", "memory"]\n')
    listed = json.loads(program.run("plugins", "--json").stdout)["plugins"]
    assert [(it["name"], it["enabled"]) for it in listed] == [("workspace", True), ("memory", True), ("bill", False)]
    assert "terminal" in listed[0]["tools"] and listed[1]["commands"] == ["memory"]
    words = [" ".join(line.split()) for line in program.run("plugins").stdout.splitlines()]
    assert words[3] == "bill not enabled"
