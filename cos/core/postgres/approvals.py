"""Approvals in Postgres: a row before anyone is asked, and an answer that only the first one can give."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cos.agent.messages import json_text
from cos.agent.records import ApprovalAnswer, Risk
from cos.agent.text import storable
from cos.core.postgres.database import Connection, Database, Row
from cos.core.postgres.statements import core_statements
from cos.core.postgres.teller import tell_session

if TYPE_CHECKING:
    from cos.agent.approver import ApprovalRequest, RequestKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    """A request that waits for its answer."""

    id: UUID
    kind: RequestKind
    session_id: UUID
    root_session_id: UUID
    turn_id: UUID
    profile_id: str
    tags: tuple[str, ...]
    call_id: str
    tool: str
    args: dict[str, Any]
    cwd: str | None
    title: str
    detail: str
    diff: str | None
    risk: Risk
    reason: str
    choices: tuple[str, ...]
    """Answers that a question offers."""
    content_hash: str
    """Of what was asked: an answer is meant for this and nothing else."""
    requested_at: datetime
    expires_at: datetime
    session_title: str | None
    workspace: str | None
    root_title: str | None
    """Of the session that the user talks to, when a child agent asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedApproval:
    """What the database made of a request."""

    id: UUID
    requested_at: datetime
    expires_at: datetime


class Approvals:
    """One query a method."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("approvals")

    async def request(
        self, approval_id: UUID, request: ApprovalRequest, content_hash: str, timeout_seconds: float
    ) -> RequestedApproval:
        turn, description = request.turn, request.description
        row = {
            "id": approval_id, "kind": request.kind, "session_id": turn.session_id, "turn_id": turn.turn_id,
            "profile_id": turn.profile_id, "tags": list(turn.tags), "call_id": request.call_id, "tool": request.name,
            "args": json_text(request.args), "cwd": _storable(description.cwd), "content_hash": content_hash,
            "title": storable(description.title), "detail": storable(description.detail),
            "diff": _storable(description.diff), "choices": json_text(list(request.choices)),
            "risk": request.risk, "reason": storable("; ".join(request.reasons)), "timeout_seconds": timeout_seconds,
        }  # fmt: skip

        async def work(connection: Connection) -> Row:
            made = await (await connection.execute(self._sql["request_approval"], row)).fetchone()
            await tell_session(connection, self._database, turn.session_id, turn.profile_id)
            assert made is not None
            return made

        return RequestedApproval(id=approval_id, **await self._database.transaction(work))

    async def answer(self, approval_id: UUID, answer: ApprovalAnswer) -> ApprovalAnswer:
        """Set the answer if nobody was first; return the answer that counts.

        Raises:
            LookupError: there is no such approval, or it asks for something else than this.
        """
        row = {
            "id": approval_id, "status": answer.decision, "scope": answer.scope,
            "reason": _storable(answer.reason), "answered_by": _storable(answer.answered_by),
            "edited_args": None if answer.args is None else json_text(answer.args), "answer": _storable(answer.answer),
        }  # fmt: skip

        async def work(connection: Connection) -> bool:
            first = await (await connection.execute(self._sql["answer_approval"], row)).fetchone()
            if first is not None:
                await connection.execute(self._sql["tell_answer"], {"id": approval_id})
                await tell_session(connection, self._database, first["session_id"], first["profile_id"])
            return first is not None

        if await self._database.transaction(work):
            return answer
        counted = await self.counted(approval_id)
        if counted is None:
            raise LookupError(f"there is no approval {approval_id} that can be {answer.decision}")
        return counted

    async def counted(self, approval_id: UUID) -> ApprovalAnswer | None:
        """The answer that was given; None while there is none."""
        rows = await self._database.fetch(self._sql["approval"], {"id": approval_id})
        if not rows or rows[0]["status"] == "pending":
            return None
        return _answer_of(rows[0])

    async def ended(self, part_of_id: str) -> tuple[ApprovalAnswer, datetime] | None:
        """The answer to the one request, no longer pending, whose id begins or ends so, and when it was given."""
        rows = await self._database.fetch(self._sql["ended_approvals"], {"part": part_of_id}) if part_of_id else []
        return (_answer_of(rows[0]), rows[0]["answered_at"]) if len(rows) == 1 else None

    async def pending(self) -> list[PendingApproval]:
        """Every unanswered request of every session, oldest first."""
        rows = await self._database.fetch(self._sql["pending_approvals"])
        return [PendingApproval(**row | {key: tuple(row[key]) for key in ("tags", "choices")}) for row in rows]


def _answer_of(row: Row) -> ApprovalAnswer:
    return ApprovalAnswer(
        decision=row["status"], scope=row["scope"] or "once", reason=row["answer_reason"],
        answered_by=row["answered_by"], args=row["edited_args"], answer=row["answer"],
    )  # fmt: skip


def _storable(text: str | None) -> str | None:
    return None if text is None else storable(text)
