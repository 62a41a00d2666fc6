"""A call's arguments as a text to edit, and back. What is shown is what runs, so nothing hidden may stand in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cos.agent.text import exact
from cos.core.rules import SHELL_TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

Args = dict[str, Any]


class NotArguments(ValueError):
    """The text is none; the message says where and why."""


def shows_command_only(tool: str, args: Mapping[str, Any]) -> bool:
    """Whether the text is the command itself. One with hidden characters is edited as JSON, which can name them."""
    command = args.get("command")
    return tool in SHELL_TOOLS and isinstance(command, str) and exact(command) == command


def text_of(tool: str, args: Mapping[str, Any]) -> str:
    if shows_command_only(tool, args):
        return str(args["command"])
    text = json.dumps(args, ensure_ascii=False, indent=2)
    if exact(text) == text:
        return text
    return "".join(json.dumps(one)[1:-1] if one != "\n" and exact(one) != one else one for one in text)


def args_of(tool: str, before: Mapping[str, Any], text: str) -> Args:
    """The arguments that `text` says; `before` are those that it was made from.

    Raises:
        NotArguments: it is no JSON object, or it holds what cannot be seen.
    """
    _check_visible(text)
    if shows_command_only(tool, before):
        if not text.strip():
            raise NotArguments("The command is empty: Esc goes back, n denies the call.")
        return {**before, "command": text}
    try:
        found = json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise NotArguments(f"Line {error.lineno}, column {error.colno}: {error.msg}.") from error
    if not isinstance(found, dict):
        raise NotArguments("The arguments must be one JSON object: {...}.")
    return found


def _check_visible(text: str) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        for column, one in enumerate(line, 1):
            if exact(one) != one:
                raise NotArguments(f"Line {number}, column {column} holds the hidden character U+{ord(one):04X}.")


def _without_doubles(pairs: list[tuple[str, Any]]) -> Args:
    names = [name for name, _ in pairs]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise NotArguments(f"The key {doubled!r} stands twice: keep one.")
    return dict(pairs)


def _no_number(text: str) -> None:
    raise NotArguments(f"{text} is no JSON number.")
