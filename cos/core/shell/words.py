"""Words of a command line: what the shell makes of the quotes in one, and whether it may make more of it.

Only the quoting of bash is understood here (Bash manual, "Quoting"). What the shell would replace (a variable, a
substitution, a pattern, braces, a tilde) is never replaced: the word is marked as not literal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Unknown = Literal["expansion", "glob", "brace", "tilde", "history"]

GLOB_CHARACTERS = frozenset("*?[]")
# Braces in these forms stay as they are: `find -exec ls {} +`, `git show HEAD@{1}`.
_PLAIN_BRACES = re.compile(r"\{\}|@\{(?:\d+|u|upstream|push)\}")
_HISTORY = re.compile(r'![^\s=("]')
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_ANSI_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LAST_CODE_POINT = 0x10FFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word of a command."""

    raw: str
    """As written."""
    text: str
    """With its quotes resolved. What the shell would replace is left as written."""
    unknown: frozenset[Unknown] = frozenset()
    """What the shell may replace in it; empty when `text` is exactly what the program receives."""

    @property
    def is_literal(self) -> bool:
        return not self.unknown


def literal(text: str) -> Word:
    """A word that is known to be `text`."""
    return Word(raw=text, text=text)


def resolved(raw: str) -> Word | None:
    """The word written as `raw`, or None when its quotes do not end."""
    reader = _Reader(raw)
    try:
        reader.read()
    except IndexError:
        return None
    return Word(raw=raw, text="".join(reader.parts), unknown=frozenset(reader.unknown))


class _Reader:
    """Goes once over a word. Running over its end is an IndexError: a quote that does not end."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.at = 0
        self.parts: list[str] = []
        self.unknown: set[Unknown] = set()
        if _HISTORY.search(raw):
            self.unknown.add("history")

    def read(self) -> None:
        while self.at < len(self.raw):
            match self.raw[self.at]:
                case "'":
                    self.single_quoted()
                case '"':
                    self.double_quoted()
                case "\\":
                    self.escaped()
                case "$":
                    self.dollar()
                case _:
                    self.plain()

    def single_quoted(self) -> None:
        end = self._end_of_quote("'", self.at + 1)
        self.parts.append(self.raw[self.at + 1 : end])
        self.at = end + 1

    def double_quoted(self) -> None:
        self.at += 1
        while (character := self.raw[self.at]) != '"':
            if character == "\\" and self.raw[self.at + 1] in '$`"\\\n':
                self.escaped()
                continue
            # A dollar sign directly before the closing quote is only a dollar sign.
            if character == "`" or (character == "$" and self.raw[self.at + 1] != '"'):
                self.unknown.add("expansion")
            self.parts.append(character)
            self.at += 1
        self.at += 1

    def escaped(self) -> None:
        following = self.raw[self.at + 1]
        if following != "\n":
            self.parts.append(following)
        self.at += 2

    def dollar(self) -> None:
        following = self.raw[self.at + 1 : self.at + 2]
        if following == "'":
            self.ansi_quoted()
            return
        self.unknown.add("expansion")
        if following != '"':
            self.parts.append("$")
        self.at += 1

    def ansi_quoted(self) -> None:
        start = end = self.at + 2
        while self.raw[end] != "'":
            end += 2 if self.raw[end] == "\\" else 1
        content = self.raw[start:end]
        if "\\" in content:
            self.unknown.add("expansion")
        self.parts.append(_ANSI_ESCAPE.sub(_ansi_character, content))
        self.at = end + 1

    def plain(self) -> None:
        character = self.raw[self.at]
        if character == "`":
            self.unknown.add("expansion")
        elif character in GLOB_CHARACTERS:
            self.unknown.add("glob")
        elif character == "~" and (self.at == 0 or self.raw[self.at - 1] in "=:"):
            self.unknown.add("tilde")
        elif character in "{}":
            if plain := _PLAIN_BRACES.match(self.raw, max(self.at - 1, 0)) or _PLAIN_BRACES.match(self.raw, self.at):
                self.parts.append(self.raw[self.at : plain.end()])
                self.at = plain.end()
                return
            self.unknown.add("brace")
        self.parts.append(character)
        self.at += 1

    def _end_of_quote(self, quote: str, start: int) -> int:
        end = self.raw.find(quote, start)
        if end < 0:
            raise IndexError
        return end


def _ansi_character(found: re.Match[str]) -> str:
    hexadecimal = found[1] or found[2] or found[3]
    if hexadecimal or found[4]:
        code = int(hexadecimal, 16) if hexadecimal else int(found[4], 8)
        return chr(code) if code <= _LAST_CODE_POINT else "\ufffd"
    return _ANSI_LETTERS.get(found[5], found[5])
