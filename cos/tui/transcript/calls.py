"""A tool call: one row with its state as glyph and word, and below it, unless folded, what it does and its output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.style import Style

from cos.tui.transcript.diff import diff_lines
from cos.tui.transcript.entries import Entry, fold_mark
from cos.tui.transcript.lines import GUTTER, make_line, one_line, paragraph, plain_lines, shorten
from cos.tui.transcript.output import HeadTail

if TYPE_CHECKING:
    from cos.tui.transcript.lines import Line, Run
    from cos.tui.transcript.look import Look

CallState = Literal[
    "proposed", "waiting", "denied", "expired", "running", "ok", "failed", "cancelled", "timed out", "unknown"
]
"""`cos.agent.records` names the state of a finished call; proposed, waiting and running come from events."""

_STATES: dict[CallState, tuple[str, str]] = {
    "proposed": ("○", "muted"),
    "waiting": ("◆", "warning"),
    "denied": ("⊘", "error"),
    "expired": ("⌛", "warning"),
    "running": ("●", "active"),
    "ok": ("✓", "success"),
    "failed": ("✗", "error"),
    "cancelled": ("■", "muted"),
    "timed out": ("◷", "error"),
    "unknown": ("?", "warning"),
}
_STATE_CELLS = 2 + max(map(len, _STATES)) + 1
_OPENED: frozenset[CallState] = frozenset({"denied", "failed", "timed out", "unknown"})
_LEAST_TASK = 16
"""Cells that are left for what a child does before what it has used is left out."""
_SHORT, _LONG = (4, 8), (40, 80)
"""First and last lines that are shown of a text: when the row unfolds itself, and when the user unfolds it."""


@dataclass(kw_only=True, eq=False)
class ToolCall(Entry):
    name: str
    title: str = ""
    """One line that says what it does."""
    state: CallState = "proposed"
    duration_seconds: float | None = None
    detail: str = ""
    """The exact text of what runs: a command or arguments."""
    diff: str = ""
    note: str = ""
    """Progress, or who denied it and why."""
    children: tuple[tuple[str, str], ...] = ()
    """For each child agent that it began: its state and task, and what it has used."""
    result: str = ""
    """What the model received. Not drawn when live output was shown and the call went well."""

    def __post_init__(self) -> None:
        self._output = HeadTail()
        self._has_output = False

    @property
    def foldable(self) -> bool:
        return bool(self.detail or self.diff or self.result or self._has_output)

    @property
    def folds_itself(self) -> bool:
        return not (self.state in _OPENED or (self.state == "running" and self._has_output))

    @property
    def compact(self) -> bool:
        return self.is_folded or not self.foldable

    def append_output(self, text: str) -> None:
        """Live output of the running call."""
        self._has_output = self._has_output or bool(text)
        self._output.feed(text)

    def lines(self, width: int, look: Look) -> list[Line]:
        found = [self._row(width, look)]
        if self.note:
            lead: list[Run] = [(" " * (GUTTER + 2), look.base)]
            found.extend(paragraph([(one_line(self.note), look.muted)], width, look, lead=lead))
        found.extend(self._child(what, one_line(used), width, look) for what, used in self.children)
        if self.foldable and not self.is_folded:
            found.extend(self._body(width, look))
        return found

    def _row(self, width: int, look: Look) -> Line:
        glyph, role = _STATES[self.state]
        mark = fold_mark(self.is_folded) if self.foldable else "  "
        state_cells = _STATE_CELLS if width >= 60 else len(self.state) + 4
        state = f"{glyph} {self.state}"
        state += " " * (state_cells - cell_len(state))
        took = "" if self.duration_seconds is None else f"  {duration(self.duration_seconds)}"
        if width < 40:
            took = ""
        # The scrollbar lies over the last cell.
        room = width - 1 - GUTTER - len(mark) - state_cells - len(took)
        name = shorten(one_line(self.name), room)
        title = shorten("  " + one_line(self.title), room - cell_len(name)) if self.title else ""
        runs: list[Run] = [(state, getattr(look, role)), (name, Style(bold=True)), (title, look.base)]
        if took:
            runs.append((took, look.muted))
        return make_line(runs, width, look, lead=[(" " * GUTTER, look.base), (mark, look.muted)])

    def _child(self, what: str, used: str, width: int, look: Look) -> Line:
        lead: list[Run] = [(" " * (GUTTER + 2), look.base), ("↳ ", look.rule)]
        room = width - 1 - GUTTER - 4
        if cell_len(used) + _LEAST_TASK > room:
            used = ""
        what = shorten(one_line(what), room - cell_len(used) - 2)
        gap = " " * (room - cell_len(what) - cell_len(used))
        return make_line([(what, look.base), (gap + used, look.muted)], width, look, lead=lead)

    def _body(self, width: int, look: Look) -> list[Line]:
        bar: list[Run] = [(" " * (GUTTER + 2), look.base), ("│ ", look.rule)]
        if width < 20:
            bar = bar[1:]
        found: list[Line] = []
        if self.detail:
            found.extend(self._text(_fed(self.detail), Style(bold=True), width, look, bar))
        if self.diff:
            found.extend(diff_lines(self.diff, width, look, lead=bar))
        if self._has_output:
            found.extend(self._text(self._output, look.muted, width, look, bar))
        if self.result and not (self._has_output and self.state == "ok"):
            found.extend(self._text(_fed(self.result), look.base, width, look, bar))
        return found

    def _text(self, text: HeadTail, style: Style, width: int, look: Look, bar: list[Run]) -> list[Line]:
        head, tail = _LONG if self.folded is False else _SHORT
        first, hidden, last = text.view(head, tail)
        found = _wrapped(first, style, width, look, bar, head + tail)
        if hidden:
            note = f"… {hidden:,} lines hidden …"
            found.append(make_line([(note, look.muted + Style(italic=True))], width, look, lead=bar))
        return found + _wrapped(last, style, width, look, bar, tail)

    @property
    def output(self) -> str:
        """What is kept of the live output."""
        first, hidden, last = self._output.view(10**6, 10**6)
        return "\n".join([*first, *([f"… {hidden:,} lines were not kept …"] if hidden else []), *last])

    def whole(self) -> str:
        parts = [
            f"{self.state}  {self.name}  {self.title}".rstrip(),
            self.note,
            *map("  ".join, self.children),
            self.detail,
            self.diff,
        ]
        return "\n".join(part for part in [*parts, self.output, self.result] if part)

    def estimate(self, width: int) -> int:
        return (1 if self.compact else 14) + len(self.children)


def _fed(text: str) -> HeadTail:
    kept = HeadTail()
    kept.feed(text.rstrip("\n"))
    return kept


def _wrapped(rows: list[str], style: Style, width: int, look: Look, bar: list[Run], most: int) -> list[Line]:
    """Rows as lines; a row that alone would fill the screen shows its start."""
    found: list[Line] = []
    for row in rows:
        lines = list(plain_lines(row, style, width - 1, look, lead=bar, hard=True))
        found.extend(lines[:most])
        if len(lines) > most:
            note = f"… {sum(len(line.text) for line in lines[most:]):,} more characters of this line"
            found.append(make_line([(note, look.muted)], width - 1, look, lead=bar))
    return [line._replace(strip=line.strip.adjust_cell_length(width, look.base)) for line in found]


def duration(seconds: float) -> str:
    """`0.3s`, `42s`, `3m 05s`, `1h 02m`."""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"
