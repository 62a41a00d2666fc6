r"""Finding a piece of text whatever its line ends are, and replacing it so that lines keep the ends they have.

What a reader is shown has no line ends, so a `\n` in the wanted text stands for `\n` or `\r\n` (for `\r` in a file that
knows no other). A wanted text that holds `\r` itself is taken literally, and so is its replacement.
"""

from __future__ import annotations

import difflib
import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cos.plugins.workspace.encodings import CR, CRLF, LF, majority_end

MAX_PLACES = 100_000
# Comparing lines takes time that grows with the product of their numbers.
_COMPARED_PAIRS = 1_000_000


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Replacement:
    """Finds `old` in `text` and puts `new` in its place."""

    text: str
    old: str
    new: str

    def places(self) -> list[Span]:
        """Where `old` is, from the start, without overlaps; one more than `MAX_PLACES` when there are too many."""
        if self._is_literal:
            return list(_occurrences(self.text, self.old))
        if LF not in self.text:
            return list(_occurrences(self.text.replace(CR, LF), self.old))
        plain = self.text.replace(CRLF, LF)
        shortened = [match.start() - index for index, match in enumerate(re.finditer(CRLF, self.text))]
        return [
            Span(start + bisect_left(shortened, start), end + bisect_left(shortened, end))
            for start, end in _occurrences(plain, self.old)
        ]

    def applied(self, places: Sequence[Span]) -> str:
        """The text with `new` at each of `places`. What is outside of them is untouched."""
        pieces, end = [], 0
        majority = majority_end(self.text)
        for place in places:
            pieces += [self.text[end : place.start], self._new_at(place, majority)]
            end = place.end
        return "".join([*pieces, self.text[end:]])

    @property
    def _is_literal(self) -> bool:
        return CR in self.old

    def _new_at(self, place: Span, majority: str) -> str:
        if self._is_literal or LF not in self.new:
            return self.new
        old_lines, new_lines = self.old.split(LF), self.new.split(LF)
        end_pattern = re.compile("\r?\n" if LF in self.text else "\r")
        old_ends = end_pattern.findall(self.text, place.start, place.end)
        if following := end_pattern.match(self.text, place.end):
            old_ends.append(following.group())  # the last line's own end, should a line now come after it
        ends = [majority] * (len(new_lines) - 1)
        for new_index, old_index in _same_lines(old_lines, new_lines):
            if new_index < len(ends) and old_index < len(old_ends):
                ends[new_index] = old_ends[old_index]
        # A line that brings its own `\r` brings its whole end.
        ends = [LF if line.endswith(CR) else end for line, end in zip(new_lines, ends, strict=False)]
        return "".join(line + end for line, end in zip(new_lines, [*ends, ""], strict=True))


def _occurrences(text: str, wanted: str) -> Iterator[Span]:
    start, count = text.find(wanted), 0
    while start >= 0 and count <= MAX_PLACES:
        yield Span(start, start + len(wanted))
        start, count = text.find(wanted, start + len(wanted)), count + 1


def _same_lines(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Pairs (new index, old index) of lines that are equal, or that replace each other one by one."""
    if old == new or len(old) * len(new) > _COMPARED_PAIRS:
        return [(index, index) for index in range(min(len(old), len(new)))]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    pairs: list[tuple[int, int]] = []
    for _, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        pairs += zip(range(new_from, new_to), range(old_from, old_to), strict=False)
    return pairs


def line_number(text: str, position: int) -> int:
    """The line (from 1) that `position` is in."""
    end = LF if LF in text else CR
    return text.count(end, 0, position) + 1


_TEXTS_LOOKED_AT = 3_000
_LINE_CHARACTERS = 200
_NEAR_LINES = 3


def near_lines(text: str, wanted: str) -> list[tuple[int, str]]:
    """Up to three lines (number, text) that are most like the first line of `wanted`, in bounded time."""
    first = next((line.strip() for line in wanted.splitlines() if line.strip()), "")[:_LINE_CHARACTERS]
    if not first:
        return []
    end = LF if LF in text else CR
    same = re.finditer(rf"(?m)^[ \t]*{re.escape(first)}[ \t]*\r?$", text.replace(CR, LF) if end == CR else text)
    if found := [(line_number(text, match.start()), match.group()) for match in itertools.islice(same, _NEAR_LINES)]:
        return found
    lines = [line[:_LINE_CHARACTERS].removesuffix(CR) for line in text.split(end, _TEXTS_LOOKED_AT)[:_TEXTS_LOOKED_AT]]
    numbers: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        numbers.setdefault(line.strip(), number)
    near = difflib.get_close_matches(first, list(numbers), n=_NEAR_LINES, cutoff=0.6)
    return sorted((numbers[line], lines[numbers[line] - 1]) for line in near)
