"""What the conversation view costs: stream a 15 kB answer for 3 s, render it once, open 10,000 entries.

Run it on a quiet machine: `python -m tests.bench.bench_stream`.
"""

from __future__ import annotations

import asyncio
import time

from cos.tui.transcript import AssistantText, Entry, Notice, ToolCall, Transcript, UserMessage, prepare_markdown
from cos.tui.transcript.look import Look
from cos.tui.transcript.markdown import render_markdown
from tests.tui.transcript_demo import TranscriptDemo

SECONDS = 3.0
DELTAS_PER_SECOND = 60
SECTION = """\
## Section {n}: what changes

The **loader** reads `config.toml` once, keeps the *parsed* form and tells every [reader](https://example.org/{n}) that
asks later. Nothing else may open the file, because two readers at two moments would see two truths.

```python
def load(path: Path, *, strict: bool = True) -> Config:
    # section {n}
    with path.open("rb") as stream:
        return Config(**tomllib.load(stream))
```

"""
ANSWER = "".join(SECTION.format(n=number) for number in range(40))[:15_000]


async def stream(text: str) -> None:
    app = TranscriptDemo([UserMessage(key="u", text="Explain."), AssistantText(key="a")])
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        view = app.query_one(Transcript)
        lags: list[float] = []
        watcher = asyncio.create_task(watch(lags))
        size = max(1, len(text) // int(SECONDS * DELTAS_PER_SECOND))
        cpu, started = time.process_time(), time.perf_counter()
        for number, start in enumerate(range(0, len(text), size)):
            view.append_text("a", text[start : start + size])
            await asyncio.sleep(max(0.0, started + number / DELTAS_PER_SECOND - time.perf_counter()))
        view.update("a", streaming=False)
        view.flush()
        await pilot.pause()
        spent = time.process_time() - cpu
        watcher.cancel()
    lags.sort()
    print(
        f"streamed {len(text):,} characters in {SECONDS:.0f} s: {spent:.2f} s CPU, event loop late by "
        f"p50 {lags[len(lags) // 2] * 1000:.0f} ms, p95 {lags[int(len(lags) * 0.95)] * 1000:.0f} ms, "
        f"worst {lags[-1] * 1000:.0f} ms"
    )


async def watch(lags: list[float]) -> None:
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.005)
        lags.append(time.perf_counter() - before - 0.005)


def once(text: str) -> None:
    prepare_markdown()
    cpu = time.process_time()
    lines = render_markdown(text, 120, Look())
    print(f"rendered once: {time.process_time() - cpu:.3f} s CPU, {len(lines)} lines")


async def open_many(count: int) -> None:
    entries: list[Entry] = []
    for number in range(count // 4):
        entries += [
            UserMessage(key=f"u{number}", text="please do the next thing"),
            ToolCall(key=f"c{number}", name="terminal", title="make", state="ok", detail="$ make"),
            AssistantText(key=f"a{number}", text=SECTION.format(n=number)),
            Notice(key=f"n{number}", text="noted"),
        ]
    app = TranscriptDemo([])
    async with app.run_test(size=(120, 40)) as pilot:
        view = app.query_one(Transcript)
        await pilot.pause()
        started = time.perf_counter()
        view.set_entries(entries)
        shown = time.perf_counter()
        await pilot.pause()
        print(f"opened {count:,} entries: {shown - started:.3f} s, painted after {time.perf_counter() - started:.3f} s")
        times = []
        for _ in range(100):
            started = time.perf_counter()
            view.action_page_up()
            times.append(time.perf_counter() - started)
            await pilot.pause()
        times.sort()
        print(f"a page up to what was never drawn: p50 {times[50] * 1000:.1f} ms, worst {times[-1] * 1000:.1f} ms")
        started = time.perf_counter()
        view.append_text("a0", "more")
        view.update(f"a{count // 4 - 1}", streaming=False)
        view.flush()
        print(f"one frame in it: {(time.perf_counter() - started) * 1000:.1f} ms")


if __name__ == "__main__":
    once(ANSWER)
    asyncio.run(stream("nothing"))
    asyncio.run(stream(ANSWER))
    asyncio.run(open_many(10_000))
