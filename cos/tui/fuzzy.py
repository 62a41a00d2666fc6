"""Finds paths by the letters of a query in their order; the best ones are kept while more and more paths come in."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from typing import Final

MOST: Final = 50
_NAME, _WORD = 40, 25


class Matcher:
    """Of one query. Capitals are told apart only when the query has one."""

    def __init__(self, query: str, most: int = MOST) -> None:
        flags = 0 if any(letter.isupper() for letter in query) else re.IGNORECASE
        letters = [re.escape(letter) for letter in query]
        # The whole query in one piece is looked for first; `.*?` finds the leftmost way to spread it.
        self._piece = re.compile(re.escape(query), flags)
        self._spread = re.compile(".*?".join(letters), flags | re.DOTALL)
        self._most = most
        self._best: list[tuple[int, int, str]] = []

    def add(self, paths: Iterable[str]) -> None:
        """Look at more paths."""
        self._best = heapq.nsmallest(self._most, [*self._best, *self._ranked(paths)])

    @property
    def best(self) -> list[str]:
        """The best matches so far: those whose file name holds the query, then tighter ones, then shorter ones."""
        return [path for _, _, path in self._best]

    def _ranked(self, paths: Iterable[str]) -> Iterator[tuple[int, int, str]]:
        for path in paths:
            name_at = path.rfind("/") + 1
            found = self._piece.search(path, name_at) or self._piece.search(path)
            found = found or self._spread.search(path, name_at) or self._spread.search(path)
            if found is None:
                continue
            start, end = found.span()
            rank = end - start
            if start >= name_at:
                rank -= _NAME
            if start == name_at or not path[start - 1].isalnum():
                rank -= _WORD
            yield rank, len(path), path
