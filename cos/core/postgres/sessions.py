"""Sessions, their histories and their queues in Postgres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from cos.agent.events import TurnCompleted, Usage
from cos.agent.identity import TurnInfo
from cos.agent.messages import AssistantMessage, UserMessage, message_from_json, message_json
from cos.agent.records import ApprovalAnswer, ToolCallRecord, ToolCallStatus, TurnStatus
from cos.agent.tags import Tag
from cos.agent.text import storable, visible
from cos.core.errors import SessionError
from cos.core.postgres.database import Connection, Database, Row
from cos.core.postgres.open_replies import open_reply_of
from cos.core.postgres.statements import core_statements
from cos.core.postgres.teller import tell_session
from cos.core.postgres.turn_waiting import Waiting, waiting_of
from cos.core.sessions import (
    MessageRow,
    OpenReply,
    QueuedMessage,
    Session,
    TakenIn,
    Transcript,
    TurnRow,
    meter_of,
    usage_of,
)

if TYPE_CHECKING:
    from cos.agent.steering import DeliveryMode

PAGE = 100
_CANDIDATES = 5
"""So many sessions are named when an id could mean several, the newest first."""
_CHILD_RESTS = (
    "this child agent does not work any more, so nothing can be said to it; write to the session that it worked for, "
    "or go on from here in a copy with /fork"
)


class Sessions:
    """One query a method."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("sessions")

    async def get(self, session_id: UUID) -> Session:
        """
        Raises:
            SessionError: there is no such session.
        """
        rows = await self._database.fetch(self._sql["session"], {"id": session_id})
        if not rows:
            raise SessionError(f"there is no session {session_id}")
        return _session(rows[0])

    async def with_next(self, session_id: UUID) -> tuple[Session, QueuedMessage | None]:
        """The session, and the first of its `queue`.

        Raises:
            SessionError: there is no such session.
        """
        rows = await self._database.fetch(self._sql["session_and_next"], {"id": session_id})
        if not rows:
            raise SessionError(f"there is no session {session_id}")
        names = ("message_id", "body", "message_source", "mode")
        message_id, body, source, mode = (rows[0].pop(name) for name in names)
        if message_id is None:
            return _session(rows[0]), None
        waiting = QueuedMessage(id=message_id, message=_user_message(body), source=source, mode=mode)
        return _session(rows[0]), waiting

    async def find(self, id_or_prefix: str) -> UUID:
        """The session whose id begins with the given text.

        Raises:
            SessionError: none does, or more than one.
        """
        prefix = id_or_prefix.strip().lower()
        is_plausible = prefix and all(character in "0123456789abcdef-" for character in prefix)
        parameters = {"prefix": f"{prefix}%", "limit": _CANDIDATES + 1}
        rows = await self._database.fetch(self._sql["sessions_by_id_prefix"], parameters)
        if not is_plausible or not rows:
            raise SessionError(f"there is no session whose id begins with {id_or_prefix!r}")
        if len(rows) > 1:
            more = ["…"] if len(rows) > _CANDIDATES else []
            listed = [f"{row['id']}  {visible(row['title'] or 'untitled')}" for row in rows[:_CANDIDATES]]
            lines = "\n  ".join(
                [f"more than one session id begins with {id_or_prefix!r}; give more of it:", *listed, *more]
            )
            raise SessionError(lines)
        return rows[0]["id"]  # type: ignore[no-any-return]  # rows are untyped by nature

    async def latest(self, profile_id: str | None) -> UUID | None:
        """The session with the newest activity, of one profile or (None) of all."""
        rows = await self._database.fetch(self._sql["latest_session"], {"profile_id": profile_id})
        return rows[0]["id"] if rows else None

    async def set_title(self, session_id: UUID, title: str) -> None:
        await self._database.fetch(self._sql["set_title"], {"id": session_id, "title": storable(title)})

    async def freeze_prompt(self, session_id: UUID, frozen_prompt: str, cwd: str) -> str:
        """Store what comes before the conversation, and answer what is stored: the first to do so decides."""
        parameters = {"id": session_id, "frozen_prompt": frozen_prompt, "cwd": cwd}
        if await self._database.fetch(self._sql["freeze_prompt"], parameters):
            return frozen_prompt
        stored = (await self.get(session_id)).frozen_prompt
        assert stored is not None
        return stored

    async def transcript(self, session_id: UUID, *, before: int | None = None, limit: int = PAGE) -> Transcript:
        """The page of history that ends before ordinal `before` (None = with the newest message)."""
        page, has_older = await self.messages(session_id, before=before, limit=limit)
        turn_ids = list({row.turn_id for row in page})
        key = {"session_id": session_id, "ids": turn_ids}
        turns = await self._database.fetch(self._sql["session_turns"], key)
        calls = await self._database.fetch(self._sql["session_calls"], key)
        waited = await self._waiting(turn_ids)
        return Transcript(
            messages=page,
            turns={row["id"]: turn_row(row, waited.get(row["id"], Waiting())) for row in turns},
            calls={row["call_id"]: call_record(row) for row in calls},
            has_older=has_older,
        )

    async def messages(
        self, session_id: UUID, *, before: int | None = None, limit: int = PAGE
    ) -> tuple[list[MessageRow], bool]:
        """Those of the same page, and whether there are older ones."""
        parameters = {"session_id": session_id, "before": before, "limit": limit + 1}
        rows = await self._database.fetch(self._sql["transcript"], parameters)
        return [message_row(row) for row in reversed(rows[:limit])], len(rows) > limit

    async def _waiting(self, turn_ids: list[UUID]) -> dict[UUID, Waiting]:
        async def work(connection: Connection) -> dict[UUID, Waiting]:
            return await waiting_of(connection, turn_ids)

        return await self._database.read(work)

    async def usage(self, session_id: UUID) -> Usage:
        """Tokens of all ended turns of the session."""
        total = Usage()
        for row in await self._database.fetch(self._sql["session_usage"], {"session_id": session_id}):
            total += usage_of(row["usage"]) or Usage()
        return total

    async def enqueue(
        self,
        session: Session,
        message_id: UUID,
        message: UserMessage,
        source: str,
        client_message_id: str | None,
        mode: DeliveryMode = "queue",
    ) -> bool:
        """Keep a message until a turn takes it. False: the one with this `client_message_id` was taken in before.

        Raises:
            SessionError: it is for a child agent that does not work any more: no turn would ever take it.
        """
        queued = QueuedMessage(id=message_id, message=message, source=source, mode=mode)
        place = {"session_id": session.id, "profile_id": session.profile_id, "client_message_id": client_message_id}

        async def work(connection: Connection) -> bool:
            key = {"session_id": session.id}
            await connection.execute(core_statements("journal")["lock_session"], key)
            if session.is_child and not await (await connection.execute(self._sql["has_open_turn"], key)).fetchone():
                raise SessionError(_CHILD_RESTS)
            await tell_session(connection, self._database, session.id, session.profile_id)
            return await enqueue_in(connection, queued, place)

        return await self._database.transaction(work, piped=True)

    async def queue(self, session_id: UUID) -> list[QueuedMessage]:
        """What waits, next first: what is to be sent now, then in order of arrival."""
        rows = await self._database.fetch(self._sql["queued"], {"session_id": session_id})
        return [QueuedMessage(message=_user_message(row.pop("body")), **row) for row in rows]

    async def dequeue(self, message_id: UUID) -> None:
        """Forget a waiting message: it has its turn already."""
        await self._database.fetch(self._sql["dequeue"], {"id": message_id})

    async def end_of_turn(self, message_id: UUID) -> TurnCompleted | None:
        """The end of the turn that began with this message; None while it waits or runs. The text is left out."""
        rows = await self._database.fetch(self._sql["turn_of_message"], {"id": message_id})
        if not rows or rows[0]["completed_at"] is None:
            return None
        row = rows[0]
        waited = (await self._waiting([row["id"]])).get(row["id"], Waiting())
        turn = TurnInfo(
            profile_id=row["profile_id"], session_id=row["session_id"], turn_id=row["id"],
            parent_turn_id=row["parent_turn_id"], tags=tuple(Tag(tag) for tag in row["tags"]), depth=row["depth"],
        )  # fmt: skip
        return TurnCompleted(
            turn=turn, status=TurnStatus(row["status"]), stop_reason=row["stop_reason"], error=row["error"], text="",
            usage=usage_of(row["usage"]) or Usage(), started_at=row["started_at"], completed_at=row["completed_at"],
            had_output=False, waited_seconds=waited.seconds,
        )  # fmt: skip

    async def last_reply(self, turn_id: UUID) -> tuple[UUID, AssistantMessage] | None:
        """The turn's last message of the model, with its id."""
        rows = await self._database.fetch(self._sql["last_reply"], {"turn_id": turn_id})
        message = message_from_json(rows[0]["body"]) if rows else None
        return (rows[0]["id"], message) if isinstance(message, AssistantMessage) else None

    async def open_reply(self, session_id: UUID) -> OpenReply | None:
        """What is kept of the reply that some process streams in the session; None when there is nothing yet."""
        rows = await self._database.fetch(core_statements("journal")["open_reply"], {"session_id": session_id})
        return open_reply_of(rows[0]) if rows else None

    async def pause_queue(self, session_id: UUID, *, paused: bool) -> None:
        """Or let it go on; nothing pauses while a turn runs in the session."""

        async def work(connection: Connection) -> None:
            key = {"session_id": session_id, "paused": paused}
            row = await (await connection.execute(self._sql["pause_queue"], key)).fetchone()
            if row is not None:
                await tell_session(connection, self._database, session_id, row["profile_id"])

        await self._database.transaction(work, piped=True)

    async def taken_in(self, session_id: UUID, client_message_id: str) -> TakenIn | None:
        """What became of the message with this client id; None when it has not come yet."""
        key = {"session_id": session_id, "client_message_id": client_message_id}
        rows = await self._database.fetch(self._sql["taken_in"], key)
        return TakenIn(**rows[0]) if rows else None


