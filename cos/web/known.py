"""What the clients of a channel were told of the tables: the difference is what has to be told."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from cos.web.objects import encode

if TYPE_CHECKING:
    from collections.abc import Hashable

    from cos.web.objects import Json

QUEUE: Final = "queue"
"""The key of what waits: it may come to be again as it was."""
MOST: Final = 1_000
"""Objects that are remembered; one that is forgotten is told again, which changes nothing for a client."""


@dataclass(slots=True)
class Known:
    """Of one session."""

    ordinal: int | None = None
    """Messages up to this one are with every client; None = nothing was read yet."""
    ended: int | None = None
    """Turns up to this one have ended for every client; None = nothing was read yet."""
    is_caught_up: bool = False
    """Since then only what was told counts."""
    events: int = 0
    """How many events of this process told something that tables say, too."""
    _told: OrderedDict[Hashable, str] = field(default_factory=OrderedDict)

    def begin(self, messages: list[Json], turns: list[Json]) -> None:
        """A client begins with a snapshot of these. Others may have begun with less."""
        if not self.is_caught_up:
            ordinal = max((message["ordinal"] for message in messages), default=0)
            self.ordinal = ordinal if self.ordinal is None else min(self.ordinal, ordinal)
            ended = _ended(turns)
            self.ended = ended if self.ended is None else min(self.ended, ended)

    def have_ended(self, turns: list[Json]) -> None:
        """Their ends were told, of those that have ended."""
        if self.ended is not None:
            self.ended = max(self.ended, _ended(turns))

    def forget(self, key: Hashable) -> None:
        """A client begins, who may read something else before it is told again."""
        self._told.pop(key, None)

    def is_news(self, key: Hashable, value: Json) -> bool:
        """Whether this differs from what was told under the key last; it is told now."""
        text = encode(value)
        if self._told.get(key) == text:
            return False
        self._told[key] = text
        self._told.move_to_end(key)
        if len(self._told) > MOST:
            self._told.popitem(last=False)
        return True

    def has(self, key: Hashable) -> bool:
        return key in self._told


def _ended(turns: list[Json]) -> int:
    """The ordinal up to which all of a session's newest turns have ended; oldest first, at most the last is open."""
    return max((turn["ordinal"] for turn in turns if turn["completed_at"] is not None), default=0)
