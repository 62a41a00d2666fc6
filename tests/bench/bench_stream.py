"""Answers that come fast or are long, in `cos chat` as its user sees it, and keys that are typed meanwhile."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable

import psutil
from rich.console import Console
from rich.markdown import Markdown

from tests.bench.answers import BURST, MARKDOWN
from tests.bench.bench_wire import beside_bare
from tests.bench.rows import Row, alone, in_turns, more, p95, times
from tests.bench.stage import Run, rest, send, stage
from tests.program.terminal import Terminal

DRAWN_MS, ECHO_MS, CPU_SECONDS, LAST = 1_000.0, 50.0, 1.5, 1.2
ANSWERS = 20
LAST_WORD = BURST[-1].strip()


def measure(run: Run) -> Iterable[Row]:
    with beside_bare() as (on, chat, bare):

        def by_bare() -> float:
            bare.tell("go burst")
            (arrived,) = on.arrivals()
            heard = bare.hear()
            return float(heard["began"] + heard["seconds"] - arrived) * 1000

        def by_cos() -> float:
            send(chat, "burst")
            chat.until(LAST_WORD, seconds=60)
            drawn = time.monotonic()
            (arrived,) = on.arrivals_of_turn(chat)
            chat.press("ctrl+n")
            rest(chat)
            return (drawn - arrived) * 1000

        bares, drawn = in_turns(run.rounds(5), by_bare, by_cos)
        yield more("10,000 tokens at once until they are drawn, beside reading them", bares, drawn, DRAWN_MS)
        quiet, busy = _echoes(chat, 20), list[float]()
        for _ in range(run.rounds(5)):
            send(chat, "burst")
            busy += _echoes_until(chat, LAST_WORD)
            on.arrivals_of_turn(chat)
            chat.press("ctrl+n")
            rest(chat)
        yield alone("key echo while 10,000 tokens come, p95", p95(busy), ECHO_MS, baseline=p95(quiet))


def measure_markdown(run: Run) -> Iterable[Row]:
    with stage() as on, on.chat() as chat:
        process, spent, busy = psutil.Process(chat.pid), list[float](), list[float]()
        send(chat, "hello")
        on.arrivals_of_turn(chat)
        quiet = _echoes(chat, 20)
        for number in range(6 if run.quick else ANSWERS):
            before = _cpu_seconds(process)
            send(chat, f"section {number}")
            # Keys cost, too; they are typed into some of the answers only.
            has_keys = number % 4 == 1
            if has_keys:
                busy += _echoes_until(chat, "what changes", seconds=2.5)
            on.arrivals_of_turn(chat)
            if not has_keys:
                spent.append(_cpu_seconds(process) - before)
        run.say("CPU of each answer: " + " ".join(f"{seconds:.2f}" for seconds in spent))
        rich = [_rich_seconds() for _ in range(3)]
        note = f"rich.Markdown renders it once in {min(rich):.2f} s"
        yield alone("CPU for a streamed 15 kB Markdown answer, the worst of 20", max(spent), CPU_SECONDS, unit="s",
                    baseline=min(rich), note=note)  # fmt: skip
        yield times("the last Markdown answers beside the first", spent[1:3], spent[-2:], LAST, unit="s")
        yield alone("key echo while Markdown streams, p95", p95(busy), ECHO_MS, baseline=p95(quiet))


def _cpu_seconds(process: psutil.Process) -> float:
    spent = process.cpu_times()
    return float(spent.user + spent.system)


def _rich_seconds() -> float:
    console, began = Console(file=io.StringIO(), width=120), time.process_time()
    console.print(Markdown(MARKDOWN))
    return time.process_time() - began


def _echo(chat: Terminal, typed: str) -> float:
    """Milliseconds until a key that makes the composer's text `typed` is on screen."""
    pressed = time.monotonic()
    chat.type(typed[-1])
    chat.until(f"││ {typed}")
    return (time.monotonic() - pressed) * 1000


def _echoes(chat: Terminal, count: int) -> list[float]:
    spent = []
    for number in range(count):
        spent.append(_echo(chat, "k" * (number + 1)))
        rest(chat, 0.05)
    chat.press("ctrl+c")
    rest(chat)
    return spent


def _echoes_until(chat: Terminal, words: str, seconds: float = 30) -> list[float]:
    """As `_echoes`, typed until `words` are on screen, or for so long when they are there from the start."""
    chat.until("││ Write", seconds=5)
    spent, until = list[float](), time.monotonic() + seconds
    is_there = words in chat.text
    while time.monotonic() < until and (is_there or words not in chat.text):
        spent.append(_echo(chat, "k" * (len(spent) + 1)))
        rest(chat, 0.05)
    chat.press("ctrl+c")
    rest(chat, 0.1)
    return spent
