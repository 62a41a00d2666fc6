"""Child agents: what a turn delegates runs as a child turn in a child session, and only its last words come back.

The caps are counted when a call runs, so a profile that lists the tool for its children, or a model that makes a call
up, gains nothing. A child knows nothing of its parent's conversation; it is cancelled with the turn that began it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from cos.agent.cancellation import CancelToken, uninterrupted
from cos.agent.errors import CosError, NotWaitingError, TurnCancelled
from cos.agent.events import Usage
from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.agent.records import TurnStatus
from cos.core.child_agents import STOPPED
from cos.core.errors import SessionError

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from cos.agent.hooks import HookBus
    from cos.agent.identity import TurnInfo
    from cos.agent.outcomes import TurnOutcome
    from cos.agent.session_context import SessionContext
    from cos.core.child_agents import ChildAgents
    from cos.core.running_turns import RunningTurns
    from cos.core.settings import DelegationSettings

log = logging.getLogger("cos.delegation")

NAME: Final = "delegate_task"
BLOCKED: Final = frozenset({NAME, "clarify", "memory", "send_message", "execute_code", "cronjob"})
"""Tools that no child has; an orchestrator keeps the first one."""
_INSTRUCTIONS: Final = """You are a child agent. Another agent has given you one task: the first message is that task. \
You see nothing of its conversation; what you need to know stands here or has to be found with your tools. Nobody \
answers questions. Do this task and nothing else, until it is done or cannot be done. Then end with a summary for \
whoever gave it to you: what you did, what you found, which files you made or changed (with their paths), what failed \
and what is left. Only these last words reach it, so they must be complete and true."""

Role = Literal["leaf", "orchestrator"]
ChildStatus = Literal["completed", "failed", "interrupted", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildTask:
    """What one child is to do."""

    goal: str
    context: str = ""
    role: Role = "leaf"


@dataclass(slots=True, kw_only=True)
class ChildEnd:
    """What became of one task."""

    task: ChildTask
    session_id: UUID | None = None
    """None when not even its session could be made."""
    turn: TurnInfo | None = None
    """Its first one."""
    has_started: bool = False
    """Whoever listens was told of it."""
    status: ChildStatus = "error"
    exit_reason: Literal["completed", "max_iterations", "interrupted"] | None = None
    summary: str = ""
    """Its whole last words."""
    error: str | None = None
    model: str = ""
    model_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(slots=True)
class _Family:
    """All that descends from one turn of the user's."""

    children: int = 0


