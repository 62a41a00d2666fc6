"""What a conversation consists of: each kind of entry draws itself as lines at a width. Tool calls are in `calls`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from rich.style import Style

from cos.tui.transcript.diff import counts, diff_lines
from cos.tui.transcript.lines import GUTTER, Line, Run, harmless, make_line, one_line, paragraph, plain_lines, shorten

if TYPE_CHECKING:
    from cos.tui.transcript.look import Look

FOLD_AFTER_LINES = 30
FOLD_AFTER_CHARACTERS = 6_000
MOST_PLAIN_LINES = 1_000


@dataclass(kw_only=True, eq=False)
class Entry(ABC):
    """One item of the conversation. `key` is unique in a view; change an entry only through the view."""

    key: str
    turn_key: str = ""
    """Groups the entries of one turn."""
    folded: bool | None = None
    """None: as this kind of entry decides; else as the user decided."""

    reachable: ClassVar[bool] = True
    """The keyboard cursor stops here."""

    @property
    def foldable(self) -> bool:
        return False

    @property
    def folds_itself(self) -> bool:
        """Folded when the user has not decided."""
        return False

    @property
    def is_folded(self) -> bool:
        return self.foldable and (self.folds_itself if self.folded is None else self.folded)

    @property
    def compact(self) -> bool:
        """Stands without a blank line next to another compact entry."""
        return False

    @abstractmethod
    def lines(self, width: int, look: Look) -> list[Line]:
        """The whole entry at a width of at least one cell."""

    def draw_ahead(self, width: int, look: Look, until: float) -> bool:
        """Prepare `lines`; False when the time (perf_counter) is over before all is prepared. Call it again then."""
        return True

    @abstractmethod
    def whole(self) -> str:
        """All of its text, folded or not, as it came: it may hold anything."""

    def plain(self) -> str:
        """What a copy of the whole entry gives: `whole` with control characters made visible."""
        return harmless(self.whole())

    def estimate(self, width: int) -> int:
        """About how many lines it will have; cheap."""
        return _estimate(self.whole(), width)

    def change(self, **changes: object) -> None:
        """Set fields by name.

        Raises:
            TypeError: a name is not a field of this kind of entry.
        """
        allowed = {item.name for item in fields(self) if item.init and item.name != "key"}
        if unknown := sorted(changes.keys() - allowed):
            raise TypeError(
                f"{type(self).__name__} has no field {', '.join(unknown)}; it has {', '.join(sorted(allowed))}"
            )
        for name, value in changes.items():
            setattr(self, name, value)

    def forget(self) -> None:  # noqa: B027 - most kinds keep nothing
        """Drop what was kept for drawing."""


def _estimate(text: str, width: int) -> int:
    return len(text) // max(1, width - GUTTER) + text.count("\n") + 1


def _is_long(text: str) -> bool:
    return len(text) > FOLD_AFTER_CHARACTERS or text.count("\n") >= FOLD_AFTER_LINES


def fold_mark(folded: bool) -> str:
    return "▸ " if folded else "▾ "


@dataclass(kw_only=True, eq=False)
class TurnHeader(Entry):
    """The line above a turn, as its owner words it: `14:02 · running for 42s`."""

    text: str
    cost: str = ""
    """So far; empty while nobody knows. It is never cut off: what is short of room is the text."""
    total: str = ""
    """The cost in one figure, for lines that do not hold all of it."""
    reachable: ClassVar[bool] = False

    def lines(self, width: int, look: Look) -> list[Line]:
        fits = cell_len(f"{self.text} · {self.cost}") <= width - 6
        cost = one_line(self.cost if fits or not self.total else self.total)
        cost = f" · {cost}" if cost else ""
        pieces = one_line(self.text).split(" · ")
        # A piece is left out whole, as long as the time stays.
        while len(pieces) > 2 and cell_len(" · ".join(pieces) + cost) > width - 6:
            pieces.pop()
        text = shorten(shorten(" · ".join(pieces), max(0, width - 6 - cell_len(cost))) + cost, width - 6)
        lead = [("── ", look.rule)] if width > 12 else []
        rest = width - cell_len(text) - 5
        tail = [(" " + "─" * rest, look.rule)] if rest > 0 and lead else []
        line = make_line([(text, look.muted), *tail], width, look, lead=lead)
        return [line._replace(text=text)]

    def whole(self) -> str:
        return f"{self.text} · {self.cost}" if self.cost else self.text

    def estimate(self, width: int) -> int:
        return 1


@dataclass(kw_only=True, eq=False)
class UserMessage(Entry):
    """What the user wrote, exactly as typed. A very long one shows its start until it is unfolded."""

    text: str
    label: str = "you"

    @property
    def foldable(self) -> bool:
        return _is_long(self.text)

    @property
    def folds_itself(self) -> bool:
        return True

    def lines(self, width: int, look: Look) -> list[Line]:
        bar: list[Run] = [("▌ ", look.user)]
        mark = fold_mark(self.is_folded) if self.foldable else ""
        label = shorten(mark + one_line(self.label), width - 2)
        found = [make_line([(label, look.user)], width, look, lead=bar)._replace(text="", joint="")]
        found.extend(_bounded(self.text, look.base, width, look, bar, 10 if self.is_folded else MOST_PLAIN_LINES))
        return found

    def whole(self) -> str:
        return self.text

    def estimate(self, width: int) -> int:
        return 12 if self.is_folded else _estimate(self.text, width) + 1


def _bounded(text: str, style: Style, width: int, look: Look, lead: list[Run], most: int) -> list[Line]:
    """The first lines of a text and how much is not shown."""
    *rows, rest = [*text.rstrip("\n").split("\n", most), ""] if text.count("\n") < most else text.split("\n", most)
    found = list(islice(plain_lines("\n".join(rows), style, width - 1, look, lead=lead), most + 1))
    note = f"… {rest.count(chr(10)) + 1:,} more lines" if rest else ""
    if len(found) > most:
        found.pop()
        note = f"… {len(text) - sum(len(line.text) + len(line.joint) for line in found):,} more characters"
    if note:
        found.extend(paragraph([(note, look.muted)], width - 1, look, lead=lead))
    return [line._replace(strip=line.strip.adjust_cell_length(width, look.base)) for line in found]


@dataclass(kw_only=True, eq=False)
class Thinking(Entry):
    """The model's reasoning: one dim line until it is unfolded."""

    text: str = ""
    streaming: bool = False

    def __post_init__(self) -> None:
        self._chunks: list[str] = []

    @property
    def foldable(self) -> bool:
        return True

    @property
    def folds_itself(self) -> bool:
        return True

    @property
    def compact(self) -> bool:
        return self.is_folded

    def append(self, delta: str) -> None:
        self.streaming = True
        self._chunks.append(delta)

    def change(self, **changes: object) -> None:
        if "text" in changes:
            self._chunks.clear()
        super().change(**changes)

    def lines(self, width: int, look: Look) -> list[Line]:
        words = len(self.whole().split())
        verb = "thinking" if self.streaming else "thought for a while"
        amount = f"({words:,} word{'' if words == 1 else 's'})"
        head = shorten(f"{fold_mark(self.is_folded)}{verb} {amount}", width - GUTTER - 1)
        lead: list[Run] = [(" " * GUTTER, look.base)]
        found = [make_line([(head, look.muted)], width, look, lead=lead)]
        if not self.is_folded:
            bar = [*lead, ("▏ ", look.rule)]
            style = look.muted + Style(italic=True)
            found.extend(_bounded(self.whole().strip("\n"), style, width, look, bar, MOST_PLAIN_LINES))
        return found

    def whole(self) -> str:
        if self._chunks:
            self.text += "".join(self._chunks)
            self._chunks.clear()
        return self.text

    def estimate(self, width: int) -> int:
        return 1 if self.is_folded else _estimate(self.whole(), width) + 1


