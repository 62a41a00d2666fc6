"""Leaving the app: by key, by signal, or because it cannot go on. Nothing that runs is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType

from cos.agent.text import visible
from cos.tui.clipboard import copy
from cos.tui.driver import TerminalDriver
from cos.tui.notices import NoticingApp
from cos.tui.widgets.composer import Composer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.timer import Timer
    from textual.worker import Worker

    from cos.tui.core_port import CorePort
    from cos.tui.screens.chat import ChatScreen
    from cos.tui.screens.first import FirstScreen
    from cos.tui.session_control import SessionControl

QUIT_SECONDS = 4.0
"""Between two presses: long enough to read what would be lost."""


class LeavingApp(NoticingApp):
    """What ends, and in which order."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "clear_or_quit", "Quit", priority=True, show=False),
        Binding("ctrl+q", "quit", show=False),
    ]

    def __init__(self, command: str) -> None:
        """`command` starts the app again, as it may be pasted into a shell."""
        super().__init__(TerminalDriver)
        self._command = command
        self._quit_pressed = 0.0
        self.is_leaving = False
        self.core: CorePort | None = None
        """None until it has started."""
        self.first_screen: FirstScreen
        self.main_screen: ChatScreen | None = None
        """None until it has taken over from the first one."""
        self.ticker: Timer | None = None
        """What draws what counts time."""
        self.failure: str | None = None
        """Why the app could not go on; for the terminal after it has closed."""
        self.farewell: str | None = None
        """How to come back to the session that was open."""
        self.not_stored: list[str] = []
        """What was written and could not be stored; for the terminal after it has closed."""

    @property
    def main(self) -> ChatScreen:
        """The main screen, which comes right after the first picture.

        Raises:
            RuntimeError: it is not there yet.
        """
        if self.main_screen is None:
            raise RuntimeError("the main screen is not there yet")
        return self.main_screen

    @property
    def ground(self) -> ChatScreen | FirstScreen:
        """What lies under all other screens: it has the composer and the status line."""
        return self.main_screen or self.first_screen

    @property
    def control(self) -> SessionControl | None:
        """What acts on the open session; None until the core is there."""
        return self.main_screen.control if self.main_screen is not None else None

    def leave_on_signals(self) -> None:
        """A terminal that closes, and a polite kill, end the app like its user would."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, self.leave_now)

    @contextlib.contextmanager
    def suspend(self) -> Iterator[None]:
        """Hand the terminal over. Ctrl+C is for the command that has it then, and reaches every process there."""
        loop = asyncio.get_running_loop()
        with super().suspend():
            loop.add_signal_handler(signal.SIGINT, _passed_over)
            try:
                yield
            finally:
                self.leave_on_signals()

    def action_clear_or_quit(self) -> None:
        composer = self.ground.composer
        selected = self.screen.get_selected_text() or composer.selected_text
        if selected:
            _: Worker[None] = self.run_worker(
                partial(copy, self, selected, "the selection"), group="copy", exit_on_error=False
            )
        elif composer.text:
            if composer.text.strip():
                composer.prompts.sent(composer.packed)
            composer.load("")
        else:
            self._leave_if_sure(self._why_not_quit("Ctrl+C once more") or "Ctrl+C once more quits.")

    @on(Composer.LeaveWanted)
    def leave_unless_needed(self) -> None:
        """Quit; but when something would be lost, say what and stay."""
        reason = self._why_not_quit("Ctrl+C twice")
        if reason is None:
            self.leave_now()
        else:
            self.notify(reason, severity="warning", markup=False)

    async def action_quit(self) -> None:
        """Quit; when something would be lost, say what first."""
        reason = self._why_not_quit("Ctrl+Q once more")
        if reason is None:
            self.leave_now()
        else:
            self._leave_if_sure(reason)

    def _why_not_quit(self, keys: str) -> str | None:
        return None if self.control is None else self.control.why_not_quit(keys)

    def _leave_if_sure(self, sentence: str) -> None:
        """Say it; the second time in a short while, quit."""
        if time.monotonic() - self._quit_pressed < QUIT_SECONDS:
            self.leave_now()
        else:
            self._quit_pressed = time.monotonic()
            self.notify(sentence, timeout=QUIT_SECONDS, markup=False)

    def leave_now(self) -> None:
        if not self.is_leaving:
            self.is_leaving = True
            self._leave()

    @work(group="leave", exit_on_error=False)
    async def _leave(self) -> None:
        """End the turns, close the database, then the screen."""
        self.ground.status_line.say_last("ending …")
        control = self.control
        if control is not None and control.current is not None and self.failure is None:
            self.farewell = f"Go on with: {self._command} --session {control.current}"
        if self.core is not None:
            self.core.hurry()
        try:
            if control is None or not await control.drafts.flush():
                self.not_stored = [visible(text) for text in self.ground.not_stored()]
            if self.core is not None:
                await self.core.close()
        finally:
            self.stop_drawing()
            self.exit()

    def stop_drawing(self) -> None:
        """Draw no more of what happens: the panes go before their app, and Textual ends an app's workers after them."""
        for worker in [worker for worker in self.workers if worker.group != "leave"]:
            worker.cancel()
        if self.ticker is not None:
            self.ticker.stop()


def _passed_over() -> None:
    """What a signal does that is meant for somebody else."""
