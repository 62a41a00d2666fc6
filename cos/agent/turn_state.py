"""The state of one running turn. Only the loop's own modules read or change it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cos.agent.events import Usage
from cos.agent.ids import new_id
from cos.agent.records import ApprovalAnswer, ContextMeter, Risk, ToolCallStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from cos.agent.cancellation import CancelToken
    from cos.agent.events import AgentEvent
    from cos.agent.identity import TurnInfo
    from cos.agent.messages import Message, Part, ToolCall, UserMessage
    from cos.agent.session_context import SessionContext
    from cos.agent.shown_reply import ShownReply


@dataclass(slots=True)
class CallState:
    """One tool call of the current step until its result is in the journal."""

    call: ToolCall
    refusal: str | None = None
    """Why it must not run, known before anything is judged (cut arguments, a reply that did not end in tool use)."""
    risk: Risk = "execute"
    started: bool = False
    status: ToolCallStatus = ToolCallStatus.PROPOSED
    content: str = ""
    parts: tuple[Part, ...] = ()
    cwd: str | None = None
    """The folder it would run in, by the tool's own description."""
    shown: tuple[str, str | None] | None = None
    """Title and folder of the call as the user last saw it in a request for approval."""
    note: str = ""
    """What the model must know of how it ran, before the result."""
    duration_ms: int | None = None
    approval: ApprovalAnswer | None = None
    recorded: bool = False
    appended: bool = False


@dataclass(slots=True)
class TurnState:
    """A turn between its start and its end."""

    turn: TurnInfo
    session: SessionContext
    prompt: UserMessage | None
    """None: a turn that only compacts its session."""
    cancel: CancelToken
    publish: Callable[[AgentEvent], None]
    prompt_id: UUID = field(default_factory=new_id)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    history: list[Message] = field(default_factory=list)
    begins_at: int = 0
    """Index in `history` of the prompt, or of the summary that holds it."""
    steered: list[UserMessage] = field(default_factory=list)
    """What was said into this turn and stands in its summary."""
    call_ids: set[str] | None = None
    """Of all calls that the session ever had; None until the model asks for one."""
    meter: ContextMeter | None = None
    """How full the context is; None = unknown."""
    compacted_from: int | None = None
    """Tokens before the newest compaction, until a model call has counted what is left."""
    futile: int = 0
    """As in `ContextMeter`."""
    compaction_failed: bool = False
    """Then it is not tried again in this turn."""
    instructions: str | None = None
    """What the user wants of the summary, in a turn that only compacts."""
    usage: Usage = field(default_factory=Usage)
    model_calls: int = 0
    """Attempts so far; numbers the api_request_id."""
    open_reply: ShownReply | None = None
    """The reply being streamed, until it is in the journal."""
    calls: list[CallState] = field(default_factory=list)
    """The calls of the current step."""
    changed_in_step: bool = False
    """A call of this step has run that may have changed what those after it do."""
    fruitless_steps: int = 0
    """Consecutive steps in which no call could even be judged."""
    nudged: bool = False
    text: str = ""
    stop_reason: str | None = None
    had_output: bool = False
    denied_calls: int = 0

    @property
    def api_request_id(self) -> str:
        return f"{self.turn.turn_id}:api:{self.model_calls}"

    def hook_ids(self) -> dict[str, object]:
        """The arguments that every hook of a turn receives."""
        session_id = str(self.turn.session_id)
        return {"turn": self.turn, "session_id": session_id, "task_id": session_id, "turn_id": str(self.turn.turn_id)}
