"""`cos chat` that has nothing to do, and one that has had much to do: CPU and resident memory without the database."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import psutil

from tests.bench.rows import Row, alone, not_measured
from tests.bench.stage import Run, rest, send, stage

CPU_PERCENT, MEGABYTES, KB_A_TURN = 1.0, 130.0, 20.0
IDLE_SECONDS, TURNS, SETTLED = 20.0, 1_000, 200


def measure(run: Run) -> Iterable[Row]:
    with stage() as on, on.chat() as chat:
        send(chat, "hello")
        on.arrivals_of_turn(chat)
        rest(chat, 3)
        process, seconds = psutil.Process(chat.pid), 3.0 if run.quick else IDLE_SECONDS
        before, began = process.cpu_times(), time.monotonic()
        rest(chat, seconds)
        after, spent = process.cpu_times(), time.monotonic() - began
        percent = (after.user + after.system - before.user - before.system) / spent * 100
        yield alone("idle cos chat, CPU", percent, CPU_PERCENT, unit="%")
        yield alone("idle cos chat, resident memory", process.memory_info().rss / 1e6, MEGABYTES, unit="MB")


def measure_turns(run: Run) -> Iterable[Row]:
    what = f"memory that a turn leaves behind, over {TURNS:,} turns"
    if run.quick:
        yield not_measured(what, "alone", KB_A_TURN, unit="kB", note="not with --quick")
        return
    with stage() as on, on.chat() as chat:
        process, marks = psutil.Process(chat.pid), list[tuple[int, float]]()
        for number in range(TURNS):
            send(chat, f"hello {number}")
            on.arrivals_of_turn(chat, rest_seconds=0.05)
            if number % 20 == 0:
                marks.append((number, process.memory_info().rss / 1000))
        settled = [mark for mark in marks if mark[0] >= SETTLED]
        run.say("resident MB: " + " ".join(f"{kb / 1000:.0f}" for _, kb in marks[::5]))
        yield alone(what, slope(settled), KB_A_TURN, unit="kB")


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the straight line that comes closest to them."""
    middle_x = sum(x for x, _ in points) / len(points)
    middle_y = sum(y for _, y in points) / len(points)
    above = sum((x - middle_x) * (y - middle_y) for x, y in points)
    return above / sum((x - middle_x) ** 2 for x, _ in points)
