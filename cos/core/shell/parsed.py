"""Parses a command line so that it can be judged. Two readers must agree; what they do not understand is a fault."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from cos.agent.text import storable
from cos.core.shell.flat import FlatCommand, NotFlat, flat_commands
from cos.core.shell.tree import SimpleCommand, TreeReading, read_tree

MAX_BYTES = 100_000
# tree-sitter's time grows with the square of these; a line with so many is asked about unread.
MAX_OPERATORS = 1_500
_OPERATORS = "|&;<>(`"
# bash takes a backslash before a line break away together with it before it reads words.
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
# Between blanks that changes nothing. A blank after a backslash is none.
_CONTINUED_WORD = re.compile(r"(?:(?<![\s\\])(?:\\\\)*|(?<!\\)(?:\\\\)+|\\[ \t])\\\n(?=\S)")
# Control, format, surrogate and private characters, and blanks that are none for the shell or only in some locales.
_ODD_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A command line and what is known of it."""

    text: str
    commands: tuple[SimpleCommand, ...]
    """Every simple command in order, also inside substitutions, functions and loops. With a fault: what was found."""
    functions: tuple[str, ...] = ()
    """The names of the functions that it defines."""
    loops: tuple[tuple[str, str], ...] = ()
    """The variable of each `for`, and what it stands for: one word, or several as alternatives in braces."""
    is_flat: bool = False
    """Only simple commands in a row, with separators and redirects: nothing else is run than `commands`."""
    fault: str | None = None
    """Why it cannot be judged, as a part of a sentence; such a line is asked about and never allowed by a rule."""
    is_one_line: bool = False
    """One command on one line without separator."""

    @property
    def is_simple(self) -> bool:
        """Exactly one simple command with only literal words, and nothing else at all."""
        return (
            self.fault is None
            and self.is_flat
            and self.is_one_line
            and len(self.commands) == 1
            and not self.commands[0].redirects
            and self.commands[0].argv is not None
        )


def parse(text: str) -> Parsed:
    """Reads `text` as bash would."""
    if fault := _unfit(text):
        return Parsed(text=text, commands=(), fault=fault)
    if _CONTINUED_WORD.search(text):
        return _continued(text)
    reading = read_tree(text.encode())
    if reading.fault is not None:
        return _found(text, (reading,), reading.fault)
    try:
        flat = flat_commands(text)
    except NotFlat:
        return _found(text, (reading,), None)
    if not _agree(flat, reading.commands):
        return Parsed(text=text, commands=tuple(reading.commands), fault="it can be read in more than one way")
    is_one_line = len(flat) == 1 and not flat[0].end and "\n" not in text.strip(" \t\n")
    return Parsed(text=text, commands=tuple(reading.commands), is_flat=True, is_one_line=is_one_line)


def _continued(text: str) -> Parsed:
    """A line with a word that goes on after a line break. In a comment or quotes it does not: read in both ways."""
    readings = [read_tree(one.encode()) for one in (_CONTINUED.sub(r"\1", text), text)]
    return _found(text, readings, "a word in it goes on after a backslash and a line break")


def _found(text: str, readings: Sequence[TreeReading], fault: str | None) -> Parsed:
    return Parsed(
        text=text,
        commands=tuple(command for one in readings for command in one.commands),
        functions=tuple(name for one in readings for name in one.functions),
        loops=tuple(loop for one in readings for loop in one.loops),
        fault=fault,
    )


def _unfit(text: str) -> str | None:
    if storable(text) != text:
        return "it holds a NUL or another character that is no valid text"
    if len(text.encode()) > MAX_BYTES:
        return f"it is longer than {MAX_BYTES:,} bytes"
    if sum(map(text.count, _OPERATORS)) > MAX_OPERATORS:
        return f"it holds more than {MAX_OPERATORS:,} operators"
    if text.isascii() and text.isprintable():
        return None
    for character in text:
        if character not in "\n\t " and unicodedata.category(character) in _ODD_CATEGORIES:
            return f"it holds the hidden or control character U+{ord(character):04X}"
    return None


def _agree(flat: list[FlatCommand], commands: list[SimpleCommand]) -> bool:
    """Whether both readers saw the same words, and the same redirects in the same order."""
    if [tuple(one.words) for one in flat] != [one.words for one in commands]:
        return False
    if any(one.assignments for one in commands):
        return False
    return [it for one in flat for it in one.redirects] == [it for one in commands for it in one.redirects]
