"""The terminal, written to in a way that its end does not hold up the program's.

When a window closes, the kernel sends SIGHUP and SIGCONT and every write fails from then on. Textual's writing thread
would end with the first failure and its queue would fill up, and with SIGCONT a second reading thread would begin, of
which one would never end: either way the app could never finish closing.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import signal
from typing import IO, TYPE_CHECKING, Any, Final, cast

from textual.drivers.linux_driver import LinuxDriver

from cos.tui.terminal_input import TerminalInput

if TYPE_CHECKING:
    from cos.tui.leaving import LeavingApp

_TICK_SECONDS: Final = 0.1
_READ_BYTES: Final = 4_096


class TerminalDriver(LinuxDriver):
    """Textual's driver; what can no longer be shown is dropped."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._file = _Outlet(self._file)  # type: ignore[assignment,arg-type]  # a file of text, and never None here
        self._is_lent = False
        self._is_over = False

    def start_application_mode(self) -> None:
        self._is_over = False
        super().start_application_mode()  # type: ignore[no-untyped-call]  # it has no types
        asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, self._go_on)

    def stop_application_mode(self) -> None:
        self._is_over = True
        super().stop_application_mode()

    def suspend_application_mode(self) -> None:
        """The terminal is another program's: what the app draws meanwhile is dropped, and drawn again afterwards."""
        super().suspend_application_mode()
        self._is_lent, self._is_over = True, False

    def resume_application_mode(self) -> None:
        self._is_lent = False
        super().resume_application_mode()

    def _go_on(self) -> None:
        """After a stop, of which a SIGSTOP gives no warning: set the terminal up anew, with one thread that reads.

        An app that was stopped while it ended only goes on to its end: nobody would end that thread any more.
        """
        if self._auto_restart and not self._is_over and os.isatty(self.fileno):
            if not self._is_lent:
                self.suspend_application_mode()
            self.resume_application_mode()

    def run_input_thread(self) -> None:
        """As Textual's, with our own reading of the bytes; the app ends when nobody can type any more."""
        terminal = TerminalInput(self._debug)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                for _ in selector.select(_TICK_SECONDS):
                    data = self._read()
                    if not data:
                        self._app.call_later(cast("LeavingApp", self._app).leave_now)
                        return
                    for message in terminal.messages(data):
                        self.process_message(message)
                for message in terminal.waited():
                    self.process_message(message)

    def _read(self) -> bytes:
        """What was typed; empty when the terminal is gone."""
        try:
            return os.read(self.fileno, _READ_BYTES)
        except OSError:
            return b""

    def write(self, data: str) -> None:
        if not self._is_lent:
            super().write(data)


class _Outlet:
    """A file of text that takes everything, also when nobody is there to see it."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        try:
            self._file.write(text)
        except OSError:
            return

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError:
            return

    def fileno(self) -> int:
        return self._file.fileno()
