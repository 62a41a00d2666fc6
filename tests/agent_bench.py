"""A real agent over a MemoryJournal, a scripted provider and an approver that answers as told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from cos.agent.approver import ApprovalRequest, Approver
from cos.agent.cancellation import CancelToken
from cos.agent.compaction import COMPACT_AT
from cos.agent.events import AgentEvent, MessageAdded, MessageDelta, Notice, ThinkingDelta, ToolFinished
from cos.agent.hooks import HookBus
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.memory_journal import MemoryJournal
from cos.agent.messages import AssistantMessage, Message, ToolResultMessage, UserMessage
from cos.agent.outcomes import TurnOutcome
from cos.agent.provider import SessionPrompt, ToolSpec
from cos.agent.providers.scripted import Script, ScriptedProvider
from cos.agent.records import ApprovalAnswer, Risk, ToolCallRecord, TurnStatus
from cos.agent.retry import RetryPolicy
from cos.agent.session_context import SessionContext
from cos.agent.tools import Tool, ToolContext, ToolOk, ToolOutcome, ToolSet
from cos.agent.turn import Agent, AgentOptions, TurnInputs

Answer = ApprovalAnswer | Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]]
ALLOWED = ApprovalAnswer(decision="allowed", answered_by="test")
AT_ONCE = RetryPolicy(base_seconds=0, silence_seconds=30)
ANY_OBJECT: dict[str, Any] = {"type": "object"}


@dataclass
class ScriptedApprover:
    """Gives `answers` in order, then allows; keeps what it was asked."""

    answers: list[Answer] = field(default_factory=list)
    asked: list[ApprovalRequest] = field(default_factory=list)
    surface: str = "test"

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        answer = self.answers.pop(0) if self.answers else ALLOWED
        return answer if isinstance(answer, ApprovalAnswer) else await answer(request)


def _fits(approver: ScriptedApprover) -> Approver:
    return approver


async def echo(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
    return ToolOk(content=str(args.get("say", "done")))


def tool(name: str, run: Any = echo, *, risk: Risk = "read", parallel: bool = True, **more: Any) -> Tool:
    more = {"schema": ANY_OBJECT, **more}
    return Tool(
        name=name, title=name, description=name, run=run, origin="test", risk=risk,
        parallel=parallel and risk == "read", **more,
    )  # fmt: skip


@dataclass
class Bench:
    """One session of one agent."""

    provider: ScriptedProvider
    tools: ToolSet
    journal: MemoryJournal
    hooks: HookBus
    approver: ScriptedApprover
    agent: Agent
    session_id: UUID
    events: list[AgentEvent]
    cancel: CancelToken = field(default_factory=CancelToken)
    turns: int = 0
    model: str = "scripted-1"

    async def run(self, text: str = "go") -> TurnOutcome:
        self.cancel = CancelToken()
        return await self.agent.run_turn(self.turn(), UserMessage(text=text), self.context(), self.cancel)

    def turn(self) -> TurnInfo:
        return TurnInfo(profile_id="home", session_id=self.session_id, turn_id=new_id())

    def context(self) -> SessionContext:
        self.turns += 1
        specs = tuple(ToolSpec(name=t.name, description="", schema=t.schema) for t in self.tools.tools.values())
        prompt = SessionPrompt(system="You help.", tools=specs, model=self.model)
        return SessionContext(
            prompt=prompt, tools=self.tools, workspace=Path("/tmp"), platform="cli", is_new=self.turns == 1,
            meter=self.journal.sessions[self.session_id].meter,
        )  # fmt: skip

    @property
    def history(self) -> list[Message]:
        return [row.message for row in self.journal.sessions[self.session_id].messages if row.active]

    @property
    def results(self) -> list[ToolResultMessage]:
        return [message for message in self.history if isinstance(message, ToolResultMessage)]

    @property
    def records(self) -> dict[str, ToolCallRecord]:
        return self.journal.sessions[self.session_id].tool_calls

    @property
    def statuses(self) -> list[TurnStatus]:
        return list(self.journal.sessions[self.session_id].turns.values())

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.of(Notice)]

    @property
    def finished(self) -> list[str]:
        return [event.call_id for event in self.of(ToolFinished)]

    def on(self, hook: str, callback: Callable[..., Any], source: str = "plugin") -> None:
        self.hooks.register(hook, callback, source=source)

    def assert_whole(self) -> None:
        """Every turn is closed, every call answered once directly after it, and nothing shown is missing."""
        session = self.journal.sessions[self.session_id]
        assert session.open_turn is None
        assert_answered(self.history)
        assert all(record.status.is_final for record in session.tool_calls.values())
        assert len({row.message_id for row in session.messages}) == len(session.messages)
        assert self.provider.open_streams == 0
        assert_shown_is_kept(self.events, {row.message_id: row.message for row in session.messages})


def assert_answered(history: list[Message]) -> None:
    waiting: list[str] = []
    for message in history:
        if isinstance(message, ToolResultMessage):
            assert waiting.pop(0) == message.call_id, "a result out of place"
            assert message.content
        else:
            assert not waiting, f"no result for {waiting}"
            if isinstance(message, AssistantMessage):
                assert message.text or message.tool_calls, "an empty message"
                waiting = [call.id for call in message.tool_calls]
    assert not waiting, f"no result for {waiting}"


def assert_shown_is_kept(events: list[AgentEvent], stored: dict[UUID, Message]) -> None:
    shown: dict[UUID, str] = {}
    thought: dict[UUID, str] = {}
    for event in events:
        if isinstance(event, MessageDelta):
            shown[event.message_id] = shown.get(event.message_id, "") + event.text
        elif isinstance(event, ThinkingDelta):
            thought[event.message_id] = thought.get(event.message_id, "") + event.text
        elif isinstance(event, MessageAdded):
            assert _as_shown(stored[event.message_id]) == _as_shown(event.message)
    for message_id, text in shown.items():
        if text.strip():
            message = stored[message_id]
            assert isinstance(message, AssistantMessage)
            assert message.text == text
    for message_id, text in thought.items():
        assert not text.strip() or message_id in stored


def _as_shown(message: Message) -> Message:
    """What hooks add to the model's copy of a prompt comes later and is not shown."""
    return message.model_copy(update={"context": None}) if isinstance(message, UserMessage) else message


async def bench(
    scripts: Iterable[Script],
    *tools: Tool,
    answers: Iterable[Answer] = (),
    retry: RetryPolicy = AT_ONCE,
    max_steps: int = 90,
    hook_timeout: float = 30,
    compact_at: float = COMPACT_AT,
    journal: MemoryJournal | None = None,
) -> Bench:
    journal = journal or MemoryJournal()
    provider, hooks = ScriptedProvider(scripts), HookBus(timeout_seconds=hook_timeout)
    approver, events = ScriptedApprover(list(answers)), list[AgentEvent]()
    agent = Agent(
        provider=provider, hooks=hooks, journal=journal, approver=approver, publish=events.append,
        options=AgentOptions(max_steps=max_steps, compact_at=compact_at, retry=retry),
        inputs=TurnInputs(steers=journal),
    )  # fmt: skip
    session_id = await journal.create_session(NewSession(profile_id="home", source="cli"))
    return Bench(provider, ToolSet.of(*tools), journal, hooks, approver, agent, session_id, events)


async def until(condition: Callable[[], object]) -> None:
    """Let other tasks run until `condition` holds; the test's own time limit ends a wait for what never comes."""
    while not condition():
        await asyncio.sleep(0)
