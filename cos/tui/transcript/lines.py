"""From text to lines of cells: cleaning, wrapping by cell width, and one line of the view with what a copy takes of it.

Nothing of a model, tool or title becomes a segment without `clean`. Every line is exactly as wide as the view.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from textual.strip import Strip

from cos.agent.text import storable, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.style import Style

    from cos.tui.transcript.look import Look

Run = tuple[str, "Style"]
"""A piece of one line in one style, already clean."""

GUTTER = 2
"""Cells at the left that belong to the cursor mark."""

LONGEST_LINE = 4_000
_SYMBOL = "\u2190-\u2bff\U0001f000-\U0001faff"
_JOINS_NOTHING = re.compile(f"(?<![{_SYMBOL}\ufe0f])\u200d|\u200d(?![{_SYMBOL}])")
_PIECES = re.compile(" +|[^ ]+")


class Line(NamedTuple):
    """One line of the view."""

    strip: Strip
    text: str = ""
    """What a copy of the line takes: no bars, no padding."""
    lead: int = 0
    """Characters of the strip before `text`."""
    joint: str = "\n"
    """What a copy puts between this line and the next. Empty or a space where only the width broke the line, and empty
    with no text for a line that is a label only."""


class Break(NamedTuple):
    """One wrapped line as a slice of the unwrapped text, and what stood between it and the next."""

    start: int
    end: int
    joint: str


def clean(text: str) -> str:
    """`text` with nothing in it that a terminal would act on; line feeds stay, tabs become spaces.

    A zero-width joiner that does not join two symbols goes too: tables of widths and terminals disagree on it.
    """
    if text.isascii() and text.isprintable():
        return text
    return _JOINS_NOTHING.sub("", harmless(text)).expandtabs(4)


def harmless(text: str) -> str:
    """`text` for a clipboard: every character that is seen, and controls as visible signs."""
    return visible(storable(text))


def clip(text: str, limit: int = LONGEST_LINE) -> str:
    """The start of a text too long to be worth wrapping, with the amount that is left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]} … {len(text) - limit:,} more characters"


def one_line(text: str, limit: int = 500) -> str:
    """A title or a note: cleaned, on one line, and never longer than is worth measuring."""
    return clean(text if len(text) <= limit else text[:limit] + "…").replace("\n", " ")


def shorten(text: str, width: int) -> str:
    """`text` cut to `width` cells, ending in `…` when something is missing."""
    if len(text) <= width * 8 and cell_len(text) <= width:
        return text
    if width < 1:
        return ""
    kept, cells = 0, 0
    for _, end, size in split_graphemes(text[: width * 8 + 8])[0]:
        cells += size
        if cells > width - 1:
            break
        kept = end
    return text[:kept] + "…"


def make_line(
    runs: Sequence[Run],
    width: int,
    look: Look,
    *,
    lead: Sequence[Run] = (),
    fill: Style | None = None,
    joint: str = "\n",
) -> Line:
    """One line: decoration `lead`, then `runs`, padded with `fill` or cut to exactly `width` cells."""
    base = look.base
    segments = [Segment(text, base + style) for text, style in (*lead, *runs) if text]
    cells = sum(cell_len(segment.text) for segment in segments)
    if cells < width:
        segments.append(Segment(" " * (width - cells), base if fill is None else base + fill))
    strip = Strip(segments, width) if cells <= width else cut(segments, width, base)
    text = "".join(text for text, _ in runs)
    return Line(strip, text, sum(len(text) for text, _ in lead), joint)


def cut(segments: Iterable[Segment], width: int, base: Style) -> Strip:
    """The first `width` cells; where a wide glyph would be halved, a space stands."""
    found: list[Segment] = []
    room = width
    for segment in segments:
        size = cell_len(segment.text)
        if size <= room:
            found.append(segment)
            room -= size
            continue
        kept = 0
        for _, end, cells in split_graphemes(segment.text)[0]:
            if cells > room:
                break
            room -= cells
            kept = end
        found.append(Segment(segment.text[:kept], segment.style))
        break
    return Strip([*found, Segment(" " * room, base)] if room else found, width)


def wrap(runs: Sequence[Run], width: int, *, hard: bool = False) -> Iterator[tuple[list[Run], str]]:
    """`runs` as lines of at most `width` cells, each with its joint. `hard` keeps every space and breaks anywhere."""
    text = "".join(text for text, _ in runs)
    breaks = _hard_breaks(text, width) if hard else word_breaks(text, width)
    if len(breaks) == 1 and breaks[0].end == len(text):
        yield list(runs), "\n"
        return
    for found in breaks:
        yield _slice(runs, found.start, found.end), found.joint


def _slice(runs: Iterable[Run], start: int, end: int) -> list[Run]:
    found: list[Run] = []
    at = 0
    for text, style in runs:
        piece = text[max(0, start - at) : max(0, end - at)]
        if piece:
            found.append((piece, style))
        at += len(text)
        if at >= end:
            break
    return found


def _hard_breaks(text: str, width: int) -> list[Break]:
    width = max(1, width)
    starts = [0]
    if text.isascii():
        starts.extend(range(width, len(text), width))
    else:
        _fill(text, 0, 0, width, starts)
    inner = [Break(start, end, "") for start, end in pairwise(starts)]
    return [*inner, Break(starts[-1], len(text), "\n")]


def _fill(word: str, offset: int, cells: int, width: int, starts: list[int]) -> int:
    """Break `word` between visible characters, the first line having `cells` taken; the cells of the last line."""
    for start, _, size in split_graphemes(word)[0]:
        if cells and cells + size > width:
            starts.append(offset + start)
            cells = 0
        cells += size
    return cells


def word_breaks(text: str, width: int) -> list[Break]:
    """Where to break `text`: at spaces, and inside a word only when it is wider than a line or holds wide glyphs."""
    width = max(1, width)
    if len(text) <= width and text.isascii():
        return [Break(0, len(text), "\n")]
    found: list[Break] = []
    start = cells = space = 0
    for match in _PIECES.finditer(text):
        piece, at = match.group(), match.start()
        size = cell_len(piece)
        if piece[0] == " ":
            space, cells = at, cells + size
            continue
        space = space if at and text[at - 1] == " " else at
        if cells + size <= width:
            cells += size
            continue
        if space > start and (size == len(piece) or cells >= width):
            found.append(Break(start, space, text[space:at]))
            start, cells = at, 0
        starts: list[int] = []
        cells = _fill(piece, at, cells, width, starts) if size > width or cells else size
        for cut in starts:
            found.append(Break(start, cut, ""))
            start = cut
    end = len(text) if cells <= width else max(start, len(text.rstrip(" ")))
    found.append(Break(start, end, "\n"))
    return found


def paragraph(
    runs: Sequence[Run], width: int, look: Look, *, lead: Sequence[Run] = (), hard: bool = False
) -> Iterator[Line]:
    """One unwrapped line of text as lines of the view, `lead` repeated before each."""
    room = width - sum(cell_len(text) for text, _ in lead)
    for piece, joint in wrap(runs, room, hard=hard):
        yield make_line(piece, width, look, lead=lead, joint=joint)


def plain_lines(
    text: str, style: Style, width: int, look: Look, *, lead: Sequence[Run] = (), hard: bool = False
) -> Iterator[Line]:
    """Text of a stranger, line by line, with no line longer than is worth wrapping."""
    for row in text.split("\n"):
        yield from paragraph([(clean(clip(row)), style)], width, look, lead=lead, hard=hard)
