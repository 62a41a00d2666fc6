"""How long cos takes to start: `python -m tests.bench.bench_start [--runs N]`. Run it on a quiet machine.

Measured in turns within one run, medians printed: `cos --help`; from the start of `cos chat` until its composer is on
screen; the same for a ten-line Textual app. The database is running already. Targets: 150 ms, and a ratio of 1.25.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cos.core.embedded import EmbeddedPostgres
from tests.fix_database import shared_folder
from tests.program.fix_program import COS, Program
from tests.program.terminal import Terminal

HELP_MS, RATIO = 150.0, 1.25
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


def _help_seconds(program: Program) -> float:
    began = time.perf_counter()
    subprocess.run([*COS, "--help"], env=program.environment(), cwd=program.home, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def _paint_seconds(program: Program, command: list[str]) -> float:
    """Until the placeholder of the text area has been written to the terminal."""
    began = time.perf_counter()
    terminal = Terminal(command, program.environment(), program.home, 120, 40)
    try:
        terminal.until(PLACEHOLDER)
        return time.perf_counter() - began
    finally:
        terminal.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    home = shared_folder()
    program = Program(home, None)
    database = EmbeddedPostgres(home / "pg")
    try:
        database.attach()
        program.run("doctor")
        with tempfile.TemporaryDirectory() as folder:
            bare = Path(folder) / "bare.py"
            bare.write_text(BARE_APP)
            _measure(program, [sys.executable, str(bare)], runs)
    finally:
        database.leave()
        shutil.rmtree(home)


def _measure(program: Program, bare_command: list[str], runs: int) -> None:
    helps: list[float] = []
    chats: list[float] = []
    bares: list[float] = []
    for number in range(runs + 1):
        times = (
            _help_seconds(program),
            _paint_seconds(program, [*COS, "chat", "--profile", "demo"]),
            _paint_seconds(program, bare_command),
        )
        # The first round only fills the caches.
        if number:
            for list_, seconds in zip((helps, chats, bares), times, strict=True):
                list_.append(seconds * 1000)
    help_ms, chat_ms, bare_ms = map(statistics.median, (helps, chats, bares))
    print(f"cos --help      {help_ms:6.0f} ms  (target {HELP_MS:.0f})")
    print(f"cos chat        {chat_ms:6.0f} ms until the composer is on screen")
    print(f"bare Textual    {bare_ms:6.0f} ms")
    print(f"ratio           {chat_ms / bare_ms:6.2f}     (target {RATIO})")


if __name__ == "__main__":
    main()
