"""The parts of an entry that are worth copying alone: code of Markdown, a command, its output, a diff."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cos.tui.transcript.answer import AssistantText
from cos.tui.transcript.calls import ToolCall
from cos.tui.transcript.entries import Diff, UserMessage
from cos.tui.transcript.lines import harmless, one_line
from cos.tui.transcript.markdown import LARGEST_BLOCK, parser
from cos.tui.transcript.stream import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cos.tui.transcript.entries import Entry


class Piece(NamedTuple):
    label: str
    """What it is: a language, or its part in a call; may be empty."""
    text: str

    @property
    def amount(self) -> str:
        count = self.text.count("\n") + 1
        return f"{count:,} line{'' if count == 1 else 's'}"


def pieces_of(entry: Entry) -> list[Piece]:
    """In the order of the entry, with control characters made visible as in every copy."""
    found: list[Piece] = []
    if isinstance(entry, AssistantText | UserMessage):
        found = list(_code(entry.whole()))
    elif isinstance(entry, ToolCall):
        output = entry.output or entry.result
        found = [Piece("call", entry.detail), Piece("diff", entry.diff), Piece("output", output.rstrip("\n"))]
    elif isinstance(entry, Diff):
        found = [Piece("diff", entry.diff)]
    return [Piece(one_line(label, 40), harmless(text)) for label, text in found if text]


def _code(text: str) -> Iterator[Piece]:
    """Fenced and indented code, also within lists and quotes. Code that was cut for drawing is whole again."""
    open_piece: Piece | None = None
    for block in blocks_of(text):
        if block.kind == "code" and block.joined and open_piece is not None:
            open_piece = open_piece._replace(text=f"{open_piece.text}\n{block.text}")
            continue
        if open_piece is not None:
            yield open_piece
            open_piece = None
        if block.kind == "code":
            open_piece = Piece(_language(block.info), block.text)
        elif len(block.text) <= LARGEST_BLOCK:
            for token in parser().parse(block.text):
                if token.type in ("fence", "code_block"):
                    yield Piece(_language(token.info), token.content.removesuffix("\n"))
    if open_piece is not None:
        yield open_piece


def _language(info: str) -> str:
    return next(iter(info.split()), "")
