"""`cos chat` in a terminal of 120x40, with the demo profile: no network, but everything else is real."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.program.fix_program import Program
from tests.program.terminal import Terminal, unrestored_modes

READY = "F6 another profile"


def _is_restored(terminal: Terminal) -> bool:
    """The shell gets its terminal back: line mode, cursor shown, no mouse, no alternate screen, no paste marks."""
    return terminal.is_line_wise and not unrestored_modes(terminal.raw)


def _quit(terminal: Terminal) -> int:
    terminal.press("ctrl+c")
    terminal.until("once more quits")
    terminal.press("ctrl+c")
    return terminal.until_end()


def test_conversation_with_approval_denial_interrupt_quit_and_resume(program: Program) -> None:
    """Also H-098: without a key the first screen says which variable and which file, and F6 reaches the demo."""
    chat = program.chat()
    chat.until("ANTHROPIC_API_KEY", "is not set", "F6 goes to demo")
    chat.press("f6")
    chat.until("demo · area:demo")

    chat.say("hello there")
    chat.until("Welcome to cos", "to see thinking.", "idle ·")
    chat.say("run a command")
    chat.until("1 waiting · F4", "waiting terminal")
    chat.press("f4")
    chat.until("y allow once")
    chat.type("y")
    chat.until("✓ ok", "The command ran", "idle ·", gone="waiting · F4")

    chat.say("run it again")
    chat.until("1 waiting · F4")
    chat.press("f4")
    chat.until("y allow once")
    chat.type("n")
    chat.until("⊘ denied", "I do not claim", "idle ·")

    chat.say("what now, say it at length")
    chat.until("I am a scripted demo")
    chat.press("esc")
    chat.until("cancelled ·", "stopped")
    chat.say("does the next message work")
    chat.until("Here, say run a command", "idle ·")

    assert _quit(chat) == 0
    assert _is_restored(chat)
    (session,) = (str(row[0]) for row in program.rows("SELECT id FROM sessions"))
    assert f"Go on with: python -m cos chat --session {session}" in chat.text

    again = program.chat("--session", session[:30])
    again.until("does the next message work", "Here, say run a command", "demo · area:demo")
    again.say("still here")
    again.until("You said: still here", "idle ·")
    assert _quit(again) == 0
    assert program.rows("SELECT status, count(*) FROM turns GROUP BY 1 ORDER BY 1") == [
        ("cancelled", 1),
        ("completed", 5),
    ]


def test_interrupt_at_an_open_request_cancels_it_and_keeps_the_draft(program: Program) -> None:
    """H-049"""
    chat = program.chat("--profile", "demo")
    chat.until(READY)
    chat.say("run a command")
    chat.until("1 waiting · F4")
    chat.type("half a thought")
    chat.until("half a thought")
    chat.press("ctrl+d")
    chat.press("esc", "esc")
    chat.until("■ cancelled", "half a thought", gone="waiting · F4")
    assert program.rows("SELECT status FROM approvals") == [("cancelled",)]
    assert program.rows("SELECT status FROM tool_calls") == [("cancelled",)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signal_ends_the_app_and_restores_the_terminal(program: Program, number: signal.Signals) -> None:
    chat = program.chat("--profile", "demo")
    chat.until(READY)
    chat.say("run a command")
    chat.until("1 waiting · F4")
    chat.type("half a draft")
    chat.until("half a draft")
    chat.signal(number)
    chat.until_end()
    assert _is_restored(chat)
    assert "Go on with: " in chat.text
    assert program.rows("SELECT body FROM drafts") == [("half a draft",)]
    assert program.rows("SELECT status FROM turns") == [("cancelled",)]


def test_the_app_ends_though_the_database_hangs_and_prints_what_is_not_stored(program: Program) -> None:
    chat = program.chat("--profile", "demo")
    chat.until(READY, "db ok")
    hung = [pid for (pid,) in program.rows("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'cos %%'")]
    for pid in hung:
        os.kill(pid, signal.SIGSTOP)
    try:
        chat.say("nobody took this")
        chat.until("not stored yet")
        chat.signal(signal.SIGTERM)
        chat.until_end(30)
    finally:
        for pid in hung:
            os.kill(pid, signal.SIGCONT)
    assert "could not be stored" in chat.text
    assert "nobody took this" in chat.text


def test_window_that_closes_ends_the_app_and_its_turn(program: Program) -> None:
    chat = program.chat("--profile", "demo")
    chat.until(READY)
    chat.say("run a command")
    chat.until("1 waiting")
    chat.close_window()
    assert program.rows("SELECT status FROM turns") == [("cancelled",)]


def test_stopped_and_continued_app_goes_on_with_one_reader(program: Program) -> None:
    """SIGSTOP gives no warning; whoever continued the app then may have changed the terminal's mode meanwhile."""
    chat = program.chat("--profile", "demo")
    chat.until(READY)
    threads = len(os.listdir(f"/proc/{chat.pid}/task"))
    for number in range(3):
        chat.signal(signal.SIGSTOP)
        chat.watch(lambda: _state(chat.pid) == "T")
        chat.make_line_wise()
        chat.signal(signal.SIGCONT)
        chat.watch(lambda: not chat.is_line_wise)
        chat.say(f"hello {number}")
        chat.until(f"▌ hello {number}", "idle ·")
    chat.until("You said: hello 2", "idle ·")
    assert len(os.listdir(f"/proc/{chat.pid}/task")) == threads
    assert _quit(chat) == 0
    assert _is_restored(chat)


