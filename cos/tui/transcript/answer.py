"""What the model answers: Markdown that grows, drawn block by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from time import perf_counter
from typing import TYPE_CHECKING

from cos.tui.transcript.entries import Entry
from cos.tui.transcript.lines import GUTTER, Line, make_line
from cos.tui.transcript.markdown import LARGEST_BLOCK, render_block
from cos.tui.transcript.stream import Block, BlockSplitter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cos.tui.transcript.look import Look

_PASSED_BLOCKS = 200
MOST_MARKDOWN = 200_000
"""Characters of one answer that are drawn, half from its start and half from its end; a copy takes the whole."""


@dataclass(kw_only=True, eq=False)
class AssistantText(Entry):
    """Markdown of the model. Blocks that are finished stay as they were drawn."""

    text: str = ""
    streaming: bool = False
    """More text may come: a last line of bare marks is not drawn yet."""
    _drawn: dict[Block, list[Line]] = field(init=False, default_factory=dict)
    _drawn_for: tuple[int, Look] | None = field(init=False, default=None)
    _splitter: BlockSplitter | None = field(init=False, default=None)
    """Only while it is drawn: the blocks are a second copy of the text."""

    def __post_init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._chunks = [self.text]
        self._size, self._breaks = len(self.text), self.text.count("\n")
        self.forget()

    def append(self, delta: str) -> None:
        self.streaming = True
        self._chunks.append(delta)
        self._size += len(delta)
        self._breaks += delta.count("\n")
        if self._splitter is not None:
            self._splitter.feed(delta)

    def change(self, **changes: object) -> None:
        whole = changes.pop("text", None)
        super().change(**changes)
        if isinstance(whole, str) and whole != self.whole():
            self.text = whole
            self._start()

    def whole(self) -> str:
        if len(self._chunks) > 1:
            self._chunks = ["".join(self._chunks)]
        return self._chunks[0]

    def lines(self, width: int, look: Look) -> list[Line]:
        found: list[Line] = []
        shown, last = self._blocks(width, look)
        if len(self._drawn) > len(shown) + _PASSED_BLOCKS:
            # Of a huge text only the ends are shown: what the end has passed by is not drawn again.
            self._drawn = {block: self._drawn[block] for block in shown if block in self._drawn}
        for block in shown:
            if found and not block.joined:
                found.append(make_line([], width, look))
            found.extend(self._block(block, width, look, keep=block is not last))
        return found

    def draw_ahead(self, width: int, look: Look, until: float) -> bool:
        shown, last = self._blocks(width, look)
        finished = shown if last is None else shown[:-1]
        # What is new stands at the end: the many that are drawn are not looked at each time.
        new = list(takewhile(lambda block: block not in self._drawn, reversed(finished)))
        for block in reversed(new):
            self._block(block, width, look, keep=True)
            if perf_counter() > until:
                return False
        return True

    def _blocks(self, width: int, look: Look) -> tuple[list[Block], Block | None]:
        """Those that are shown, and the last one when it is not finished."""
        if self._drawn_for != (width, look):
            self._drawn, self._drawn_for = {}, (width, look)
        if self._splitter is None:
            self._splitter = BlockSplitter()
            self._splitter.feed(self.whole())
        last = self._splitter.open_block(streaming=self.streaming)
        return _within_bounds([*self._splitter.finished, *([last] if last else [])], self._size), last

    def _block(self, block: Block, width: int, look: Look, *, keep: bool) -> list[Line]:
        if not keep:
            return render_block(block, width, look)
        if block not in self._drawn:
            self._drawn[block] = render_block(block, width, look)
        return self._drawn[block]

    def estimate(self, width: int) -> int:
        return self._size // max(1, width - GUTTER) + self._breaks + 1

    def forget(self) -> None:
        self._drawn, self._drawn_for, self._splitter = {}, None, None


def _within_bounds(blocks: list[Block], size: int) -> list[Block]:
    """All blocks of a text of `size`, or those of its start and its end around a note on what is left out."""
    if size <= MOST_MARKDOWN or _fitting(blocks, MOST_MARKDOWN) == len(blocks):
        return blocks
    first = _fitting(blocks, MOST_MARKDOWN // 2)
    last = min(_fitting(reversed(blocks), MOST_MARKDOWN // 2), len(blocks) - first - 1)
    end = len(blocks) - last
    shown = sum(len(block.text) for block in (*blocks[:first], *blocks[end:]))
    hidden = max(1, size - shown)
    note = Block(kind="markdown", text=f"*… {hidden:,} more characters are not shown here; a copy has them …*")
    return [*blocks[:first], note, *blocks[end:]]


def _fitting(blocks: Iterable[Block], room: int) -> int:
    """How many of the first blocks are drawn with that many characters."""
    sizes = accumulate(min(len(block.text), LARGEST_BLOCK) for block in blocks)
    return sum(1 for _ in takewhile(lambda used: used <= room, sizes))
