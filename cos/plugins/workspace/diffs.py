"""A unified diff of two texts, bounded in time and size, with its counts."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from cos.agent.text import storable

SHOWN_LINES = 2_000
RESULT_LINES = 200
_LINE_CHARACTERS = 2_000
_CONTEXT = 3
_NO_END = "\\ No newline at end of file"
# Comparing takes time that may grow with the square of the lines. Texts of equal length are compared in windows.
_WINDOW_LINES = 1_000
_WINDOWED_LINES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """The first `lines` of `total_lines`, without line ends."""

    lines: list[str]
    total_lines: int
    added: int
    removed: int

    def text(self, limit_lines: int = SHOWN_LINES) -> str:
        """The diff, cut after `limit_lines` and after about 100 characters for each of them, with the amount."""
        kept = self._kept(limit_lines)
        left = self.total_lines - len(kept)
        return "".join(f"{line}\n" for line in kept) + (
            f"[{left:,} more lines of the diff are not shown]\n" * bool(left)
        )

    @property
    def is_cut(self) -> bool:
        """Whether `text()` leaves anything out."""
        is_long = any(line.endswith(" more characters]") for line in self.lines)
        return is_long or len(self._kept(SHOWN_LINES)) < self.total_lines

    def _kept(self, limit_lines: int) -> list[str]:
        sizes = itertools.accumulate(len(line) for line in self.lines[:limit_lines])
        return [line for line, size in zip(self.lines, sizes, strict=False) if size <= limit_lines * 100]


def diff_of(old: str, new: str, path: str, *, is_new: bool = False) -> Diff:
    """`old` to `new`. Only the part between the first and the last different line is compared.

    When that part is very long it is shown as removed and added whole.
    """
    part = _ChangedPart.between(storable(old), storable(new))
    path = path.lstrip("/")
    head = ["--- /dev/null" if is_new else f"--- a/{path}", f"+++ b/{path}"]
    hunks = part.compared()
    if hunks is None:
        added, removed = _count(part.added), _count(part.removed)
        total = 3 + _count(part.before) + removed + added + _count(part.after)
        hunks = list(itertools.islice(part.whole(), SHOWN_LINES))
    else:
        added, removed = (sum(line.startswith(sign) for line in hunks) for sign in "+-")
        total = 2 + len(hunks)
    if not hunks:
        return Diff(lines=[], total_lines=0, added=0, removed=0)
    body = _final(hunks, marks_ends=_ends(part.removed) != _ends(part.added))
    return Diff(lines=[*head, *body], total_lines=total + body.count(_NO_END), added=added, removed=removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChangedPart:
    """What is between two texts' common start and common end, with some common lines before and after."""

    first: int
    """How many lines come before `before`."""
    before: str
    removed: str
    added: str
    after: str

    @classmethod
    def between(cls, old: str, new: str) -> _ChangedPart:
        start = old.rfind("\n", 0, _common_start(old, new)) + 1
        length = _common_start(old[start:][::-1], new[start:][::-1]) if old != new else len(old) - start
        old_end, new_end = len(old) - length, len(new) - length
        if not (_starts_line(old, old_end) and _starts_line(new, new_end)):
            skipped = old.find("\n", old_end) + 1 or len(old)
            old_end, new_end = skipped, new_end + skipped - old_end
        begin, end = start, old_end
        for _ in range(_CONTEXT):
            begin = old.rfind("\n", 0, max(0, begin - 1)) + 1
            end = old.find("\n", end) + 1 or len(old)
        return cls(
            first=old.count("\n", 0, begin), before=old[begin:start], removed=old[start:old_end],
            added=new[start:new_end], after=old[old_end:end],
        )  # fmt: skip

    def compared(self) -> list[str] | None:
        """The hunks line by line, None when that would take too long or is of no use."""
        removed, added = _count(self.removed), _count(self.added)
        if not removed and not added:
            return []
        if not removed or not added or max(removed, added) > (_WINDOWED_LINES if removed == added else SHOWN_LINES):
            return None
        old, new = (list(_lines(self.before + middle + self.after)) for middle in (self.removed, self.added))
        window = _WINDOW_LINES if max(removed, added) > SHOWN_LINES else max(len(old), len(new))
        return [
            _moved(line, self.first + start)
            for start in range(0, len(old), window)
            for line in list(_unified(old[start : start + window], new[start : start + window]))[2:]
        ]

    def whole(self) -> Iterator[str]:
        """One hunk that removes the old part and adds the new one."""
        old, new = (_count(self.before + middle + self.after) for middle in (self.removed, self.added))
        yield f"@@ -{_range(self.first, old)} +{_range(self.first, new)} @@"
        for sign, part in ((" ", self.before), ("-", self.removed), ("+", self.added), (" ", self.after)):
            for line in _lines(part):
                yield sign + line


def _common_start(old: str, new: str) -> int:
    """How many characters are equal from the start, found by halving: comparing slices is fast."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _starts_line(text: str, position: int) -> bool:
    return position == 0 or text[position - 1] == "\n"


def _lines(text: str) -> Iterator[str]:
    return (match.group() for match in re.finditer("[^\n]*\n|[^\n]+", text))


def _count(text: str) -> int:
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def _ends(text: str) -> tuple[bool, bool]:
    crlf = text.count("\r\n")
    return crlf > 0, text.count("\n") > crlf


def _unified(old: list[str], new: list[str]) -> Iterator[str]:
    return difflib.unified_diff(old, new, n=_CONTEXT, lineterm="")


def _range(first: int, length: int) -> str:
    return f"{first + bool(length)}" + ("" if length == 1 else f",{length}")


def _moved(line: str, by: int) -> str:
    """A hunk header of lines that were cut off `by` lines before them, with its true numbers."""
    if not line.startswith("@@"):
        return line
    old, new = line.split()[1:3]
    return f"@@ -{_shifted(old[1:], by)} +{_shifted(new[1:], by)} @@"


def _shifted(numbers: str, by: int) -> str:
    first, *length = numbers.split(",")
    return ",".join([str(int(first) + by), *length])


def _final(hunks: list[str], *, marks_ends: bool) -> list[str]:
    """Without line ends; `\\r` is shown where the kinds of line ends change."""
    lines: list[str] = []
    for hunk in hunks:
        line = hunk.removesuffix("\n")
        has_return = hunk.endswith("\r\n")
        line = line.removesuffix("\r") + "\u240d" * marks_ends if has_return else line
        more = f"… [{len(line) - _LINE_CHARACTERS:,} more characters]" if len(line) > _LINE_CHARACTERS else ""
        lines.append(line[:_LINE_CHARACTERS] + more)
        if not hunk.endswith("\n") and not hunk.startswith("@@"):
            lines.append(_NO_END)
    return lines
