"""Notices stay on the screen where they were said: a screen that opens on top of it is not covered by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from textual.app import App
from textual.notifications import Notifications
from textual.screen import ModalScreen, Screen
from textual.widgets._toast import ToastRack

if TYPE_CHECKING:
    from textual.driver import Driver


class NoticingApp(App[None]):
    """Textual shows each notice on whatever screen is on top."""

    def __init__(self, driver_class: type[Driver]) -> None:
        super().__init__(driver_class=driver_class)
        self._said_before = WeakKeyDictionary[Screen[object], set[str]]()
        """Screen on top -> notices that were there when it opened."""

    def warn(self, sentence: str) -> None:
        """Say what is not as it should be, for long enough to be read beside something else."""
        self.notify(sentence, severity="warning", timeout=30, markup=False)

    def _refresh_notifications(self) -> None:
        """What was said below is still there when the screen on top has closed, as long as it lasts."""
        if not self.screen_stack or not isinstance(self.screen, ModalScreen):
            super()._refresh_notifications()
            return
        before = self._said_before.setdefault(self.screen, {notice.identity for notice in self._notifications})
        said_here = Notifications()
        for notice in self._notifications:
            if notice.identity not in before:
                said_here.add(notice)
        for rack in self.screen.query(ToastRack):
            self.call_later(rack.show, said_here)


def take_away(app: App[Any], sentence: str) -> None:
    """Show no more a notice that is true no longer."""
    for notice in [notice for notice in app._notifications if notice.message == sentence]:
        app._unnotify(notice)
