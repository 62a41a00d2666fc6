"""Blocks of Markdown as lines of the view. markdown-it is imported when the first text is drawn.

HTML is shown as text. Link definitions count within one block only, because blocks are rendered one by one.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.style import Style

from cos.agent.text import storable, visible
from cos.tui.transcript.highlight import code_lines
from cos.tui.transcript.inline import Inline
from cos.tui.transcript.lines import GUTTER, clean, make_line, paragraph, plain_lines, wrap
from cos.tui.transcript.look import Look
from cos.tui.transcript.stream import Block, blocks_of
from cos.tui.transcript.table import Table, table_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.tui.transcript.lines import Line, Run

LARGEST_BLOCK = 16_000
"""Characters of one block that are parsed or shown; of a larger one the start is shown as plain text (the parser is not
linear)."""
MOST_PLAIN_LINES = 400
WIDEST_PROSE = 100
"""Cells: longer lines of prose are hard to read. Code and tables use the whole width."""
_BULLETS = "•◦▪"


def render_markdown(text: str, width: int, look: Look) -> list[Line]:
    """A whole text, rendered in one go."""
    return render_blocks(blocks_of(text), width, look)


def render_blocks(blocks: Sequence[Block], width: int, look: Look) -> list[Line]:
    """Blocks one below the other, a blank line between those that are not joined."""
    lines: list[Line] = []
    for block in blocks:
        if lines and not block.joined:
            lines.append(make_line([], width, look))
        lines.extend(render_block(block, width, look))
    return lines


def render_block(block: Block, width: int, look: Look) -> list[Line]:
    painter = Painter(width, look)
    if block.kind == "code":
        painter.code(block.text, block.info, labelled=not block.joined)
    elif len(block.text) > LARGEST_BLOCK:
        painter.plain(block.text)
    else:
        painter.paint(parser().parse(visible(storable(block.text))))
    return painter.lines


def prepare() -> None:
    """Import the parser and the lexers now, for instance in a thread after the first paint."""
    render_markdown("x\n\n```python\nx\n```", 20, Look())


@lru_cache(maxsize=1)
def parser() -> Any:
    markdown_it = importlib.import_module("markdown_it")
    return markdown_it.MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


class _Container:
    """A quote, list or list item that is open: what it puts before its lines."""

    def __init__(self, first: Run, rest: Run, *, tight: bool = False) -> None:
        self.first, self.rest = first, rest
        self.tight = tight
        """No blank lines between the blocks in it."""
        self.number: int | None = None
        self.depth = 0
        self.fresh = True
        """Nothing written yet."""

    def take(self) -> Run:
        run = self.first if self.fresh else self.rest
        self.fresh = False
        return run


class Painter:
    """Turns the tokens of one block into lines."""

    def __init__(self, width: int, look: Look) -> None:
        self.lines: list[Line] = []
        self._width = width
        self._look = look
        self._containers = [_Container((" " * GUTTER, look.base), (" " * GUTTER, look.base))]
        self._table: Table | None = None
        self._heading: Style | None = None

    def paint(self, tokens: Sequence[Any]) -> None:
        for number, token in enumerate(tokens):
            if token.type in ("bullet_list_open", "ordered_list_open"):
                self._open_list(token, _is_tight(tokens, number))
            elif token.type in ("bullet_list_close", "ordered_list_close", "blockquote_close", "list_item_close"):
                self._containers.pop()
            elif token.type.startswith(("table", "thead", "tbody", "tr", "th", "td")):
                self._table_token(token)
            else:
                self._block_token(token)

    def _block_token(self, token: Any) -> None:
        match token.type:
            case "inline":
                self._inline(token)
            case "heading_open":
                self._heading = self._heading_style(int(token.tag[1:]))
            case "heading_close":
                self._heading = None
            case "fence" | "code_block":
                self._separate()
                self.code(token.content.removesuffix("\n"), token.info)
            case "hr":
                self._separate()
                lead = self._lead()
                room = max(1, min(self._width - 1, WIDEST_PROSE) - _cells(lead))
                self.lines.append(make_line([("─" * room, self._look.rule)], self._width, self._look, lead=lead))
            case "blockquote_open":
                self._separate()
                bar = ("▎ ", self._look.rule)
                self._containers.append(_Container(bar, bar))
            case "list_item_open":
                self._open_item()

    def _heading_style(self, level: int) -> Style:
        look = self._look
        if level == 1:
            return look.heading + Style(underline=True)
        return look.heading if level == 2 else look.subheading

    def _inline(self, token: Any) -> None:
        style = self._heading or Style.null()
        if self._table is not None:
            lines = Inline(self._look, Style(bold=True) if len(self._table.rows) == 1 else style).walk(token.children)
            self._table.rows[-1].append([run for line in lines for run in line])
            return
        self._separate()
        for runs in Inline(self._look, style).walk(token.children):
            lead = self._lead()
            room = min(self._width - 1, WIDEST_PROSE) - _cells(lead)
            for number, (piece, joint) in enumerate(wrap(runs, room)):
                lead = self._lead() if number else lead
                self.lines.append(make_line(piece, self._width, self._look, lead=lead, joint=joint))

    def code(self, code: str, info: str, *, labelled: bool = True) -> None:
        """Code on its own background with a bar at the left; its language above it when it is known."""
        look = self._look
        bar: Run = ("▏ ", look.rule + look.code_block)
        if labelled and info.strip():
            label = clean(info.split(maxsplit=1)[0])[:40]
            runs = [(label, look.muted + look.code_block)]
            lead = [*self._lead(), bar]
            self.lines.append(
                make_line(runs, self._width, look, lead=lead, fill=look.code_block)._replace(text="", joint="")
            )
        for runs in code_lines(code, info, look):
            lead = [*self._lead(), bar]
            room = self._width - _cells(lead) - 1
            for piece, joint in wrap(runs, room, hard=True):
                self.lines.append(make_line(piece, self._width, look, lead=lead, fill=look.code_block, joint=joint))
                lead = [*self._lead(), bar]

    def plain(self, text: str) -> None:
        """The start of a text that is too large for the parser, and how much is left."""
        lead = self._lead()
        start = text[:LARGEST_BLOCK]
        lines = plain_lines(start, Style.null(), self._width, self._look, lead=lead)
        self.lines.extend(islice(lines, MOST_PLAIN_LINES))
        shown = sum(len(line.text) + len(line.joint) for line in self.lines)
        note = f"… {max(1, len(text) - shown):,} more characters of this block are not shown here; a copy has them"
        self.lines.extend(paragraph([(note, self._look.muted)], self._width, self._look, lead=lead))

    def _open_list(self, token: Any, tight: bool) -> None:
        self._separate()
        container = _Container(("", self._look.base), ("", self._look.base), tight=tight)
        container.depth = sum(item.number is not None or item.depth > 0 for item in self._containers) + 1
        if token.type == "ordered_list_open":
            container.number = int(token.attrGet("start") or 1) if token.attrGet("start") != 0 else 0
        self._containers.append(container)

    def _open_item(self) -> None:
        parent = self._containers[-1]
        if not parent.fresh and not parent.tight:
            self._blank()
        if parent.number is None:
            mark = _BULLETS[(parent.depth - 1) % len(_BULLETS)] + " "
        else:
            mark = f"{parent.number}. "
            parent.number += 1
        item = _Container((mark, self._look.marker), (" " * len(mark), self._look.base), tight=parent.tight)
        self._containers.append(item)

    def _table_token(self, token: Any) -> None:
        if token.type == "table_open":
            self._table = Table([], [])
        elif self._table is None:
            return
        elif token.type == "tr_open":
            self._table.rows.append([])
        elif token.type == "th_open":
            style = str(token.attrGet("style") or "")
            self._table.aligned.append(style.rpartition(":")[2].strip() or "left")
        elif token.type == "table_close":
            table, self._table = self._table, None
            self._separate()
            lead = self._lead()
            for line in table_lines(table, self._width - 1, self._look, lead):
                self.lines.append(line._replace(strip=line.strip.adjust_cell_length(self._width, self._look.base)))

    def _separate(self) -> None:
        """The blank line before a block, unless it comes first in what holds it."""
        inner = self._containers[-1]
        if not inner.fresh and not inner.tight:
            self._blank()

    def _blank(self) -> None:
        self.lines.append(make_line([], self._width, self._look, lead=self._lead()))

    def _lead(self) -> list[Run]:
        """What stands before the next line. On a narrow view deep nesting loses its outer part."""
        lead = [run for run in (container.take() for container in self._containers) if run[0]]
        while len(lead) > 1 and _cells(lead) > self._width // 2:
            del lead[0]
        return lead


def _is_tight(tokens: Sequence[Any], opened: int) -> bool:
    level = tokens[opened].level
    for token in tokens[opened + 1 :]:
        if token.level == level:
            return True
        if token.type == "paragraph_open" and token.level == level + 2 and not token.hidden:
            return False
    return True


def _cells(runs: Sequence[Run]) -> int:
    return sum(cell_len(text) for text, _ in runs)
