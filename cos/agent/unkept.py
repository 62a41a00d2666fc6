"""What has come on screen of a reply and is not in the journal yet."""

from __future__ import annotations

from itertools import count, groupby
from typing import TYPE_CHECKING

from cos.agent.events import MessageDelta, ThinkingDelta
from cos.agent.records import ReplyPiece

if TYPE_CHECKING:
    from collections.abc import Sequence


class Unkept:
    """Pieces for `Journal.keep_reply`; one that could not be kept is given again under its number."""

    def __init__(self) -> None:
        self._fresh: list[MessageDelta | ThinkingDelta] = []
        """What is not in a piece yet."""
        self._pieces: list[ReplyPiece] = []
        self._numbers = count()

    def __bool__(self) -> bool:
        return bool(self._fresh or self._pieces)

    def add(self, event: MessageDelta | ThinkingDelta) -> None:
        self._fresh.append(event)

    def pieces(self) -> list[ReplyPiece]:
        """All of it: what has come in one go is one piece."""
        fresh, self._fresh = self._fresh, []
        for kind, run in groupby(fresh, key=type):
            text = "".join([event.text for event in run])
            self._pieces.append(ReplyPiece(next(self._numbers), text, kind is ThinkingDelta))
        return list(self._pieces)

    def forget(self, kept: Sequence[ReplyPiece]) -> None:
        """The journal has the first ones."""
        del self._pieces[: len(kept)]

    def clear(self) -> None:
        self._fresh, self._pieces = [], []
