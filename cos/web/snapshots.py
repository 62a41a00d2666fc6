"""What the tables say of one session, as a client needs it to begin with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cos.core.rule_file import kept_words
from cos.web.errors import RequestError
from cos.web.objects import (
    Json,
    approval_object,
    encode,
    queue_object,
    retry_object,
    server_time,
    session_object,
    stored_call,
    stored_message,
    turn_object,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from uuid import UUID

    from cos.core.postgres.approvals import PendingApproval
    from cos.core.sessions import MessageRow, Session, SessionRow, TurnRow
    from cos.web.core_port import WebCore
    from cos.web.live_turns import LiveTurn, LiveTurns
    from cos.web.money import Money

TURNS: Final = 30
MESSAGES: Final = 200
MOST_BYTES: Final = 1_000_000
"""Of the messages of a snapshot; older ones are fetched page by page. The results of its calls have as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveState:
    """What only the memory of this process knows, as of one moment."""

    reply: Json | None
    calls: dict[str, Json]
    retry: Json | None = None

    @classmethod
    def of(cls, turn: LiveTurn | None, told_reply: Json | None) -> LiveState:
        """`told_reply`: of a turn of another process, what its clients were told."""
        if turn is None:
            return cls(reply=dict(told_reply) if told_reply else None, calls={})
        retry = retry_object(turn.retry) if turn.retry else None
        return cls(reply=turn.reply, calls=dict(turn.calls), retry=retry)


class Snapshots:
    """Reads only. Every method raises CosError when the database does not answer."""

    def __init__(self, core: WebCore, money: Money, live: LiveTurns) -> None:
        self._core = core
        self._money = money
        self._live = live

    async def sessions(self, session_ids: Collection[UUID]) -> dict[UUID, Json]:
        """`Session` objects of those that still exist."""
        rows = await self._core.session_list.rows(session_ids)
        return {session["id"]: session for session in await self.of_rows(rows)}

    async def of_rows(self, rows: Sequence[SessionRow]) -> list[Json]:
        """`Session` objects of these rows, in their order."""
        spent = await self._money.of_sessions([row.id for row in rows])
        return [session_object(row, live=self._live.of(row.id), spent=spent.get(row.id)) for row in rows]

    async def session(self, session_id: UUID) -> Json:
        """
        Raises:
            RequestError: there is no such session.
        """
        found = await self.sessions({session_id})
        if session_id not in found:
            raise RequestError("not_found", f"there is no session {session_id}")
        return found[session_id]

    async def turns(self, session: Session, rows: Sequence[TurnRow]) -> list[Json]:
        costs = await self._money.of_turns([row.id for row in rows])
        return [turn_object(session, row, costs.get(row.id)) for row in rows]

    async def queue(self, session: Session) -> Json:
        return queue_object(session, await self._core.sessions.queue(session.id))

    async def calls(self, session_id: UUID, messages: Sequence[Json], live: Mapping[str, Json]) -> list[Json]:
        """Those that `messages` of the session ask for, in order. `live`: of the turn that runs here, by call id."""
        wanted = {call["id"] for message in messages for call in message["tool_calls"]} | live.keys()
        if not wanted:
            return []
        found = await self._core.session_turns.calls({message["turn_id"] for message in messages})
        return _without_long_results(
            [stored_call(session_id, stored) for stored in found if stored.record.call_id in wanted]
        )

    def approval(self, row: PendingApproval) -> Json:
        proposals, profile = self._core.desk.proposals(row), self._core.profiles.get(row.profile_id)
        if not proposals or profile is None:
            return approval_object(row, keeps=None)
        rules, file = proposals[0].rules, profile.config_file
        return approval_object(row, keeps={scope: kept_words(rules, scope, file) for scope in ("session", "always")})

    async def snapshot(self, session_id: UUID, live: LiveState) -> Json:
        """The payload of `session.snapshot`; `live` is what is known besides the tables.

        Raises:
            RequestError: there is no such session.
        """
        own = await self.session(session_id)
        session = await self._core.sessions.get(session_id)
        turns = await self._core.session_turns.page(session_id, after=None, limit=TURNS)
        rows, has_older = await self._core.sessions.messages(session_id, limit=MESSAGES)
        messages = await asyncio.to_thread(_messages, session_id, rows, {turn.id for turn in turns})
        pending = [
            self.approval(row)
            for row in await self._core.desk.pending()
            if session_id in (row.session_id, row.root_session_id)
        ]
        active = next((turn.id for turn in turns if turn.completed_at is None), None)
        reply = live.reply
        if reply is not None and (active is None or any(message["id"] == reply["message_id"] for message in messages)):
            reply = None
        return {
            "session": own,
            "turns": await self.turns(session, turns),
            "messages": messages,
            "has_more": has_older or len(messages) < len(rows),
            "active_turn_id": active,
            "open_reply": reply,
            "retry": live.retry if live.retry and live.retry["turn_id"] == active else None,
            "tools": await self.calls(session_id, messages, live.calls),
            "approvals": pending,
            "queue": await self.queue(session),
        } | server_time()


def _messages(session_id: UUID, rows: Sequence[MessageRow], turn_ids: Collection[UUID]) -> list[Json]:
    """The newest of these turns that are not too long together, at least one, oldest first."""
    kept: list[Json] = []
    length = 0
    for row in reversed(rows):
        message = stored_message(session_id, row)
        length += len(encode(message))
        if row.turn_id not in turn_ids or (kept and length > MOST_BYTES):
            break
        kept.append(message)
    return kept[::-1]


def _without_long_results(calls: Sequence[Json]) -> list[Json]:
    """The newest with their results and diffs, as long as these are not too long together."""
    kept: list[Json] = []
    length = 0
    for call in reversed(calls):
        length += len(call["result"] or "") + len(call["diff"] or "")
        kept.append(call if length <= MOST_BYTES else call | {"result": None, "diff": None})
    return kept[::-1]
