"""What long conversations cost: memory over a stream of 50 MB, keys while 2,000 tokens a second stream, searching.

Run it on a quiet machine: `python -m tests.bench.bench_transcript [megabytes]`. Times are also given as ratios to the
same thing without the load, measured in the same run.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import TextArea

from cos.tui.transcript import AssistantText, Entry, Notice, ToolCall, Transcript, UserMessage, prepare_markdown
from cos.tui.widgets.conversation_pane import ConversationPane
from tests.bench.answers import SECTION

TOKENS_PER_SECOND, TOKEN = 2_000, "token "
KEYS = 60
ANSWER = "\n\n".join(f"Paragraph {number} " + "of a very long answer " * 40 for number in range(60)) + "\n\n"
"""50 kB: prose, so that the time goes into keeping it rather than into drawing code."""


class Bench(App[None]):
    """The conversation above a text area, as on the main screen."""

    CSS = "TextArea { height: 5; }"

    def compose(self) -> ComposeResult:
        yield ConversationPane()
        yield TextArea()

    @property
    def view(self) -> Transcript:
        return self.query_one(Transcript)


def entries(count: int) -> list[Entry]:
    found: list[Entry] = []
    for number in range(count // 4):
        found += [
            UserMessage(key=f"u{number}", text=f"please do thing {number}"),
            ToolCall(key=f"c{number}", name="terminal", title="make", state="ok", detail="$ make", result="done"),
            AssistantText(key=f"a{number}", text=SECTION.format(n=number)),
            Notice(key=f"n{number}", text="noted"),
        ]
    return found


def megabytes() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss) / 1e6


def p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)] * 1000


async def echo(app: Bench, pilot: Pilot[None]) -> list[float]:
    """How long it takes from a key to its character on the painted screen."""
    area = app.query_one(TextArea)
    area.focus()
    times = []
    for _ in range(KEYS):
        before, started = len(area.text), time.perf_counter()
        app.simulate_key("x")
        while len(area.text) == before:
            await asyncio.sleep(0)
        painted = asyncio.Event()
        app.call_after_refresh(painted.set)
        await painted.wait()
        times.append(time.perf_counter() - started)
        await asyncio.sleep(0.03)
    return times


async def pour(view: Transcript, key: str) -> None:
    """2,000 tokens a second in 50 deltas."""
    number = 0
    while True:
        number += 1
        view.append_text(key, TOKEN * (TOKENS_PER_SECOND // 50) + ("\n\n" if number % 10 == 0 else ""))
        await asyncio.sleep(0.02)


async def keys_while_streaming(count: int) -> None:
    app = Bench()
    async with app.run_test(size=(120, 40)) as pilot:
        many = entries(count)
        started = time.perf_counter()
        app.view.set_entries(many)
        await pilot.pause()
        print(f"opened {count:,} entries in {(time.perf_counter() - started) * 1000:.0f} ms")
        quiet = p95(await echo(app, pilot))
        app.view.append(AssistantText(key="stream"))
        pouring = asyncio.create_task(pour(app.view, "stream"))
        busy = p95(await echo(app, pilot))
        app.view.action_page_up()
        above = p95(await echo(app, pilot))
        pouring.cancel()
        print(
            f"key echo p95 in {count:,} entries: quiet {quiet:.1f} ms; while 2,000 tokens/s stream {busy:.1f} ms "
            f"({busy / quiet:.1f} x), scrolled up {above:.1f} ms ({above / quiet:.1f} x)"
        )
        lags: list[float] = []
        watching = asyncio.create_task(_watch(lags))
        started = time.perf_counter()
        found = await app.query_one(ConversationPane).search.look_for("thing 17")
        took = time.perf_counter() - started
        watching.cancel()
        print(f"searched them in {took * 1000:.0f} ms ({found.words}), keys late by at most {max(lags) * 1000:.0f} ms")


async def _watch(lags: list[float]) -> None:
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0)
        lags.append(time.perf_counter() - before)


async def memory(name: str, amount: int, begin: Callable[[Transcript, int], str]) -> None:
    """Stream `amount` MB of answers; print what memory grew by, the text itself included."""
    app = Bench()
    async with app.run_test(size=(120, 40)) as pilot:
        view, first_size = app.view, megabytes()
        marks: list[tuple[int, float, float]] = []
        sent, key, number = 0, "", 0
        started = time.perf_counter()
        while sent < amount * 1_000_000:
            fresh = begin(view, number)
            if fresh != key and key:
                view.update(key, streaming=False)
            key, number = fresh, number + 1
            # Each a text of its own, as from a model; the same one would be held once.
            text = f"{number}. {ANSWER}"
            view.append_text(key, text)
            view.flush()
            sent += len(text)
            if sent * 5 // (amount * 1_000_000) > len(marks):
                await pilot.pause()
                marks.append((sent, megabytes(), time.perf_counter() - started))
        first, last = marks[0], marks[-1]
        extra = (last[1] - first_size) / (last[0] / 1e6)
        last_fifth, first_fifth = marks[-1][2] - marks[-2][2], first[2]
        print(
            f"{name}: {sent / 1e6:.0f} MB streamed in {last[2]:.1f} s; resident {first[1]:.0f} MB after a fifth of it, "
            f"{last[1]:.0f} MB at the end: {extra:.2f} MB for each MB of text; the last fifth took "
            f"{last_fifth / first_fifth:.1f} x the first"
        )


def _one(view: Transcript, number: int) -> str:
    if not number:
        view.append(AssistantText(key="one"))
    return "one"


def _many(view: Transcript, number: int) -> str:
    view.append(AssistantText(key=f"a{number}"))
    return f"a{number}"


def main(arguments: list[str]) -> Any:
    amount = int(arguments[0]) if arguments else 50
    prepare_markdown()
    asyncio.run(keys_while_streaming(10_000))
    asyncio.run(memory("many answers", amount, _many))
    asyncio.run(memory("one answer", amount, _one))


if __name__ == "__main__":
    main(sys.argv[1:])
