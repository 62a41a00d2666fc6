"""The composer in a terminal: a draft outlives `kill -9` and SIGTERM, and the user's editor gets the terminal."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from tests.program.fix_program import Program
from tests.program.terminal import PATIENCE_SECONDS, Terminal, unrestored_modes

READY = "F6 another profile"


def _until_stored(program: Program, body: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while program.rows("SELECT body FROM drafts") != [(body,)]:
        assert time.monotonic() < deadline, program.rows("SELECT body FROM drafts")


def _write(chat: Terminal, text: str) -> None:
    chat.until(READY)
    chat.type(text)
    chat.until(text)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_draft_is_there_again_after_a_signal(program: Program, number: signal.Signals) -> None:
    chat = program.chat("--profile", "demo")
    _write(chat, "half a thought")
    if number is signal.SIGKILL:
        _until_stored(program, "half a thought")
    chat.signal(number)
    chat.until_end()
    again = program.chat("--profile", "demo")
    again.until(READY, "half a thought")


def test_the_users_editor_has_the_terminal_and_its_text_comes_back(program: Program) -> None:
    script = program.home / "editor.py"
    script.write_text(
        "import sys, termios\n"
        "line_wise = bool(termios.tcgetattr(0)[3] & termios.ICANON)\n"
        "answer = input('what to write? ')\n"
        "with open(sys.argv[2], 'a') as file: file.write(f'{answer} {sys.argv[1]} {line_wise}')\n"
        "sys.exit(answer == 'fail')\n"
    )
    program.env["EDITOR"] = f"{sys.executable} {script} --flag"
    chat = program.chat("--profile", "demo")
    _write(chat, "text ")
    os.write(chat._child.child_fd, b"\x07")
    chat.until("what to write?")
    chat.signal(signal.SIGINT)  # Ctrl+C is for the editor.
    chat.type("more\r")
    chat.until(READY, "text more --flag True")
    os.write(chat._child.child_fd, b"\x07")
    chat.until("what to write?")
    chat.type("fail\r")
    chat.until(READY, "ended with code 1", "text more --flag True")
    os.write(chat._child.child_fd, b"\x07")
    chat.until("what to write?")
    chat.signal(signal.SIGTERM)
    chat.until_end()
    assert chat.is_line_wise and not unrestored_modes(chat.raw)
