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
    is_caught_up: bool = False
    """Since then only what was told counts."""
    _told: OrderedDict[Hashable, str] = field(default_factory=OrderedDict)

    def begin(self, ordinal: int) -> None:
        """A client begins with a snapshot that ends with this message. Others may have begun with less."""
        if not self.is_caught_up:
            self.ordinal = ordinal if self.ordinal is None else min(self.ordinal, ordinal)

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
