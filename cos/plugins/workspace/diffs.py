"""A unified diff of two texts, bounded in time and size, with its counts."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from cos.agent.text import storable

SHOWN_LINES = 2_000
RESULT_LINES = 200
_LINE_CHARACTERS = 2_000
_CONTEXT = 3
_NO_END = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """`lines` are all of it, without line ends."""

    lines: list[str]
    added: int
    removed: int

    def text(self, limit_lines: int = SHOWN_LINES) -> str:
        """The diff, cut after `limit_lines` and after about 100 characters for each of them, with the amount."""
        kept, size = [], 0
        for line in self.lines[:limit_lines]:
            size += len(line)
            if size > limit_lines * 100:
                break
            kept.append(line)
        left = len(self.lines) - len(kept)
        note = f"[{left:,} more lines of the diff are not shown]\n" if left else ""
        return "".join(f"{line}\n" for line in kept) + note

    def is_cut(self, limit_lines: int = SHOWN_LINES) -> bool:
        return self.text(limit_lines).endswith("are not shown]\n") or any(
            len(line) > _LINE_CHARACTERS for line in self.lines
        )


def diff_of(old: str, new: str, path: str, *, is_new: bool = False) -> Diff:
    """`old` to `new`. Only the part between the first and the last different line is compared.

    When that part is over `SHOWN_LINES` long it is shown as removed and added whole.
    """
    marks_ends = _ends(old) != _ends(new)
    old_lines, new_lines = _shown_lines(old, marks_ends=marks_ends), _shown_lines(new, marks_ends=marks_ends)
    start = _common(old_lines, new_lines)
    stop = _common(old_lines[start:][::-1], new_lines[start:][::-1])
    first, after = max(0, start - _CONTEXT), min(stop, _CONTEXT)
    old_part, new_part = (lines[first : len(lines) - stop + after] for lines in (old_lines, new_lines))
    body = _hunks(old_part, new_part, before=start - first, after=after, first=first)
    path = path.lstrip("/")
    head = ["--- /dev/null" if is_new else f"--- a/{path}", f"+++ b/{path}"]
    added, removed = (sum(line.startswith(sign) for line in body) for sign in "+-")
    return Diff(lines=[*head, *_final(body)] if body else [], added=added, removed=removed)


def _hunks(old: list[str], new: list[str], *, before: int, after: int, first: int) -> list[str]:
    """`old` to `new`, which share `before` lines at the start and `after` at the end; they start at line `first`."""
    removed, added = old[before : len(old) - after], new[before : len(new) - after]
    if removed and added and max(len(removed), len(added)) <= SHOWN_LINES:
        return [_moved(line, first) for line in difflib.unified_diff(old, new, n=_CONTEXT, lineterm="")][2:]
    if not removed and not added:
        return []
    kept_before, kept_after = old[:before], old[len(old) - after :]
    return [
        f"@@ -{_range(first, len(old))} +{_range(first, len(new))} @@",
        *(" " + line for line in kept_before), *("-" + line for line in removed),
        *("+" + line for line in added), *(" " + line for line in kept_after),
    ]  # fmt: skip


def _shown_lines(text: str, *, marks_ends: bool) -> list[str]:
    """Lines with `\\n` at the end of all but an unfinished last one; `\\r` is shown where the ends differ."""
    lines = storable(text).split("\n")
    finished = [f"{_without_return(line, marks_ends=marks_ends)}\n" for line in lines[:-1]]
    return [*finished, lines[-1]] if lines[-1] else finished


def _without_return(line: str, *, marks_ends: bool) -> str:
    return line.removesuffix("\r") + "\u240d" * (marks_ends and line.endswith("\r"))


def _ends(text: str) -> tuple[bool, bool]:
    crlf = text.count("\r\n")
    return crlf > 0, text.count("\n") > crlf


def _common(old: list[str], new: list[str]) -> int:
    return next((index for index, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


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


def _final(body: list[str]) -> list[str]:
    lines: list[str] = []
    for line in body:
        shown = line.removesuffix("\n")
        more = f"… [{len(shown) - _LINE_CHARACTERS:,} more characters]" if len(shown) > _LINE_CHARACTERS else ""
        lines.append(shown[:_LINE_CHARACTERS] + more)
        if shown == line and line[:1] in "+- " and not line.startswith("@@"):
            lines.append(_NO_END)
    return lines
