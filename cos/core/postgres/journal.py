"""The journal in Postgres. One transaction a call; the session's row is locked first, so ordinals have no holes."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import psycopg

from cos.agent.errors import AlreadyAcceptedError, IdentityError, NotWaitingError, TurnBusyError
from cos.agent.ids import new_id
from cos.agent.journal import Journal
from cos.agent.messages import (
    AssistantMessage,
    Message,
    ToolResultMessage,
    UserMessage,
    json_text,
    message_from_json,
    message_json,
    reply_text,
)
from cos.agent.records import ToolCallRecord, ToolCallStatus, TurnEnd, TurnStatus
from cos.agent.results import unanswered_status, unanswered_text
from cos.agent.steering import Steered, SteerSource
from cos.agent.text import storable
from cos.core.errors import LostTurnError
from cos.core.postgres.database import Connection, Database
from cos.core.postgres.open_replies import OpenReplies, open_reply_of
from cos.core.postgres.statements import core_statements
from cos.core.postgres.teller import tell_session
from cos.core.postgres.turn_waiting import Waiting, waiting_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.agent.events import Usage
    from cos.agent.identity import NewSession, TurnInfo
    from cos.agent.records import ContextMeter, ReplyPiece
    from cos.core.sessions import OpenReply


class PostgresJournal:
    """Implements `Journal` for the turns of this process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("journal")
        self._compaction = core_statements("compact")
        self._open_replies = OpenReplies(database)

    async def create_session(self, session: NewSession) -> UUID:
        row = asdict(session) | {"id": new_id(), "tags": list(session.tags)}
        row["title"] = storable(session.title) if session.title else None

        async def work(connection: Connection) -> UUID:
            await connection.execute(self._sql["flush_later"])
            created = await (await connection.execute(self._sql["create_session"], row)).fetchone()
            assert created is not None
            session_id: UUID = created["id"]
            await tell_session(connection, self._database, session_id, session.profile_id)
            return session_id

        return await self._database.transaction(work, piped=True)

    async def load_history(self, session_id: UUID) -> list[Message]:
        rows = await self._database.fetch(self._sql["load_history"], {"session_id": session_id})
        return [message_from_json(row["body"]) for row in rows]

    async def call_ids(self, session_id: UUID) -> set[str]:
        rows = await self._database.fetch(self._sql["call_ids"], {"session_id": session_id})
        return {row["call_id"] for row in rows}

    async def start_turn(
        self,
        turn: TurnInfo,
        prompt: UserMessage | None = None,
        *,
        message_id: UUID | None = None,
        from_queue: bool = False,
    ) -> datetime:
        async def work(connection: Connection) -> datetime:
            await self._lock(connection, turn)
            taking = await connection.execute(self._sql["take_queued"], {"id": message_id})
            waiting = {"session_id": turn.session_id, "prompt_id": message_id}
            await connection.execute(self._sql["keep_steers_waiting"], waiting)
            taken = await taking.fetchone()
            if from_queue and (taken is None or message_from_json(taken["body"]) != prompt):
                raise NotWaitingError(f"message {message_id} does not wait any more as it was read")
            row = {
                "id": turn.turn_id, "session_id": turn.session_id, "profile_id": turn.profile_id,
                "parent_turn_id": turn.parent_turn_id, "tags": list(turn.tags), "depth": turn.depth,
                "owner_boot_id": self._database.boot_id,
                "client_message_id": taken["client_message_id"] if taken else None,
            }  # fmt: skip
            try:
                starting = await connection.execute(self._sql["start_turn"], row)
                if prompt is not None:
                    await self._insert(connection, turn, prompt, message_id or new_id())
                started = await starting.fetchall()
            except psycopg.errors.UniqueViolation as error:
                if error.diag.constraint_name == "turns_client_message":
                    raise AlreadyAcceptedError(f"message {message_id} has its turn already") from error
                raise TurnBusyError(turn.session_id) from error
            await tell_session(connection, self._database, turn.session_id, turn.profile_id)
            return cast(datetime, started[0]["started_at"])

        return await self._database.transaction(work, piped=True)

    async def annotate_prompt(self, turn: TurnInfo, message_id: UUID, context: str) -> None:
        async def work(connection: Connection) -> None:
            await self._fence(connection, turn)
            key = {"id": message_id, "turn_id": turn.turn_id}
            row = await (await connection.execute(self._sql["message_body"], key)).fetchone()
            if row is not None:
                message = message_from_json(row["body"]).model_copy(update={"context": context})
                await connection.execute(self._sql["annotate_prompt"], key | {"body": message_json(message)})

        await self._database.transaction(work)

    async def append_message(
        self,
        turn: TurnInfo,
        message: Message,
        *,
        message_id: UUID | None = None,
        active: bool = True,
        meter: ContextMeter | None = None,
        usage: Usage | None = None,
    ) -> None:
        async def work(connection: Connection) -> None:
            await self._lock(connection, turn)
            await self._fence(connection, turn, usage)
            await self._insert(connection, turn, message, message_id or new_id(), active=active, meter=meter)

        await self._database.transaction(work, piped=True)
        self._database.teller.touched(turn.session_id, turn.profile_id)

    async def compact(self, turn: TurnInfo, summary: UserMessage, *, message_id: UUID) -> None:
        key = {"session_id": turn.session_id, "summary_id": message_id}

        async def work(connection: Connection) -> None:
            await self._lock(connection, turn)
            await self._fence(connection, turn)
            unanswered = await connection.execute(self._compaction["unanswered_active_calls"], key)
            for row in await unanswered.fetchall():
                raise IdentityError(f"tool call {row['call_id']} has no result yet; nothing is compacted")
            await connection.execute(self._compaction["put_away"], key)
            await self._insert(connection, turn, summary, message_id, active=True)

        await self._database.transaction(work)
        self._database.teller.touched(turn.session_id, turn.profile_id)

    async def take_steers(self, turn: TurnInfo) -> list[Steered]:
        key = {"session_id": turn.session_id}
        if not await self._database.fetch(self._sql["has_steers"], key):
            return []

        async def work(connection: Connection) -> list[Steered]:
            await self._lock(connection, turn)
            await self._fence(connection, turn)
            rows = await (await connection.execute(self._sql["take_steers"], key)).fetchall()
            taken: list[Steered] = []
            for row in sorted(rows, key=lambda row: cast(UUID, row["id"])):
                message = message_from_json(row["body"])
                assert isinstance(message, UserMessage)
                message = message.model_copy(update={"origin": "steered"})
                await self._insert(connection, turn, message, row["id"], client_message_id=row["client_message_id"])
                taken.append(Steered(row["id"], message))
            await tell_session(connection, self._database, turn.session_id, turn.profile_id)
            return taken

        return await self._database.transaction(work)

    async def keep_reply(self, turn: TurnInfo, pieces: Sequence[ReplyPiece], *, message_id: UUID) -> None:
        await self._open_replies.keep(turn.turn_id, message_id, pieces)
        self._database.teller.reply_grew(turn.session_id, turn.profile_id)

    async def record_tool_call(self, turn: TurnInfo, record: ToolCallRecord) -> None:
        row = asdict(record) | {
            "session_id": turn.session_id, "turn_id": turn.turn_id, "profile_id": turn.profile_id,
            "args": json_text(record.args),
            "result": storable(record.result) if record.result is not None else None,
            "approval": json_text(asdict(record.approval)) if record.approval else None,
            "is_final": record.status.is_final,
        }  # fmt: skip

        async def work(connection: Connection) -> None:
            await self._fence(connection, turn)
            await connection.execute(self._sql["record_call"], row)

        await self._database.transaction(work, piped=True)
        self._database.teller.touched(turn.session_id, turn.profile_id)

    async def finish_turn(
        self,
        turn: TurnInfo,
        status: TurnStatus,
        *,
        stop_reason: str | None = None,
        error: str | None = None,
        usage: Usage | None = None,
        meter: ContextMeter | None = None,
    ) -> TurnEnd:
        ending = {
            "turn_id": turn.turn_id, "status": status.value,
            "stop_reason": None if stop_reason is None else storable(stop_reason),
            "error": None if error is None else storable(error),
            "usage": _usage(usage), "context": _context(meter),
        }  # fmt: skip

        async def work(connection: Connection) -> TurnEnd:
            await self._lock(connection, turn)
            await self.close_in(connection, turn, ending)
            reading = await connection.execute(self._sql["turn_end"], ending)
            waiting = (await waiting_of(connection, [turn.turn_id])).get(turn.turn_id, Waiting())
            ended = await reading.fetchall()
            return TurnEnd(ended[0]["completed_at"], waiting.seconds)

        return await self._database.transaction(work, piped=True)

    async def close_in(self, connection: Connection, turn: TurnInfo, ending: dict[str, Any]) -> bool:
        """Close the turn inside a transaction that holds its session's lock: answer its calls, end its approvals.

        False when it was closed before; then nothing was changed.
        """
        key = {"turn_id": turn.turn_id, "session_id": turn.session_id}
        looking = await connection.execute(self._sql["open_turn"], key)
        replying = await connection.execute(self._sql["open_reply"], key)
        calling = await connection.execute(self._sql["unanswered_calls"], key)
        if await looking.fetchone() is None:
            return False
        reply = await replying.fetchone()
        if reply is not None:
            await self._adopt(connection, turn, open_reply_of(reply))
        status = TurnStatus(ending["status"])
        for row in await calling.fetchall():
            await self._settle(connection, turn, row, status)
        approvals = "cancelled" if status is not TurnStatus.INTERRUPTED else "expired"
        await connection.execute(self._sql["close_turn_approvals"], {"turn_id": turn.turn_id, "status": approvals})
        await connection.execute(self._sql["close_turn"], ending)
        await tell_session(connection, self._database, turn.session_id, turn.profile_id)
        return True

    async def settle_in(self, connection: Connection, turn: TurnInfo, status: TurnStatus) -> list[str]:
        """Answer the calls of the turn that have no result, as `close_in` does; their ids. It was the last to speak."""
        unanswered = await connection.execute(self._sql["unanswered_calls"], {"turn_id": turn.turn_id})
        rows = await unanswered.fetchall()
        for row in rows:
            await self._settle(connection, turn, row, status)
        return [row["call_id"] for row in rows]

    async def _adopt(self, connection: Connection, turn: TurnInfo, reply: OpenReply) -> None:
        """Make a message of what was shown of a reply that its process could not append."""
        await self._insert(connection, turn, reply.message, reply.message_id, active=reply.message.text is not None)

    async def _settle(self, connection: Connection, turn: TurnInfo, row: dict[str, Any], status: TurnStatus) -> None:
        before = ToolCallStatus(row["status"])
        content = unanswered_text(before, status, row["result"])
        is_error = row["is_error"] or not before.is_final
        message = ToolResultMessage(call_id=row["call_id"], content=content, is_error=is_error)
        await self._insert(connection, turn, message, new_id())
        settled = {
            "session_id": turn.session_id, "call_id": row["call_id"], "result": content, "is_error": is_error,
            "status": unanswered_status(before, status).value,
        }  # fmt: skip
        await connection.execute(self._sql["settle_call"], settled)

    async def _lock(self, connection: Connection, turn: TurnInfo) -> None:
        """Make this transaction the session's only writer."""
        cursor = await connection.execute(self._sql["lock_session"], {"session_id": turn.session_id})
        row = await cursor.fetchone()
        if row is None:
            raise IdentityError(f"there is no session {turn.session_id}")
        if row["profile_id"] != turn.profile_id:
            raise IdentityError(
                f"session {turn.session_id} belongs to profile {row['profile_id']}, not to {turn.profile_id}"
            )

    async def _fence(self, connection: Connection, turn: TurnInfo, usage: Usage | None = None) -> None:
        owner = {"turn_id": turn.turn_id, "owner_boot_id": self._database.boot_id, "usage": _usage(usage)}
        if await (await connection.execute(self._sql["touch_turn"], owner)).fetchone() is None:
            raise LostTurnError(f"turn {turn.turn_id} is closed or belongs to another process; nothing more is written")

    async def _insert(
        self,
        connection: Connection,
        turn: TurnInfo,
        message: Message,
        message_id: UUID,
        *,
        active: bool = True,
        meter: ContextMeter | None = None,
        client_message_id: str | None = None,
    ) -> None:
        row = {
            "id": message_id, "session_id": turn.session_id, "turn_id": turn.turn_id, "profile_id": turn.profile_id,
            "role": message.role, "active": active, "body": message_json(message),
            "call_id": message.call_id if isinstance(message, ToolResultMessage) else None,
            "search_text": storable(reply_text(message)), "client_message_id": client_message_id,
        }  # fmt: skip
        try:
            async with connection.pipeline():
                await connection.execute(self._sql["append_message"], row)
                if isinstance(message, AssistantMessage) and active:
                    await self._propose(connection, turn, message, message_id)
                touched = {"session_id": turn.session_id, "context": _context(meter)}
                await connection.execute(self._sql["touch_session"], touched)
        except psycopg.errors.UniqueViolation as error:
            if error.diag.constraint_name == "messages_pkey":
                raise AlreadyAcceptedError(f"message {message_id} has its turn already") from error
            if error.diag.constraint_name == "messages_one_result" and isinstance(message, ToolResultMessage):
                raise IdentityError(f"tool call {message.call_id} already has its result") from error
            raise

    async def _propose(
        self, connection: Connection, turn: TurnInfo, message: AssistantMessage, message_id: UUID
    ) -> None:
        for position, call in enumerate(message.tool_calls):
            proposed = {
                "session_id": turn.session_id, "call_id": call.id, "turn_id": turn.turn_id,
                "profile_id": turn.profile_id, "message_id": message_id, "position": position, "name": call.name,
                "args": json_text(call.args),
            }  # fmt: skip
            await connection.execute(self._sql["propose_call"], proposed)


def _usage(usage: Usage | None) -> str | None:
    return json.dumps(asdict(usage)) if usage else None


def _context(meter: ContextMeter | None) -> str | None:
    return json_text(asdict(meter)) if meter else None


def _fits(journal: PostgresJournal) -> tuple[Journal, SteerSource]:
    return journal, journal
