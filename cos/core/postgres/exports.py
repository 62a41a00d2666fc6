"""A session's whole history, read forward in pages: what an export is written from."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from cos.core.errors import SessionError
from cos.core.postgres.database import Database, Row
from cos.core.postgres.statements import core_statements

PAGE = 50
"""Rows read at once: a single message may hold 100,000 characters, and a call's arguments more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedSession:
    """What is known of a session itself. None = unknown, or there is none."""

    id: UUID
    profile_id: str
    source: str
    title: str | None
    tags: list[str]
    parent_session_id: UUID | None
    root_session_id: UUID
    forked_from_session_id: UUID | None
    cwd: str | None
    model: str | None
    """Of the frozen prompt; None before the first turn."""
    created_at: datetime
    last_activity_at: datetime
    archived_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTurn:
    """One turn, also an undone one."""

    id: UUID
    parent_turn_id: UUID | None
    ordinal: int
    tags: list[str]
    depth: int
    status: str
    started_at: datetime
    completed_at: datetime | None
    undone_at: datetime | None
    copied_from_turn_id: UUID | None
    """In a fork: the turn that this one repeats."""
    stop_reason: str | None
    error: str | None
    usage: dict[str, Any] | None
    """The fields of `cos.agent.events.Usage`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedCall:
    """The record of one tool call."""

    call_id: str
    name: str
    args: dict[str, Any]
    status: str
    result: str | None
    is_error: bool
    risk: str | None
    duration_ms: int | None
    approval: dict[str, Any] | None
    """The fields of `cos.agent.records.ApprovalAnswer`."""
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedMessage:
    """One message in its place, with the records of the calls that it proposed."""

    id: UUID
    turn_id: UUID
    ordinal: int
    active: bool
    created_at: datetime
    body: dict[str, Any]
    """As stored."""
    calls: list[ExportedCall]


class Exports:
    """Reads up to the newest message that was there when the reading began."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("export")

    async def session(self, session_id: UUID) -> tuple[ExportedSession, int]:
        """The session, and the ordinal of its newest message (0 = there is none).

        Raises:
            SessionError: there is no such session.
        """
        rows = await self._database.fetch(self._sql["export_session"], {"id": session_id})
        if not rows:
            raise SessionError(f"there is no session {session_id}")
        newest: int = rows[0].pop("newest_ordinal")
        return ExportedSession(**rows[0]), newest

    async def turns(self, session_id: UUID) -> AsyncIterator[ExportedTurn]:
        """All turns, oldest first."""
        after = 0
        while page := await self._turns(session_id, after=after):
            for turn in page:
                yield turn
            after = page[-1].ordinal

    async def messages(
        self, session_id: UUID, until: int
    ) -> AsyncIterator[tuple[list[ExportedMessage], dict[UUID, ExportedTurn]]]:
        """Pages of messages up to ordinal `until`, oldest first, each with the turns that they belong to.

        Raises:
            SessionError: the session was deleted meanwhile.
        """
        after = 0
        while after < until:
            key = {"session_id": session_id, "after": after, "until": until, "limit": PAGE}
            rows = await self._database.fetch(self._sql["export_messages"], key)
            if not rows:
                raise SessionError(f"session {session_id} was deleted while it was being exported")
            turn_ids = list({row["turn_id"] for row in rows})
            calls = await self._calls(session_id, turn_ids, [row["id"] for row in rows])
            turns = await self._turns(session_id, ids=turn_ids)
            yield [_message(row, calls) for row in rows], {turn.id: turn for turn in turns}
            after = rows[-1]["ordinal"]

    async def _turns(self, session_id: UUID, *, after: int = 0, ids: list[UUID] | None = None) -> list[ExportedTurn]:
        key = {"session_id": session_id, "after": after, "ids": ids, "limit": PAGE}
        return [ExportedTurn(**row) for row in await self._database.fetch(self._sql["export_turns"], key)]

    async def _calls(
        self, session_id: UUID, turn_ids: list[UUID], message_ids: list[UUID]
    ) -> dict[UUID, list[ExportedCall]]:
        key = {"session_id": session_id, "turn_ids": turn_ids, "message_ids": message_ids}
        found: defaultdict[UUID, list[ExportedCall]] = defaultdict(list)
        for row in await self._database.fetch(self._sql["export_calls"], key):
            found[row.pop("message_id")].append(ExportedCall(**row | {"args": json.loads(row["args"])}))
        return found


def _message(row: Row, calls: dict[UUID, list[ExportedCall]]) -> ExportedMessage:
    body = json.loads(row.pop("body"))
    return ExportedMessage(**row, body=body, calls=calls.get(row["id"], []))
