"""The journal suite over every journal there is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

import pytest

from cos.agent.ids import new_id
from cos.agent.journal import Journal
from cos.agent.memory_journal import MemoryJournal, StoredWaiting
from cos.agent.messages import Message, UserMessage
from cos.agent.records import ContextMeter, ToolCallRecord, TurnStatus
from cos.agent.steering import DeliveryMode, SteerSource
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.sessions import Sessions
from tests.conformance.journal_suite import CHECKS, JournalUnderTest

Check = Callable[[JournalUnderTest], Awaitable[None]]


class InMemory:
    def __init__(self) -> None:
        self._memory = MemoryJournal()
        self.journal: Journal = self._memory
        self.steers: SteerSource = self._memory

    async def record(self, session_id: UUID, call_id: str) -> ToolCallRecord:
        return self._memory.sessions[session_id].tool_calls[call_id]

    async def status(self, session_id: UUID, turn_id: UUID) -> TurnStatus:
        return self._memory.sessions[session_id].turns[turn_id]

    async def meter(self, session_id: UUID) -> ContextMeter | None:
        return self._memory.sessions[session_id].meter

    async def all_messages(self, session_id: UUID) -> list[tuple[Message, bool]]:
        return [(row.message, row.active) for row in self._memory.sessions[session_id].messages]

    async def enqueue(self, session_id: UUID, text: str, mode: DeliveryMode) -> UUID:
        waiting = StoredWaiting(new_id(), UserMessage(text=text), mode)
        self._memory.sessions[session_id].queue.append(waiting)
        return waiting.message_id

    async def waiting(self, session_id: UUID) -> list[tuple[str, DeliveryMode]]:
        return [(row.message.text, row.mode) for row in self._memory.sessions[session_id].queue]


@dataclass
class InPostgres:
    journal: Journal
    steers: SteerSource
    sessions: Sessions

    async def record(self, session_id: UUID, call_id: str) -> ToolCallRecord:
        return (await self.sessions.transcript(session_id)).calls[call_id]

    async def status(self, session_id: UUID, turn_id: UUID) -> TurnStatus:
        return (await self.sessions.transcript(session_id)).turns[turn_id].status

    async def meter(self, session_id: UUID) -> ContextMeter | None:
        return (await self.sessions.get(session_id)).context

    async def all_messages(self, session_id: UUID) -> list[tuple[Message, bool]]:
        return [(row.message, row.active) for row in (await self.sessions.transcript(session_id)).messages]

    async def enqueue(self, session_id: UUID, text: str, mode: DeliveryMode) -> UUID:
        message_id = new_id()
        session = await self.sessions.get(session_id)
        await self.sessions.enqueue(session, message_id, UserMessage(text=text), "cli", None, mode)
        return message_id

    async def waiting(self, session_id: UUID) -> list[tuple[str, DeliveryMode]]:
        return [(row.text, row.mode) for row in await self.sessions.queue(session_id)]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_memory(check: Check) -> None:
    await check(InMemory())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_postgres(check: Check, shared_core_url: str) -> None:
    database = await Database(shared_core_url, size=2).open()
    journal = PostgresJournal(database)
    await check(InPostgres(journal, journal, Sessions(database)))
    await database.close()