def _state(pid: int) -> str:
    """One letter as in proc(5)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("columns", [44, 60, 72])
def test_narrow_window_is_usable_from_the_start(program: Program, columns: int) -> None:
    chat = program.chat("--profile", "demo", columns=columns, rows=24)
    chat.until("Write a message")
    chat.type("good morning")
    chat.until("│ good morning")
    chat.press("enter")
    chat.until("Welcome to cos")


@pytest.mark.parametrize("seconds", [0, 0.05, 0.1])
def test_what_is_typed_before_there_is_a_screen_is_in_the_composer(program: Program, seconds: float) -> None:
    chat = program.chat("--profile", "demo")
    time.sleep(seconds)
    chat.type("abcdef")
    chat.until("│ abcdef")


def test_tiny_terminal_says_so_and_the_draft_survives(program: Program) -> None:
    chat = program.chat("--profile", "demo", columns=10, rows=3)
    chat.until("terminal")
    chat.resize(120, 40)
    chat.until(READY)
    chat.type("a draft")
    chat.until("a draft")
    chat.resize(10, 3)
    chat.until("terminal", gone="a draft")
    chat.resize(80, 24)
    chat.until("a draft")


def test_chat_without_a_terminal_says_what_to_use(program: Program) -> None:
    done = program.run("chat")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cos ask" in done.stderr


@pytest.mark.parametrize("data", [b"caf\xe9 \xff\xfe", b"\x1b[999999999999;5u"])
def test_bytes_that_mean_nothing_do_not_end_the_app(program: Program, data: bytes) -> None:
    """A terminal in Latin-1 sends what is no UTF-8, and a paste may hold any key of a newer terminal."""
    chat = program.chat("--profile", "demo")
    chat.until("demo · area:demo")
    chat.send(data)
    chat.type("hello there")
    chat.until("hello there")
    chat.press("ctrl+c")  # It clears what was written.
    assert _quit(chat) == 0


def test_tags_of_the_command_line_are_those_of_the_new_session(program: Program) -> None:
    wrong = program.chat("--profile", "demo", "--tag", "nocolon")
    assert wrong.until_end() == 2 and "nocolon" in wrong.text
    chat = program.chat("--profile", "demo", "--tag", "client:acme")
    chat.until("demo · area:demo")
    chat.say("hello there")
    chat.until("Welcome to cos", "idle #clien", "today $", "demo · area:demo client:acme")
    assert _quit(chat) == 0
    assert program.rows("SELECT tags FROM sessions") == [(["client:acme"],)]