class Delegation:
    """One per process."""

    def __init__(self, limits: DelegationSettings, children: ChildAgents, turns: RunningTurns, hooks: HookBus) -> None:
        self.limits = limits
        self._children = children
        self._turns = turns
        self._hooks = hooks
        self._of_users: dict[UUID, _Family] = {}
        """By the id of the user's turn."""
        self._of_children: dict[UUID, _Family] = {}
        """By the session of a child that works."""

    def why_not(self, turn: TurnInfo, count: int) -> str | None:
        """Why `count` children cannot be started by this turn now; None when they can."""
        limits = self.limits
        if turn.depth >= limits.max_spawn_depth:
            return (
                f"a child agent at depth {turn.depth} cannot delegate; the limit is {limits.max_spawn_depth} "
                "(delegation.max_spawn_depth in commonos.toml). Do the work yourself"
            )
        if count > limits.max_concurrent_children:
            return (
                f"{count} tasks at once are too many; the limit is {limits.max_concurrent_children} "
                "(delegation.max_concurrent_children in commonos.toml). Give fewer tasks, or join some of them"
            )
        started = self._family(turn).children
        if started + count > limits.max_children_per_turn:
            return (
                f"this turn has started {started} child agents and cannot start {count} more; the limit is "
                f"{limits.max_children_per_turn} (delegation.max_children_per_turn in commonos.toml). "
                "Do the rest yourself, or end the turn"
            )
        return None

    async def run(
        self,
        turn: TurnInfo,
        tasks: Sequence[ChildTask],
        workspace: Path,
        cancel: CancelToken,
        ended: Callable[[int], None],
    ) -> list[ChildEnd]:
        """Run the tasks side by side and return their ends in the same order. `ended` is told how many are over.

        Raises:
            SessionError: a limit is reached; nothing was run.
        """
        refusal = self.why_not(turn, len(tasks))
        if refusal is not None:
            raise SessionError(refusal)
        family = self._family(turn)
        family.children += len(tasks)
        ends = [ChildEnd(task=task) for task in tasks]
        tokens = [cancel.child() for _ in tasks]
        over = 0

        async def one(end: ChildEnd, token: CancelToken) -> None:
            nonlocal over
            await self._child(turn, end, workspace, token)
            over += 1
            ended(over)

        for end in ends:
            # One after the other: their ids, by which they are listed, are in the order of the tasks.
            await self._begin(turn, family, end)
        try:
            async with asyncio.TaskGroup() as group:
                for end, token in zip(ends, tokens, strict=True):
                    group.create_task(one(end, token))
        finally:
            for token in tokens:
                token.cancel(STOPPED)
        for end in ends:
            await self._stopped(turn, end)
        return ends

    def _family(self, turn: TurnInfo) -> _Family:
        if turn.depth:
            return self._of_children.get(turn.session_id) or _Family()
        running = {it.turn.turn_id for it in self._turns.all}
        self._of_users = {turn_id: family for turn_id, family in self._of_users.items() if turn_id in running}
        return self._of_users.setdefault(turn.turn_id, _Family())

    async def _begin(self, turn: TurnInfo, family: _Family, end: ChildEnd) -> None:
        with _contained(end):
            session = await uninterrupted(self._children.new_session(turn, end.task.goal))
            end.session_id, end.turn = session.id, turn.child(session.id)
            self._of_children[session.id] = family

    async def _child(self, turn: TurnInfo, end: ChildEnd, workspace: Path, cancel: CancelToken) -> None:
        if end.turn is None:
            return
        began = time.monotonic()
        try:
            with _contained(end):
                cancel.check()
                context = await self._context(turn, end, workspace)
                end.model = context.prompt.model
                end.has_started = True
                await self._started(turn, end)
                await self._converse(end, context, cancel)
        finally:
            self._of_children.pop(end.turn.session_id, None)
        end.seconds = time.monotonic() - began

    async def _context(self, turn: TurnInfo, end: ChildEnd, workspace: Path) -> SessionContext:
        assert end.turn is not None
        may_delegate = end.task.role == "orchestrator" and end.turn.depth < self.limits.max_spawn_depth
        blocked = BLOCKED - {NAME} if may_delegate else BLOCKED
        instructions = _INSTRUCTIONS
        if end.task.context:
            instructions += f"\n\nWhat you were told about the task:\n{end.task.context}"
        return await self._children.context(turn, end.turn.session_id, blocked, workspace, instructions)

    async def _converse(self, end: ChildEnd, context: SessionContext, cancel: CancelToken) -> None:
        """The child's turn, and one more for each message that came too late to go into it."""
        turn, prompt, prompt_id = end.turn, UserMessage(text=end.task.goal, origin="delegation"), None
        assert turn is not None
        while True:
            try:
                outcome = await self._children.run(turn, prompt, context, cancel, prompt_id)
            except NotWaitingError:
                pass  # The message was taken back.
            else:
                _take(end, outcome)
                if outcome is None or outcome.status is not TurnStatus.COMPLETED:
                    return
            waiting = await self._children.waiting(turn.session_id)
            if waiting is None:
                return
            turn, prompt, prompt_id = replace(turn, turn_id=new_id()), waiting.message, waiting.id
            context = replace(context, is_new=False)

    async def _started(self, turn: TurnInfo, end: ChildEnd) -> None:
        assert end.turn is not None
        await self._hooks.fire(
            "subagent_start",
            turn=end.turn,
            parent_session_id=str(turn.session_id),
            parent_turn_id=str(turn.turn_id),
            parent_subagent_id=str(turn.session_id) if turn.depth else None,
            child_session_id=str(end.session_id),
            child_subagent_id=str(end.session_id),
            child_role=end.task.role,
            child_goal=end.task.goal,
        )

    async def _stopped(self, turn: TurnInfo, end: ChildEnd) -> None:
        if end.has_started:
            await self._hooks.fire(
                "subagent_stop",
                turn=end.turn,
                parent_session_id=str(turn.session_id),
                parent_turn_id=str(turn.turn_id),
                child_session_id=str(end.session_id),
                child_role=end.task.role,
                child_summary=end.summary or None,
                child_status=end.status,
                duration_ms=round(end.seconds * 1000),
            )


def _take(end: ChildEnd, outcome: TurnOutcome | None) -> None:
    """What a turn of the child says about its end."""
    if outcome is None:
        _spoiled(end, "error", "the end of its turn could not be stored")
        return
    end.usage += outcome.usage
    end.model_calls += outcome.model_calls
    is_completed = outcome.status is TurnStatus.COMPLETED
    if is_completed and outcome.text.strip():
        end.status, end.summary, end.error = "completed", outcome.text, outcome.error
        end.exit_reason = "max_iterations" if outcome.stop_reason == "max_steps" else "completed"
        return
    if end.status != "completed":
        end.summary = outcome.text
    if outcome.status is TurnStatus.CANCELLED:
        _spoiled(end, "interrupted", outcome.error)
    else:
        _spoiled(end, "failed", "it ended without a word" if is_completed else outcome.error)


def _spoiled(end: ChildEnd, status: Literal["failed", "interrupted", "error"], error: str | None) -> None:
    """It did not end well. The summary of a turn that was finished before stays, and the error says so."""
    if end.status == "completed":
        what = "was stopped" if status == "interrupted" else "failed"
        error = f"the summary is from a finished turn; what came after it {what}" + (f": {error}" if error else "")
    end.status, end.error = status, error
    end.exit_reason = "interrupted" if status == "interrupted" else None


@contextmanager
def _contained(end: ChildEnd) -> Iterator[None]:
    """The boundary of a child: whatever escaped would stop the others and lose what they did."""
    try:
        yield
    except TurnCancelled:
        _spoiled(end, "interrupted", None)
    except CosError as error:
        _spoiled(end, "error", str(error))
    except Exception as crash:
        log.exception("child agent %s crashed", end.session_id)
        _spoiled(end, "failed", f"it crashed: {type(crash).__name__}: {crash}")
