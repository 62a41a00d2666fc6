"""Slash commands: what is one, what is a message, and what is said about a wrong one."""

from __future__ import annotations

import pytest

from cos.core.commands import Command, CommandAnswer, CommandCall, Commands, parse_command
from cos.core.errors import CommandError
from cos.core.inbound import Inbound


async def echo(call: CommandCall) -> CommandAnswer:
    return CommandAnswer(text=f"<{call.argument}>")


def known(*names: str, needs_session: bool = False) -> Commands:
    commands = Commands()
    commands.add(*(Command(name=name, summary="", run=echo, needs_session=needs_session) for name in names))
    return commands


def inbound(text: str) -> Inbound:
    return Inbound(text=text, profile_id="home", source="cli")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/undo", ("undo", "")),
        ("/title  A new name \n", ("title", "A new name")),
        ("/queue one\ntwo", ("queue", "one\ntwo")),
        ("/etc/hosts is broken", None),
        ("/", None),
        (" /undo", None),
        ("/Users of this", None),
        ("//undo", None),
        ("/2 is a half", None),
        ("what is /undo", None),
    ],
)
def test_only_a_slash_and_a_name_make_a_command(text: str, parsed: tuple[str, str] | None) -> None:
    assert parse_command(text) == parsed


async def test_a_command_gets_what_stands_behind_its_name() -> None:
    answer = await known("title").run(inbound("/title  A name"), None)
    assert answer is not None
    assert answer.text == "<A name>"


async def test_a_message_is_no_command() -> None:
    assert await known("title").run(inbound("/usr/bin/env"), None) is None


async def test_an_unknown_command_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(CommandError, match=r"no command /titel; did you mean /title\?"):
        await known("title", "undo").run(inbound("/titel x"), None)


async def test_names_of_other_programs_are_understood_where_there_is_such_a_command() -> None:
    with pytest.raises(CommandError, match=r"no command /exit; did you mean /quit\?"):
        await known("export", "quit").run(inbound("/exit"), None)
    with pytest.raises(CommandError, match=r"no command /exit; did you mean /export\?"):
        await known("export").run(inbound("/exit"), None)


async def test_a_command_that_needs_a_session_says_so() -> None:
    with pytest.raises(CommandError, match="/undo works on a session"):
        await known("undo", needs_session=True).run(inbound("/undo"), None)


@pytest.mark.parametrize("name", ["undo", "Two words", ""])
def test_a_name_that_is_taken_or_none_is_refused(name: str) -> None:
    with pytest.raises(CommandError, match="acme offers"):
        known("undo").add(Command(name=name, summary="", run=echo, origin="acme"))
