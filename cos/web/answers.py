"""Answers to requests for approval that come from a browser."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

from pydantic import BaseModel

from cos.agent.records import ApprovalAnswer
from cos.core.answer_words import decided
from cos.core.edited_args import NotArguments, args_of
from cos.core.questions import meant_answer
from cos.web.errors import RequestError

if TYPE_CHECKING:
    from cos.core.postgres.approvals import PendingApproval
    from cos.web.core_port import WebCore
    from cos.web.objects import Json
    from cos.web.outbox import Outbox

ANSWERED_BY: Final = "web"


class ApprovalRespond(BaseModel):
    approval_id: UUID
    choice: Literal["once", "session", "always", "deny", "answer"]
    content_hash: str
    reason: str | None = None
    text: str | None = None
    edited_args: str | None = None
    """The request's `editable` as the user changed it."""


class Answers:
    """Of one server."""

    def __init__(self, core: WebCore) -> None:
        self._desk = core.desk

    async def respond(self, client: Outbox, wish: ApprovalRespond) -> Json:
        """
        Raises:
            RequestError: there is no such request, it was answered before, or it asks for something else.
        """
        pending = next((row for row in await self._desk.pending() if row.id == wish.approval_id), None)
        if pending is None:
            raise await self._gone(wish.approval_id)
        if wish.content_hash != pending.content_hash:
            raise RequestError("conflict", "the request is not the one that you were shown; look at it again")
        answer = _answer(pending, wish)
        if wish.edited_args is not None:
            answer = replace(answer, args=_edited(pending, wish))
        proposals = self._desk.proposals(pending) if answer.scope != "once" else ()
        if answer.scope != "once" and not proposals:
            raise RequestError("refused", "no rule can say safely what would be allowed for longer; allow it once")
        warning = None
        if proposals:
            taken = await self._desk.grant(pending, answer, proposals[0].rules)
            counted, warning = taken.counted, taken.warning
        else:
            counted = await self._desk.answer(pending.id, answer)
        if counted != answer:
            raise _conflict(counted)
        return {"status": counted.decision, "answered_by": counted.answered_by, "warning": warning}

    async def _gone(self, approval_id: UUID) -> RequestError:
        counted = await self._desk.counted(approval_id)
        if counted is None:
            return RequestError("not_found", f"there is no request {approval_id}")
        return _conflict(counted)


def _answer(pending: PendingApproval, wish: ApprovalRespond) -> ApprovalAnswer:
    if wish.choice == "deny":
        return ApprovalAnswer(decision="denied", reason=wish.reason or None, answered_by=ANSWERED_BY)
    if wish.choice == "answer":
        if pending.kind != "question":
            raise RequestError("bad_request", "choice: that is a call, not a question")
        words = meant_answer(wish.text or "", pending.choices)
        if not words:
            raise RequestError("bad_request", "text: the answer is empty; deny declines to answer")
        return ApprovalAnswer(decision="answered", answer=words, answered_by=ANSWERED_BY)
    if pending.kind == "question":
        raise RequestError("bad_request", "choice: that is a question; it takes answer or deny")
    return ApprovalAnswer(decision="allowed", scope=wish.choice, answered_by=ANSWERED_BY)


def _edited(pending: PendingApproval, wish: ApprovalRespond) -> Json:
    if wish.choice != "once":
        raise RequestError("bad_request", "edited_args: they can be allowed once and in no other way")
    try:
        return args_of(pending.tool, pending.args, wish.edited_args or "")
    except NotArguments as error:
        raise RequestError("bad_request", str(error)) from error


def _conflict(counted: ApprovalAnswer) -> RequestError:
    answer = {"status": counted.decision, "answered_by": counted.answered_by, "reason": counted.reason}
    return RequestError("conflict", f"already answered: {decided(counted)}", {"answer": answer})
