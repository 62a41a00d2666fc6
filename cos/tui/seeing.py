"""What the user has seen: the session on screen, while the terminal's window has the focus."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cos.agent.errors import CosError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from uuid import UUID

    from textual.worker import Worker

    from cos.tui.screens.chat import ChatScreen
    from cos.tui.session_editing import SessionEditing
    from cos.tui.session_monitor import SessionMonitor


LOOK_SECONDS = 1.0
"""A session that the user passes by is seen after so long on screen."""


class Seeing:
    """Tells the core, so that a turn that ended unseen is news in every surface."""

    def __init__(
        self,
        editing: SessionEditing,
        monitor: SessionMonitor,
        screen: ChatScreen,
        on_screen: Callable[[], Collection[UUID | None]],
    ) -> None:
        self.editing = editing
        self._monitor = monitor
        self._screen = screen
        self._on_screen = on_screen

    def watch_window(self) -> None:
        """See what is on screen when the window gets the focus. Once, when the screen is there."""
        self._screen.watch(self._screen.app, "app_focus", self._focus_changed, init=False)

    async def see(self, session_id: UUID) -> None:
        """Its turn has ended, or it was opened: it is seen when it is on screen in a window with the focus."""
        if session_id not in self._on_screen() or not self._screen.app.app_focus:
            return
        try:
            await self.editing.seen(session_id)
        except CosError as error:
            self._screen.notify(str(error), severity="warning", markup=False)
        self._monitor.touch(session_id)

    def see_if_it_stays(self, session_id: UUID) -> None:
        """The user passes by, and may go on to the next one at once."""
        self._screen.set_timer(LOOK_SECONDS, partial(self.see, session_id))

    def _focus_changed(self, focused: bool) -> None:
        for session_id in self._on_screen():
            row = self._monitor.row(session_id)
            if focused and row is not None and row.is_unseen:
                _: Worker[None] = self._screen.app.run_worker(
                    partial(self.see, row.id), group="feed", exit_on_error=False
                )
