"""Random interleavings of two processes on one database; one of them may die at any moment and come back.

`COS_TEST_INTERLEAVINGS` sets how many are tried.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cos.agent.errors import CosError
from cos.agent.identity import NewSession
from cos.agent.ids import new_id
from cos.agent.provider import ModelRequest, StreamStarted, TextChunk
from cos.agent.providers.scripted import Item, Script, ScriptedProvider, ScriptedStream, called, said
from cos.agent.records import ApprovalAnswer
from cos.core.errors import DatabaseError
from cos.core.postgres.database import Database
from tests.agent_bench import assert_answered, tool
from tests.core_bench import CoreBench, listening
from tests.postgres.whole_session import NEVER

EXAMPLES = int(os.environ.get("COS_TEST_INTERLEAVINGS", "12"))
WHO = st.integers(0, 1)
STEP = st.one_of(
    st.tuples(st.sampled_from(["queue", "steer", "now"]), WHO),
    st.tuples(st.sampled_from(["queue", "again", "stop", "cancel", "allow", "deny", "resume", "sweep"]), WHO),
    st.tuples(st.just("crash"), WHO),
)
PLAN = st.lists(st.tuples(st.lists(STEP, min_size=1, max_size=4), st.integers(0, 25)), min_size=3, max_size=14)


class Improvising(ScriptedProvider):
    """Says, streams slowly, calls a tool that has to be allowed, or hangs: as chance has it."""

    def __init__(self, seed: int) -> None:
        super().__init__([])
        self._chance = random.Random(seed)

    def _next(self) -> Script:
        pieces: tuple[Item, ...] = (StreamStarted("m"), TextChunk("so "), TextChunk("far"))
        match self._chance.randrange(6):
            case 0:
                return [*pieces, "hang"]
            case 1 | 2:
                return called((f"call-{new_id()}", "w", {}), text="let me")
            case _:
                return said("done")

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[ScriptedStream]:
        await asyncio.sleep(self._chance.random() * 0.02)
        self._scripts.append(self._next())
        async with super().stream(request) as stream:
            yield stream


class Process:
    """One that can die and be started again."""

    def __init__(self, url: str, folder: Path, seed: int) -> None:
        self._url, self._folder, self._seed = url, folder, seed
        self._stack = AsyncExitStack()
        self.core: CoreBench

    async def start(self) -> None:
        self._seed += 1
        provider, asks = Improvising(self._seed), tool("w", risk="write")
        self.core = await self._stack.enter_async_context(
            listening(self._url, self._folder, [], asks, provider=provider, size=3)
        )
        self.core.hooks.register("pre_tool_call", lambda: {"action": "approve"}, source="p")

    async def crash(self) -> None:
        """From one moment to the next nothing of it reaches the database any more."""
        core = self.core

        async def dead(work: object, frame: object) -> Any:
            raise DatabaseError("this process is dead")

        core.database._once = dead  # type: ignore[method-assign]
        core.dispatcher.turns.is_closing = True
        for running in core.dispatcher.turns.all:
            running.task.cancel()
        await self.close()
        await self.start()

    async def close(self) -> None:
        stack, self._stack = self._stack, AsyncExitStack()
        await stack.aclose()


class Trial:
    """One session under two processes."""

    def __init__(self, database: Database, processes: list[Process], session: UUID) -> None:
        self._database = database
        self._processes = processes
        self._session = session
        self._sent = 0
        self.accepted: set[str] = set()
        self._closed: dict[UUID, Any] = {}

    async def do(self, what: str, who: int) -> None:
        """What the database refuses, or a dead process, was not acknowledged."""
        core = self._processes[who].core
        try:
            match what:
                case "queue" | "steer" | "now":
                    self._sent += 1
                    text = f"m{self._sent}"
                    await core.send(text, self._session, mode=what, client_message_id=text)
                    self.accepted.add(text)
                case "again":
                    text = f"m{self._sent or 1}"
                    self._sent = self._sent or 1
                    await core.send(text, self._session, client_message_id=text)
                    self.accepted.add(text)
                case "stop":
                    await core.dispatcher.stop(self._session)
                case "cancel":
                    core.dispatcher.cancel(self._session)
                case "allow" | "deny":
                    await self.answer(core, "allowed" if what == "allow" else "denied")
                case "resume":
                    await core.dispatcher.resume_queue(self._session)
                case "sweep":
                    await self._sweep(core)
                case _:
                    await self._processes[who].crash()
        except (CosError, LookupError):
            pass

    async def answer(self, core: CoreBench, decision: Any) -> None:
        for pending in await core.desk.pending():
            await core.desk.answer(pending.id, ApprovalAnswer(decision=decision, answered_by="somebody"))

    async def _sweep(self, core: CoreBench) -> None:
        await core.dispatcher._stored.sweeper.sweep()
        await core.dispatcher.cancelling.close_lost()

    async def settle(self) -> None:
        """Let everything that waits run, by whatever process lives."""
        async with asyncio.timeout(30):
            while True:
                for process in self._processes:
                    await self._sweep(process.core)
                    await self.answer(process.core, "denied")
                    await process.core.dispatcher.start_waiting(self._session, new_id())
                await asyncio.sleep(0.03)
                busy = await self._rows("SELECT id FROM turns WHERE session_id = %(id)s AND completed_at IS NULL")
                waiting = await self._processes[0].core.sessions.queue(self._session)
                if not busy and not waiting:
                    return
                if busy:
                    await self._processes[self._sent % 2].core.dispatcher.stop(self._session, busy[0]["id"])

    async def check(self) -> None:
        """What holds at every moment."""
        rows = await self._rows(
            "SELECT id, status, completed_at, error, usage::text, stop_reason FROM turns"
            " WHERE session_id = %(id)s AND completed_at IS NOT NULL"
        )
        closed = {row["id"]: row for row in rows}
        assert {turn_id: closed[turn_id] for turn_id in self._closed} == self._closed, "what has ended never changes"
        self._closed = closed
        for wrong, why in NEVER.items():
            assert not await self._rows(wrong), why

    async def check_end(self) -> None:
        await self.check()
        journal = self._processes[0].core.journal
        history = await journal.load_history(self._session)
        assert_answered(history)
        said = [row["text"] for row in await self._rows(_SAID)]
        assert len(said) == len(set(said)), "nothing ran twice"
        assert self.accepted <= set(said), "nothing that was acknowledged is lost"

    async def _rows(self, query: str) -> list[Any]:
        return await self._database.fetch(query.encode(), {"id": self._session})


_SAID = """SELECT body->>'text' AS text FROM messages
    WHERE session_id = %(id)s AND role = 'user' AND body->>'text' ~ '^m[0-9]+$'"""


async def _tried(url: str, folder: Path, plan: list[tuple[list[tuple[str, int]], int]], seed: int) -> None:
    processes = [Process(url, folder, seed), Process(url, folder, seed + 1_000)]
    async with asyncio.timeout(90), AsyncExitStack() as stack:
        database = await Database(url, size=2).open()
        stack.push_async_callback(database.close)
        for process in processes:
            await process.start()
            stack.push_async_callback(process.close)
        session = await processes[0].core.journal.create_session(NewSession(profile_id="home", source="cli"))
        trial = Trial(database, processes, session)
        for together, milliseconds in plan:
            await asyncio.gather(*(trial.do(what, who) for what, who in _one_crash(together)))
            await asyncio.sleep(milliseconds / 1000)
            await trial.check()
        await trial.settle()
        await trial.check_end()


def _one_crash(steps: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """At the same moment a process dies once."""
    return [step for place, step in enumerate(steps) if step[0] != "crash" or step not in steps[:place]]


def repeated(test: Callable[..., None]) -> Callable[..., None]:
    return settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture],
    )(test)  # fmt: skip


@repeated
@given(plan=PLAN, seed=st.integers(0, 10_000))
def test_two_processes_keep_one_session_whole_whatever_happens_when(
    core_url: str, tmp_path: Path, plan: list[tuple[list[tuple[str, int]], int]], seed: int
) -> None:
    asyncio.run(_tried(core_url, tmp_path, plan, seed))
