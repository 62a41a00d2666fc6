"""How long cos takes to start, with its database running and for the first time ever."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import partial

from cos.core.embedded.account import choose_account
from cos.core.embedded.binaries import find_binaries
from cos.core.embedded.copies import reachable_binaries
from cos.core.embedded.settings import initdb_options
from tests.bench.rows import Row, in_turns, more, times
from tests.bench.stage import READY, Run, home_folder, running_database
from tests.program.fix_program import COS, Program
from tests.program.terminal import Terminal

WORDS_MS, CHAT, FIRST = 60.0, 1.25, 1.5
PLACEHOLDER = "Write a message"
BARE_APP = f"""
from textual.app import App
from textual.widgets import Footer, TextArea

class Bare(App):
    def compose(self):
        yield TextArea(placeholder="{PLACEHOLDER}")
        yield Footer()

Bare().run()
"""


def measure(run: Run) -> Iterable[Row]:
    with home_folder() as home:
        yield from _words(Program(home, None), run)


def measure_chat(run: Run) -> Iterable[Row]:
    with home_folder() as home, running_database(home):
        program, bare = Program(home, None), home / "bare.py"
        bare.write_text(BARE_APP)
        program.run("doctor")
        chats, bares = in_turns(
            run.rounds(10),
            partial(_until_seen, program, [*COS, "chat", "--profile", "demo"], PLACEHOLDER),
            partial(_until_seen, program, [sys.executable, str(bare)], PLACEHOLDER),
        )
        yield times("cos chat to its composer, beside a ten-line Textual app", bares, chats, CHAT)


def measure_first(run: Run) -> Iterable[Row]:
    initdb, chat = in_turns(run.rounds(3), _initdb, _first_start)
    yield times("first start ever until the core is there, beside initdb", initdb, chat, FIRST)


def _words(program: Program, run: Run) -> Iterable[Row]:
    python = partial(_seconds, program, [sys.executable, "-c", "pass"])
    asked = [partial(_seconds, program, [*COS, option]) for option in ("--help", "--version")]
    bare, help_, version = in_turns(run.rounds(15), python, *asked)
    yield more("cos --help, beside python -c pass", bare, help_, WORDS_MS)
    yield more("cos --version, beside python -c pass", bare, version, WORDS_MS)


def _seconds(program: Program, command: list[str]) -> float:
    """Milliseconds of a whole process."""
    began = time.monotonic()
    subprocess.run(command, env=program.environment(), cwd=program.home, stdout=subprocess.DEVNULL, check=True)
    return (time.monotonic() - began) * 1000


def _until_seen(program: Program, command: list[str], words: str) -> float:
    """Milliseconds until the words have been written to the terminal."""
    began = time.monotonic()
    terminal = Terminal(command, program.environment(), program.home, 120, 40)
    try:
        terminal.until(words)
        return (time.monotonic() - began) * 1000
    finally:
        terminal.close()


def _first_start() -> float:
    with home_folder() as home:
        program = Program(home, None)
        try:
            return _until_seen(program, [*COS, "chat", "--profile", "demo"], READY)
        finally:
            # Killed, the program leaves its server, which ends with the next that leaves.
            program.run("doctor")


def _initdb() -> float:
    """As cos calls it, to a folder of the same kind."""
    with home_folder() as home:
        binaries, folder = find_binaries(None), home / "pg"
        account = choose_account(folder, None)
        folder.mkdir()
        shutil.chown(folder, account.uid, account.gid)
        binaries = reachable_binaries(binaries, account)
        began = time.monotonic()
        code, output = account.run([binaries.initdb, "-D", folder / "data", *initdb_options(binaries.major)[0]])
        spent = (time.monotonic() - began) * 1000
        assert code == 0, output
        return spent