@dataclass(kw_only=True, eq=False)
class Notice(Entry):
    """A sentence about the turn that is not part of the conversation. A very long one shows its start."""

    text: str
    level: Literal["info", "warning", "error"] = "info"

    @property
    def foldable(self) -> bool:
        return _is_long(self.text)

    @property
    def folds_itself(self) -> bool:
        return True

    def lines(self, width: int, look: Look) -> list[Line]:
        glyph, style = {
            "info": ("i", look.muted), "warning": ("!", look.warning), "error": ("✗", look.error),
        }[self.level]  # fmt: skip
        glyph = (fold_mark(self.is_folded) if self.foldable else "") + glyph
        lead: list[Run] = [(" " * GUTTER, look.base), (f"{glyph} {self.level}  ", style)]
        size = sum(cell_len(text) for text, _ in lead)
        if size > width // 2:
            lead, size = [lead[0], (f"{glyph} ", style)], GUTTER + len(glyph) + 1
        text_style = look.muted if self.level == "info" else look.base
        most = FOLD_AFTER_LINES if self.is_folded else MOST_PLAIN_LINES
        found = _bounded(self.text, text_style, width, look, [(" " * size, look.base)], most)
        first = make_line([(found[0].text, text_style)], width, look, lead=lead, joint=found[0].joint)
        return [first, *found[1:]]

    def whole(self) -> str:
        return self.text


@dataclass(kw_only=True, eq=False)
class Diff(Entry):
    """Changes to a file as a unified diff."""

    diff: str
    title: str = ""

    @property
    def foldable(self) -> bool:
        return True

    @property
    def folds_itself(self) -> bool:
        return self.diff.count("\n") > FOLD_AFTER_LINES * 2

    def lines(self, width: int, look: Look) -> list[Line]:
        lead: list[Run] = [(" " * GUTTER, look.base)]
        added, removed = counts(self.diff)
        amount = f"  +{added} -{removed}"
        title = shorten(one_line(self.title or "diff"), width - GUTTER - 3 - len(amount))
        head: list[Run] = [(fold_mark(self.is_folded), look.muted), (title, Style(bold=True)), (amount, look.muted)]
        found = [make_line(head, width, look, lead=lead)]
        if not self.is_folded:
            found.extend(diff_lines(self.diff, width, look, lead=[*lead, ("  ", look.base)]))
        return found

    def whole(self) -> str:
        return self.diff

    def estimate(self, width: int) -> int:
        return 1 if self.is_folded else self.diff.count("\n") + 2
