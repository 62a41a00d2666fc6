"""A program in a pseudo-terminal, and what a person would see there."""

from __future__ import annotations

import os
import re
import signal
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pyte

PATIENCE_SECONDS = 60.0
KEYS = {
    "enter": "\r", "esc": "\x1b", "ctrl+c": "\x03", "ctrl+d": "\x04", "ctrl+n": "\x0e", "f2": "\x1bOQ", "f3": "\x1bOR",
    "ctrl+t": "\x14", "f4": "\x1bOS", "f6": "\x1b[17~",
}  # fmt: skip
# pyte does not know private sequences that begin with < or =, and would draw their last letter.
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<=>][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p")


class Terminal:
    """`screen` follows everything that the program writes; `raw` keeps it."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: Path, columns: int, rows: int) -> None:
        self.raw = b""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._child = pexpect.spawn(
            command[0], command[1:], env=env, cwd=str(cwd), dimensions=(rows, columns), timeout=None
        )
        self._child.delaybeforesend = None
        self._child.ptyproc.delayafterclose = 0.0
        self._child.ptyproc.delayafterterminate = 0.0

    @property
    def pid(self) -> int:
        pid: int = self._child.pid
        return pid

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    def press(self, *keys: str) -> None:
        """Keys by name."""
        for key in keys:
            self._child.send(KEYS[key])

    def type(self, text: str) -> None:
        self._child.send(text)

    def say(self, text: str) -> None:
        """Write a message and send it. Enter comes only when the composer shows the words: together it is a paste."""
        self.type(text)
        self.until(f"││ {text}")
        self.press("enter")

    def send(self, data: bytes) -> None:
        """What a terminal would send, as it is."""
        os.write(self._child.child_fd, data)

    def until(self, *wanted: str, gone: str | None = None, seconds: float = PATIENCE_SECONDS) -> str:
        """Read until all of `wanted` is on screen and `gone` is not; the screen's text, with runs of blanks as one."""
        deadline = time.monotonic() + seconds
        while True:
            text = re.sub(" +", " ", self.text)
            if all(words in text for words in wanted) and (gone is None or gone not in text):
                return text
            assert time.monotonic() < deadline, f"never saw {wanted} (without {gone!r}) but:\n{self.text}"
            assert self._read(), f"it ended before {wanted} came:\n{self.text}"

    def watch(self, holds: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
        """Read until `holds()`, which is not about what is on screen."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"it never happened; on screen is:\n{self.text}"
            assert self._read(), f"it ended before it happened:\n{self.text}"

    def until_end(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Read until the program ends; its exit code, negative for a signal."""
        deadline = time.monotonic() + seconds
        while self._read():
            assert time.monotonic() < deadline, f"it did not end:\n{self.text}"
        self._child.wait()
        code: int | None = self._child.exitstatus
        return code if code is not None else -int(self._child.signalstatus)

    def resize(self, columns: int, rows: int) -> None:
        self._screen.resize(rows, columns)
        self._screen.reset()
        self._child.setwinsize(rows, columns)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    @property
    def is_line_wise(self) -> bool:
        """Whether the terminal is in the mode in which a shell expects it: echo, whole lines, signals by key."""
        wanted = termios.ECHO | termios.ICANON | termios.ISIG
        local: int = termios.tcgetattr(self._child.child_fd)[3]
        return local & wanted == wanted

    def make_line_wise(self) -> None:
        """What a shell does while it has the terminal."""
        mode = termios.tcgetattr(self._child.child_fd)
        mode[3] |= termios.ECHO | termios.ICANON | termios.ISIG
        termios.tcsetattr(self._child.child_fd, termios.TCSANOW, mode)

    def close_window(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Take the terminal away, as a window does that closes, and wait for the program's end."""
        self._child.ptyproc.fileobj.close()
        self._child.ptyproc.closed = self._child.closed = True
        deadline = time.monotonic() + seconds
        while self._child.ptyproc.isalive():
            assert time.monotonic() < deadline, "it did not end"
            time.sleep(0.05)

    def close(self) -> None:
        if self._child.isalive():
            self.signal(signal.SIGKILL)
            self._child.wait()
        self._child.close()

    def _read(self) -> bool:
        """Take what has come; False when the program has closed the terminal."""
        try:
            data: bytes = self._child.read_nonblocking(65536, timeout=0.2)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data))
        return True


def unrestored_modes(raw: bytes) -> set[str]:
    """Private modes that were switched on and never off again, or for the cursor the other way round."""
    modes: dict[str, bool] = {}
    for numbers, letter in re.findall(rb"\x1b\[\?([0-9;]+)([hl])", raw):
        for number in numbers.decode().split(";"):
            modes[number] = letter == b"h"
    normally_on = {"25", "7"}
    return {number for number, is_on in modes.items() if is_on != (number in normally_on)}
