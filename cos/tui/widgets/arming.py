"""Arming: no decision before what is decided has been on screen, unchanged and with a quiet keyboard, for a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer
    from textual.widget import Widget

ARM_SECONDS = 0.4


class Arming:
    """Says whether `owner` takes a decision now. Whoever owns it disarms it on keys, changes, resizes and focus."""

    def __init__(
        self, owner: Widget, seconds: float, *, may_arm: Callable[[], bool], changed: Callable[[], None]
    ) -> None:
        """`may_arm` is asked when the moment is over; `changed` is called when it armed or disarmed."""
        self.seconds = seconds
        self._owner = owner
        self._may_arm = may_arm
        self._changed = changed
        self._timer: Timer | None = None
        self._is_armed = False
        self.was_early = False
        """A key that decides was not taken, because it came before the moment that is not over yet."""

    @property
    def is_armed(self) -> bool:
        return self._is_armed

    @is_armed.setter
    def is_armed(self, armed: bool) -> None:
        if armed != self._is_armed:
            self._is_armed = armed
            self._changed()

    def watch_window(self) -> None:
        """Disarm whenever the terminal's window gains or loses the focus. Once, when the owner is mounted."""
        self._owner.watch(self._owner.app, "app_focus", self.disarm, init=False)

    def refuse(self) -> None:
        """A key that decides came too early: it is not taken, and the moment begins again."""
        self.disarm()
        self.was_early = True
        self._changed()

    def disarm(self) -> None:
        self.is_armed = self.was_early = False
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._owner.set_timer(self.seconds, self._arm) if self._owner.is_running else None

    def _arm(self) -> None:
        self.was_early = False
        self.is_armed = self._owner.app.app_focus and self._may_arm()
