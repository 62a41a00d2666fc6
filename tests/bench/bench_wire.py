"""From Enter to the request on the wire, and a loop of 20 tool calls: `cos chat` beside the bare SDK, both processes.

cos stores the message, its turn and its call before the request leaves; the bare SDK stores nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tests.bench.rows import Row, in_turns, more, more_at_p95, times
from tests.bench.stage import READY, Child, Run, Stage, rest, send, stage
from tests.program.terminal import Terminal

STEPS = 20
MEDIAN_MS, P95_MS, LOOP = 10.0, 25.0, 1.15


@contextmanager
def beside_bare() -> Iterator[tuple[Stage, Terminal, Child]]:
    """A chat that has sent its first message, and the bare SDK with the same request."""
    with stage() as on, on.chat() as chat:
        workspace = on.program.home / "workspaces" / "home"
        workspace.mkdir(parents=True, exist_ok=True)
        (workspace / "note.txt").write_text("a note\n" * 20)
        send(chat, "hello")
        chat.watch(lambda: on.api.has_said(1))
        body = on.api.hear()["body"]
        rest(chat)
        with on.bare(body) as bare:
            yield on, chat, bare


def measure(run: Run) -> Iterable[Row]:
    with beside_bare() as (on, chat, bare):
        yield from _wire(on, chat, bare, run)
        yield from _loops(on, chat, bare, run)


def _wire(on: Stage, chat: Terminal, bare: Child, run: Run) -> Iterable[Row]:
    def by_bare() -> float:
        bare.tell("go hello")
        (arrived,) = on.arrivals()
        return (arrived - float(bare.hear()["began"])) * 1000

    def by_cos() -> float:
        pressed = send(chat, "hello")
        (arrived,) = on.arrivals_of_turn(chat)
        return (arrived - pressed) * 1000

    def by_new_session() -> float:
        chat.press("ctrl+n")
        chat.until(READY)
        return by_cos()

    bares, nexts, firsts = in_turns(run.rounds(20), by_bare, by_cos, by_new_session)
    for what, spent in (("next message", nexts), ("first of a session", firsts)):
        yield more(f"Enter to request on the wire, {what}", bares, spent, MEDIAN_MS)
        yield more_at_p95(f"Enter to request on the wire, {what}, p95", bares, spent, P95_MS)


def _loops(on: Stage, chat: Terminal, bare: Child, run: Run) -> Iterable[Row]:
    def by_bare(pace: str) -> float:
        bare.tell(f"go loop {STEPS}{pace}")
        arrivals = on.arrivals(STEPS + 1)
        bare.hear()
        return (arrivals[-1] - arrivals[0]) * 1000

    def by_cos(pace: str) -> float:
        send(chat, f"loop {STEPS}{pace}")
        arrivals = on.arrivals_of_turn(chat, STEPS + 1)
        return (arrivals[-1] - arrivals[0]) * 1000

    bares, loops = in_turns(run.rounds(3), lambda: by_bare(" slowly"), lambda: by_cos(" slowly"))
    yield times(f"{STEPS}-step tool loop, the model thinks 0.5 s", bares, loops, LOOP)
    bares, loops = in_turns(run.rounds(10), lambda: by_bare(""), lambda: by_cos(""))
    yield more(f"{STEPS}-step tool loop, the model answers at once", bares, loops, None)
