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
    is_exact: bool = True
    """False when the texts were too long to compare: the changed part is shown as removed and added whole."""

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
    """`old` to `new`. Only the part between the first and the last different line is compared."""
    marks_ends = _ends(old) != _ends(new)
    old_lines, new_lines = _shown_lines(old, marks_ends=marks_ends), _shown_lines(new, marks_ends=marks_ends)
    start = _common(old_lines, new_lines)
    stop = _common(old_lines[start:][::-1], new_lines[start:][::-1])
    middle_old, middle_new = old_lines[start : len(old_lines) - stop], new_lines[start : len(new_lines) - stop]
    path = path.lstrip("/")
    head = ["--- /dev/null" if is_new else f"--- a/{path}", f"+++ b/{path}"]
    if max(len(middle_old), len(middle_new)) > SHOWN_LINES and min(len(middle_old), len(middle_new)):
        hunk = f"@@ -{_range(start, len(middle_old))} +{_range(start, len(middle_new))} @@"
        body = [hunk, *("-" + line for line in middle_old), *("+" + line for line in middle_new)]
        return Diff(
            lines=[*head, *_final(body)], added=len(middle_new), removed=len(middle_old), is_exact=False
        )  # fmt: skip
    before = max(0, start - _CONTEXT)
    after = min(stop, _CONTEXT)
    compared = difflib.unified_diff(
        old_lines[before : len(old_lines) - stop + after], new_lines[before : len(new_lines) - stop + after],
        n=_CONTEXT, lineterm="",
    )  # fmt: skip
    body = [_moved(line, before) for line in compared][2:]
    added, removed = (sum(line.startswith(sign) for line in body) for sign in "+-")
    return Diff(lines=[*head, *_final(body)] if body else [], added=added, removed=removed)


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


def _range(start: int, length: int) -> str:
    return f"{start + bool(length)},{length}"


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
