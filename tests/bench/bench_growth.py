"""How cost grows with the work: with the messages of a session, and with the sessions that work at once."""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.events import TurnCompleted
from cos.agent.providers.scripted import said
from cos.core.inbound import Inbound
from tests.bench.plot import Curve, svg
from tests.bench.rows import Row, alone
from tests.bench.stage import Run, fresh_database
from tests.fix_home import CoreHome, asked
from tests.tui.long_session import PER_TURN, long_session

if TYPE_CHECKING:
    from uuid import UUID

    from cos.cli.running_core import Core

MESSAGES, SESSIONS = (10, 100, 1_000, 10_000), (1, 5, 50, 500)
LINEAR = 1.1
"""Exponent of the cost: 1 is linear, and 0.1 is what a noisy machine may add."""
REPEATED = 3


def measure(run: Run) -> Iterable[Row]:
    curves = [*_on_a_core(run, _of_messages), *_on_a_core(run, _of_sessions)]
    run.plot.write_text(svg("What cos costs as the work grows", curves))
    run.say(f"drawn in {run.plot}")
    for curve in curves:
        run.say(f"{curve.name}: " + ", ".join(f"{size:,}: {spent:.1f} ms" for size, spent in curve.points))
        yield alone(f"growth of {curve.name}, exponent", exponent(curve), LINEAR, unit="")


def exponent(curve: Curve) -> float:
    """By which power of the size the cost grows, over the last step, where fixed cost hides least."""
    (small, less), (large, more) = curve.points[-2:]
    return math.log(more / less) / math.log(large / small)


def _on_a_core(run: Run, work: Callable[[CoreHome, Core, Run], Awaitable[list[Curve]]]) -> list[Curve]:
    async def on_a_core(url: str) -> list[Curve]:
        with tempfile.TemporaryDirectory() as folder:
            home = CoreHome(Path(folder), url)
            home.script(*[said("done")] * 2_000)
            core = await home.open()
            try:
                await asked(core, "hello")
                return await work(home, core, run)
            finally:
                await core.close()

    with fresh_database() as url:
        return asyncio.run(on_a_core(url))


async def _of_messages(home: CoreHome, core: Core, run: Run) -> list[Curve]:
    opened, turns = Curve("opening a session of N messages"), Curve("a turn in a session of N messages")
    for count in MESSAGES[:3] if run.quick else MESSAGES:
        ids = [await long_session(core.database, max(1, count // PER_TURN)) for _ in range(REPEATED)]
        opened.points.append((count, min([await _timed(core.sessions.transcript(session)) for session in ids])))
        turns.points.append((count, min([await _timed(asked(core, "go on", session)) for session in ids])))
    return [opened, turns]


async def _of_sessions(home: CoreHome, core: Core, run: Run) -> list[Curve]:
    curve = Curve("a turn in each of N sessions at once")
    for count in SESSIONS[:3] if run.quick else SESSIONS:
        ids = [await long_session(core.database, 1) for _ in range(count)]
        curve.points.append((count, await _timed(_at_once(core, ids))))
    return [curve]


async def _at_once(core: Core, session_ids: list[UUID]) -> None:
    waiting = set(session_ids)
    with core.feed.subscribe(limit=100_000) as events:
        await asyncio.gather(
            *(
                core.dispatcher.dispatch(Inbound(text="go on", profile_id="home", source="cli", session_id=session_id))
                for session_id in session_ids
            )
        )
        async for live in events:
            if isinstance(live.event, TurnCompleted):
                waiting.discard(live.event.turn.session_id)
            if not waiting:
                return


async def _timed(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000
