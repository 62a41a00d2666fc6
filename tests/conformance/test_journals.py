"""The journal suite over every journal there is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

import pytest

from cos.agent.journal import Journal
from cos.agent.memory_journal import MemoryJournal
from cos.agent.messages import Message
from cos.agent.records import ContextMeter, ToolCallRecord, TurnStatus
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.sessions import Sessions
from tests.conformance.journal_suite import CHECKS, JournalUnderTest

Check = Callable[[JournalUnderTest], Awaitable[None]]


class InMemory:
    def __init__(self) -> None:
        self._memory = MemoryJournal()
        self.journal: Journal = self._memory

    async def record(self, session_id: UUID, call_id: str) -> ToolCallRecord:
        return self._memory.sessions[session_id].tool_calls[call_id]

    async def status(self, session_id: UUID, turn_id: UUID) -> TurnStatus:
        return self._memory.sessions[session_id].turns[turn_id]

    async def meter(self, session_id: UUID) -> ContextMeter | None:
        return self._memory.sessions[session_id].meter

    async def all_messages(self, session_id: UUID) -> list[tuple[Message, bool]]:
        return [(row.message, row.active) for row in self._memory.sessions[session_id].messages]


@dataclass
class InPostgres:
    journal: Journal
    sessions: Sessions

    async def record(self, session_id: UUID, call_id: str) -> ToolCallRecord:
        return (await self.sessions.transcript(session_id)).calls[call_id]

    async def status(self, session_id: UUID, turn_id: UUID) -> TurnStatus:
        return (await self.sessions.transcript(session_id)).turns[turn_id].status

    async def meter(self, session_id: UUID) -> ContextMeter | None:
        return (await self.sessions.get(session_id)).context

    async def all_messages(self, session_id: UUID) -> list[tuple[Message, bool]]:
        return [(row.message, row.active) for row in (await self.sessions.transcript(session_id)).messages]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_memory(check: Check) -> None:
    await check(InMemory())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_postgres(check: Check, shared_core_url: str) -> None:
    database = await Database(shared_core_url, size=2).open()
    await check(InPostgres(PostgresJournal(database), Sessions(database)))
    await database.close()
