"""Keys of a paste that the terminal did not mark as one: they follow each other faster than anybody types."""

from __future__ import annotations

BURST_SECONDS = 0.02
BURST_KEYS = 3


class Burst:
    """Tells such keys from typed ones by their times."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._last = 0.0
        self._fast_keys = 0

    def is_inside(self, at: float) -> bool:
        """Whether a key at this time (seconds) goes on with a burst."""
        return self._fast_keys >= BURST_KEYS and at - self._last < self.seconds

    def note(self, at: float, *, counts: bool) -> None:
        """A key came; `counts` when it is part of a text."""
        self._fast_keys = self._fast_keys + 1 if counts and at - self._last < self.seconds else 0
        self._last = at

    def end(self) -> None:
        self._fast_keys = 0

    def never_again(self) -> None:
        """The terminal marks its pastes, so fast keys are keys."""
        self.seconds = 0.0