async def enqueue_in(connection: Connection, queued: QueuedMessage, place: Row) -> bool:
    """Keep a message inside a transaction that holds its session's lock; False when it was taken in before.

    `place`: session_id and profile_id, and perhaps client_message_id and goes_with_id.
    """
    row = {"client_message_id": None, "goes_with_id": None} | place | {
        "id": queued.id, "mode": queued.mode, "body": message_json(queued.message), "source": queued.source,
    }  # fmt: skip
    return await (await connection.execute(core_statements("sessions")["enqueue"], row)).fetchone() is not None


def _session(row: Row) -> Session:
    return Session(**row | {"tags": tuple(row["tags"]), "context": meter_of(row["context"])})


def call_record(row: Row) -> ToolCallRecord:
    """A row of `tool_calls` as the record it was made from."""
    return ToolCallRecord(
        call_id=row["call_id"],
        name=row["name"],
        args=row["args"],
        status=ToolCallStatus(row["status"]),
        result=row["result"],
        is_error=row["is_error"],
        risk=row["risk"] or "execute",
        duration_ms=row["duration_ms"],
        approval=ApprovalAnswer(**row["approval"]) if row["approval"] else None,
    )


def turn_row(row: Row, waiting: Waiting) -> TurnRow:
    """A row of `turns` as a reader sees it."""
    changed: dict[str, Any] = {
        "tags": tuple(row["tags"]),
        "status": TurnStatus(row["status"]),
        "usage": usage_of(row["usage"]) if row["completed_at"] else None,
        "waited_seconds": waiting.seconds,
        "waits_since": waiting.open_since,
        "open_requests": waiting.open_requests,
    }
    return TurnRow(**row | changed)


def message_row(row: Row) -> MessageRow:
    """A row of `messages` as a reader sees it."""
    message = message_from_json(row["body"])
    return MessageRow(message=message, **{key: value for key, value in row.items() if key != "body"})


def _user_message(body: str) -> UserMessage:
    message = message_from_json(body)
    assert isinstance(message, UserMessage)
    return message
