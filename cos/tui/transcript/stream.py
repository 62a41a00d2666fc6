"""Cuts growing Markdown into finished blocks and one open block, so that only the open one is rendered again.

The cut depends on whole lines only, never on how the text was divided into deltas. A finished block never changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)$")
_LIST = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?:\s|$)")
_TABLE_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?\s*$")
_UNDECIDED = re.compile(r"[-=*_`~#>|+\s]{0,40}\d{0,9}[.)]?[ \t]{0,4}$")

LARGE_BLOCK = 6_000
"""Characters after which a list or table is cut between two of its items."""
CODE_LINES = 80
"""Lines after which fenced code is cut: what is open is rendered again on every frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    kind: Literal["markdown", "code"]
    text: str
    """Markdown, or code without its fences."""
    info: str = ""
    """The word after the opening fence."""
    joined: bool = False
    """No blank line before it: it continues the block before."""


class BlockSplitter:
    """`feed` it text; `finished` grows, and `open_block` is what is not finished yet."""

    def __init__(self) -> None:
        self.finished: list[Block] = []
        self._partial: list[str] = []
        self._lines: list[str] = []
        self._size = 0
        self._joined = False
        self._fence: re.Match[str] | None = None
        self._after_blank = False
        self._in_list = False
        self._table_head: list[str] = []

    def feed(self, delta: str) -> None:
        head, newline, tail = delta.rpartition("\n")
        if not newline:
            self._partial.append(delta)
            return
        for line in ("".join(self._partial) + head).split("\n"):
            self._take(line)
        self._partial = [tail]

    def open_block(self, *, streaming: bool = False) -> Block | None:
        """The unfinished end. While `streaming`, a last line of bare marks waits: `-` may become a list or a rule."""
        partial = "".join(self._partial)
        waits = self._closes(partial) if self._fence else streaming and _UNDECIDED.match(partial) is not None
        lines = self._lines if waits or not partial else [*self._lines, partial]
        if not any(line.strip() for line in lines) and not (self._fence and not self._joined):
            return None
        return self._block(lines)

    def _block(self, lines: list[str]) -> Block:
        if self._fence is None:
            return Block(kind="markdown", text="\n".join(lines), joined=self._joined)
        indent = len(self._fence[1])
        code = "\n".join(line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines)
        return Block(kind="code", text=code, info=self._fence[3].strip(), joined=self._joined)

    def _take(self, line: str) -> None:
        if self._fence:
            self._take_code(line)
            return
        fence = _FENCE.match(line)
        if fence and not (fence[2][0] == "`" and "`" in fence[3]) and not (self._in_list and fence[1]):
            self._finish()
            self._fence = fence
        elif not line.strip():
            self._after_blank = bool(self._lines)
            if self._lines:
                self._add(line)
        else:
            self._take_text(line)

    def _take_code(self, line: str) -> None:
        assert self._fence is not None
        if self._closes(line):
            if self._lines or not self._joined:
                self._finish()
            self._fence, self._joined = None, False
            return
        self._add(line)
        if len(self._lines) >= CODE_LINES:
            self._finish()
            self._joined = True

    def _closes(self, line: str) -> bool:
        assert self._fence is not None
        mark = line.strip()
        indented = line.startswith(("    ", "\t"))
        return not indented and len(mark) >= len(self._fence[2]) and not mark.strip(self._fence[2][0])

    def _take_text(self, line: str) -> None:
        item = _LIST.match(line) is not None
        outermost = line[0] not in " \t"
        if self._after_blank and outermost and not (item and self._in_list and self._size < LARGE_BLOCK):
            self._finish()
        elif self._size >= LARGE_BLOCK and outermost and self._in_list and item:
            self._finish()
            self._joined = True
        elif self._size >= LARGE_BLOCK and self._table_head and "|" in line:
            head = self._table_head
            self._finish()
            self._lines, self._table_head = list(head), head
        self._after_blank = False
        self._in_list = self._in_list or item
        if not self._table_head and self._lines and "|" in self._lines[-1] and _TABLE_RULE.match(line):
            self._table_head = [self._lines[-1], line]
        self._add(line)

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _finish(self) -> None:
        if self._lines or self._fence:
            self.finished.append(self._block(self._lines))
        self._lines, self._size, self._joined = [], 0, False
        self._after_blank = self._in_list = False
        self._table_head = []


def blocks_of(text: str) -> list[Block]:
    """All blocks of a whole text."""
    splitter = BlockSplitter()
    splitter.feed(text)
    last = splitter.open_block()
    return splitter.finished if last is None else [*splitter.finished, last]
