"""A short piece of a long text with what was looked for in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cos.agent.text import clusters

SNIPPET_CHARACTERS: Final = 240
_BEFORE: Final = 60
"""Characters before the first mark."""
_MOST_MARKS: Final = 200
"""Places that are compared for the best piece."""
OPEN, CLOSE = ">>>", "<<<"


@dataclass(frozen=True, slots=True)
class Snippet:
    """One line. `spans` are the marked places in it, first character and the one after the last, in order."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def marked(self) -> str:
        """With `>>>` and `<<<` around the marked places."""
        pieces, at = list[str](), 0
        for start, end in self.spans:
            pieces += [self.text[at:start], OPEN, self.text[start:end], CLOSE]
            at = end
        return "".join([*pieces, self.text[at:]])


def snippet_of(text: str, marks: Sequence[re.Pattern[str]], length: int = SNIPPET_CHARACTERS) -> Snippet:
    """The piece of `text` with the most different marks, else its beginning; never cut within a visible character.

    A mark whose whole words are nowhere may be a part of a word.
    """
    line = " ".join(text.split())
    found = _found(line, marks) or _found(line, [_loose(mark) for mark in marks])
    start, end = _piece(line, found, length)
    lead, tail = "…" if start else "", "…" if end < len(line) else ""
    shift = len(lead) - start
    spans = [(first + shift, last + shift) for first, last, _ in found if start <= first < last <= end]
    return Snippet(f"{lead}{line[start:end]}{tail}", tuple(_apart(spans)))


def _found(line: str, marks: Sequence[re.Pattern[str]]) -> list[tuple[int, int, int]]:
    """First and last character of each place, and which mark it is, by place."""
    places: list[tuple[int, int, int]] = []
    for number, mark in enumerate(marks):
        for match in mark.finditer(line):
            if len(places) > _MOST_MARKS * (number + 1):
                break
            if match.end() > match.start():
                places.append((match.start(), match.end(), number))
    return sorted(places)


def _loose(mark: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(mark.pattern.replace("(?<![0-9A-Za-z])", "").replace("(?![0-9A-Za-z])", ""), re.IGNORECASE)


def _piece(line: str, found: Sequence[tuple[int, int, int]], length: int) -> tuple[int, int]:
    if len(line) <= length:
        return 0, len(line)
    best, most = 0, 0
    for at, (start, _, _) in enumerate(found[:_MOST_MARKS]):
        different = len({number for first, last, number in found[at : at + 50] if last <= start + length - _BEFORE})
        if different > most:
            best, most = start, different
    start = max(0, min(best - _BEFORE, len(line) - length))
    end = min(len(line), start + length)
    return _edge(line, start), _edge(line, end)


def _edge(line: str, at: int) -> int:
    """The nearest place at or before `at` that is between two visible characters."""
    while 0 < at < len(line) and not _is_between(line[max(0, at - 8) : at], line[at]):
        at -= 1
    return at


def _is_between(before: str, character: str) -> bool:
    """Whether `character` is a visible one of its own."""
    return len(clusters(before + character)) > len(clusters(before))


def _apart(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places that overlap become one."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
