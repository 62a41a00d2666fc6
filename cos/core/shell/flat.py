"""Reads flat command lines: simple commands in a row, with separators, quotes and redirects, and nothing else.

It is independent of tree-sitter on purpose. Only a line that both read in the same way can be allowed by a rule or
be taken for one that only reads; see `cos.core.shell.parsed`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cos.core.shell.words import Word, resolved

RESERVED = re.compile(
    r"if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|time|in|coproc|[{}!]|\[\[|\]\]"
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=", re.DOTALL)
_BLANK = re.compile(r"[ \t]+")
_SEPARATOR = re.compile(r"&&|\|\||\|&|[|;\n]|&(?!>)")
_REDIRECT = re.compile(r"&>>|&>|>>|>\||>&|<&|<>|[<>]")
# Not in the subset: here-documents and here-strings, process substitution, groups, the end of a case.
_BEYOND = re.compile(r"<<|[<>]\(|[()]|;;|;&|;\n?&|&&&|\|\|\|")
_WORD = re.compile(
    r"""(?:[^\s'"\\$`;&|()<>]|\\[^\n]|'[^']*'|"(?:[^"\\$`]|\\[^\n]|\$(?="))*"|\$'[^'\\]*'|\$[A-Za-z_0-9?#@*!$-])+"""
)
_DESCRIPTOR = re.compile(r"\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """One redirect. `2>&1` is descriptor "2", operator ">&", target "1"."""

    operator: str
    target: Word
    """For a here-document: its body."""
    descriptor: str = ""

    @property
    def reads(self) -> bool:
        return self.operator in {"<", "<<", "<<-", "<<<"}


@dataclass(slots=True)
class FlatCommand:
    """One command of a flat line."""

    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    end: str = ""
    """The separator after it."""


class NotFlat(Exception):
    """The line holds more than the flat subset."""


def flat_commands(text: str) -> list[FlatCommand]:
    """The commands of a flat line, in order.

    Raises:
        NotFlat: it is none. That says nothing about whether bash would run it.
    """
    commands = [FlatCommand()]
    at, end = 0, len(text.rstrip(" \t\n"))
    if text[:end].endswith("\\"):
        raise NotFlat
    while at < end:
        if blank := _BLANK.match(text, at):
            at = blank.end()
        elif _BEYOND.match(text, at):
            raise NotFlat
        elif redirect := _REDIRECT.match(text, at):
            at = _add_redirect(text, redirect, commands[-1], "")
        elif separator := _SEPARATOR.match(text, at):
            _close(commands, separator.group())
            at = separator.end()
        else:
            at = _add_word(text, at, commands[-1])
    return _finished(commands)


def _add_word(text: str, at: int, command: FlatCommand) -> int:
    """Adds the word, or the redirect that its digits belong to, and returns where it ends."""
    word, end = _word(text, at)
    redirect = _REDIRECT.match(text, end)
    if redirect and not redirect.group().startswith("&"):
        if _DESCRIPTOR.fullmatch(word.raw):
            return _add_redirect(text, redirect, command, word.raw)
        if word.raw.isdigit() or word.raw.endswith("}"):
            raise NotFlat
    if not command.words and (RESERVED.fullmatch(word.raw) or _ASSIGNMENT.match(word.raw)):
        raise NotFlat
    command.words.append(word)
    return end


def _add_redirect(text: str, operator: re.Match[str], command: FlatCommand, descriptor: str) -> int:
    if _BEYOND.match(text, operator.start()):
        raise NotFlat
    blank = _BLANK.match(text, operator.end())
    target, end = _word(text, blank.end() if blank else operator.end())
    command.redirects.append(Redirect(operator=operator.group(), target=target, descriptor=descriptor))
    return end


def _word(text: str, at: int) -> tuple[Word, int]:
    found = _WORD.match(text, at)
    if found is None or found.group().startswith("#"):
        raise NotFlat
    # What stopped the word must be something that ends one, not something the pattern does not know.
    if found.end() < len(text) and text[found.end()] not in " \t\n;&|<>":
        raise NotFlat
    word = resolved(found.group())
    if word is None:
        raise NotFlat
    return word, found.end()


def _close(commands: list[FlatCommand], separator: str) -> None:
    command = commands[-1]
    if command.words:
        command.end = separator
        commands.append(FlatCommand())
    elif command.redirects or separator != "\n" or (len(commands) > 1 and commands[-2].end == "\n" != separator):
        # An empty line is fine, also after a separator that goes on to the next line; `; ;` is not.
        raise NotFlat


def _finished(commands: list[FlatCommand]) -> list[FlatCommand]:
    last = commands[-1]
    if not last.words:
        if last.redirects:
            raise NotFlat
        commands.pop()
    if not commands or commands[-1].end in {"&&", "||", "|", "|&"}:
        raise NotFlat
    return commands
