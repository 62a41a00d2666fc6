"""The approval port: how the loop asks a person about a call, or a running call asks a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from cos.agent.identity import TurnInfo
    from cos.agent.records import ApprovalAnswer, Risk
    from cos.agent.tools import CallDescription


RequestKind = Literal["tool_call", "question"]
"""`tool_call`: may it run? `question`: a running call wants to know something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """One call that must not run before a person allowed exactly this, or what it asks a person while it runs."""

    turn: TurnInfo
    call_id: str
    name: str
    args: dict[str, Any]
    risk: Risk
    description: CallDescription
    reasons: tuple[str, ...]
    """Why it is asked."""
    kind: RequestKind = "tool_call"
    choices: tuple[str, ...] = ()
    """Answers that a question offers; other words are an answer too. The question is the description's detail."""


class Approver(Protocol):
    """Asks once per request. Requests of one step arrive concurrently."""

    surface: str
    """For the approval hooks: where people are asked, such as `tui`."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The answer; `expired` when nobody answered in time. Never answers by itself with `allowed` or `answered`.

        When the caller is cancelled the request is closed as cancelled before the cancellation is raised.
        """
        ...
