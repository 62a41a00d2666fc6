"""What a terminal sends, as messages. Whatever that is, it never ends the app: Textual's own reading would."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from textual._xterm_parser import XTermParser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual import events
    from textual.message import Message


class TerminalInput:
    """Of one terminal. Bytes that are no UTF-8, as a terminal in Latin-1 sends them, become U+FFFD."""

    def __init__(self, debug: bool = False) -> None:
        self._parser = _Parser(debug)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def messages(self, data: bytes) -> Iterator[Message]:
        """Those that `data` completes."""
        if text := self._decode(data):  # An empty text would mean the end to the parser.
            yield from self._parser.feed(text)

    def waited(self) -> Iterator[Message]:
        """Those that are complete because nothing more came, such as Esc alone."""
        yield from self._parser.tick()


class _Parser(XTermParser):
    def _parse_extended_key(self, sequence: str) -> list[events.Key] | None:  # type: ignore[override]
        """None for the key of a character that does not exist."""
        try:
            return super()._parse_extended_key(sequence)
        except (OverflowError, ValueError):
            return None
