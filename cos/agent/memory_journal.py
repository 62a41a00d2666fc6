"""A journal that keeps everything in memory: for tests, and the shortest statement of what a journal does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.errors import AlreadyAcceptedError, IdentityError, NotWaitingError, TurnBusyError
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, Message, ToolResultMessage, UserMessage, partial_reply, stored_form
from cos.agent.records import ContextMeter, ReplyPiece, ToolCallRecord, ToolCallStatus, TurnEnd, TurnStatus
from cos.agent.results import unanswered_status, unanswered_text
from cos.agent.steering import DeliveryMode, Steered, SteerSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.agent.events import Usage
    from cos.agent.identity import NewSession, TurnInfo
    from cos.agent.journal import Journal


@dataclass(slots=True)
class StoredMessage:
    """One row: the message, whose turn it belongs to, and whether the model still sees it."""

    message_id: UUID
    turn_id: UUID
    message: Message
    active: bool


@dataclass(frozen=True, slots=True)
class StoredWaiting:
    """A message in the queue."""

    message_id: UUID
    message: UserMessage
    mode: DeliveryMode = "queue"


@dataclass(slots=True)
class StoredSession:
    """A session with all that happened in it."""

    session: NewSession
    messages: list[StoredMessage] = field(default_factory=list)
    tool_calls: dict[str, ToolCallRecord] = field(default_factory=dict)
    turns: dict[UUID, TurnStatus] = field(default_factory=dict)
    queue: list[StoredWaiting] = field(default_factory=list)
    ended: dict[UUID, datetime] = field(default_factory=dict)
    open_replies: dict[UUID, dict[UUID, dict[int, ReplyPiece]]] = field(default_factory=dict)
    """What is shown of the replies being streamed, by turn, message and number."""
    meter: ContextMeter | None = None

    @property
    def open_turn(self) -> UUID | None:
        return next((turn for turn, status in self.turns.items() if status is TurnStatus.RUNNING), None)


class MemoryJournal:
    """Implements `Journal`. `sessions` is open for tests to look into."""

    def __init__(self) -> None:
        self.sessions: dict[UUID, StoredSession] = {}

    async def create_session(self, session: NewSession) -> UUID:
        if session.client_message_id is not None:
            for session_id, stored in self.sessions.items():
                if stored.session.client_message_id == session.client_message_id:
                    return session_id
        session_id = new_id()
        self.sessions[session_id] = StoredSession(session)
        return session_id

    async def load_history(self, session_id: UUID) -> list[Message]:
        return [row.message for row in self._session(session_id).messages if row.active]

    async def call_ids(self, session_id: UUID) -> set[str]:
        return set(self._session(session_id).tool_calls)

    async def start_turn(
        self,
        turn: TurnInfo,
        prompt: UserMessage | None = None,
        *,
        message_id: UUID | None = None,
        from_queue: bool = False,
    ) -> datetime:
        session = self._session(turn.session_id)
        if session.session.profile_id != turn.profile_id:
            raise IdentityError(f"session {turn.session_id} belongs to profile {session.session.profile_id}")
        if from_queue and (message_id, prompt) not in [(row.message_id, row.message) for row in session.queue]:
            raise NotWaitingError(f"message {message_id} does not wait any more as it was read")
        if session.open_turn is not None:
            raise TurnBusyError(turn.session_id)
        if any(row.message_id == message_id for row in session.messages):
            raise AlreadyAcceptedError(f"message {message_id} has its turn already")
        session.queue = [
            replace(row, mode="now" if row.mode == "now" else "queue")
            for row in session.queue
            if row.message_id != message_id
        ]
        session.turns[turn.turn_id] = TurnStatus.RUNNING
        if prompt is not None:
            await self.append_message(turn, prompt, message_id=message_id)
        return datetime.now(UTC)

    async def annotate_prompt(self, turn: TurnInfo, message_id: UUID, context: str) -> None:
        for row in self._open_session(turn).messages:
            if row.message_id == message_id:
                row.message = stored_form(row.message.model_copy(update={"context": context}))

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
        session = self._open_session(turn)
        session.meter = meter or session.meter
        message = stored_form(message)
        if isinstance(message, ToolResultMessage) and _is_answered(session, message.call_id):
            raise IdentityError(f"tool call {message.call_id} already has its result")
        session.messages.append(StoredMessage(message_id or new_id(), turn.turn_id, message, active))
        if isinstance(message, AssistantMessage) and active:
            for call in message.tool_calls:
                record = ToolCallRecord(call_id=call.id, name=call.name, args=call.args, status=ToolCallStatus.PROPOSED)
                session.tool_calls.setdefault(call.id, record)

    async def compact(self, turn: TurnInfo, summary: UserMessage, *, message_id: UUID) -> None:
        session = self._open_session(turn)
        replaced = [row for row in session.messages if row.active]
        for row in replaced:
            for call in row.message.tool_calls if isinstance(row.message, AssistantMessage) else ():
                if not _is_answered(session, call.id):
                    raise IdentityError(f"tool call {call.id} has no result yet; nothing is compacted")
        if any(row.message_id == message_id for row in session.messages):
            raise AlreadyAcceptedError(f"message {message_id} has its turn already")
        await self.append_message(turn, summary, message_id=message_id)
        for row in replaced:
            row.active = False
        session.meter = None

    async def take_steers(self, turn: TurnInfo) -> list[Steered]:
        session = self._open_session(turn)
        steers = [row for row in session.queue if row.mode == "steer"]
        session.queue = [row for row in session.queue if row not in steers]
        taken = [Steered(row.message_id, row.message.model_copy(update={"origin": "steered"})) for row in steers]
        for steer in taken:
            await self.append_message(turn, steer.message, message_id=steer.message_id)
        return taken

    async def keep_reply(self, turn: TurnInfo, pieces: Sequence[ReplyPiece], *, message_id: UUID) -> None:
        session = self._session(turn.session_id)
        if session.turns.get(turn.turn_id) is TurnStatus.RUNNING:
            kept = session.open_replies.setdefault(turn.turn_id, {}).setdefault(message_id, {})
            for piece in pieces:
                kept.setdefault(piece.number, piece)

    async def record_tool_call(self, turn: TurnInfo, record: ToolCallRecord) -> None:
        calls = self._open_session(turn).tool_calls
        known = calls.get(record.call_id)
        if known is None or not known.status.is_final:
            calls[record.call_id] = record

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
        session = self._session(turn.session_id)
        if session.turns.get(turn.turn_id) is not TurnStatus.RUNNING:
            return TurnEnd(session.ended[turn.turn_id])
        appended = {row.message_id for row in session.messages}
        kept = session.open_replies.pop(turn.turn_id, {})
        for message_id in sorted(kept.keys() - appended)[-1:]:
            pieces = [piece for _, piece in sorted(kept[message_id].items())]
            text, thinking = (
                "".join(piece.text for piece in pieces if piece.is_thinking is wanted) for wanted in (False, True)
            )
            reply = partial_reply(text, thinking)
            await self.append_message(turn, reply, message_id=message_id, active=reply.text is not None)
        for row in [row for row in session.messages if row.turn_id == turn.turn_id and row.active]:
            if isinstance(row.message, AssistantMessage):
                for call in row.message.tool_calls:
                    await self._settle(turn, session, call.id, status)
        session.meter = meter or session.meter
        session.turns[turn.turn_id] = status
        session.ended[turn.turn_id] = datetime.now(UTC)
        return TurnEnd(session.ended[turn.turn_id])

    async def _settle(self, turn: TurnInfo, session: StoredSession, call_id: str, status: TurnStatus) -> None:
        if _is_answered(session, call_id):
            return
        known = session.tool_calls[call_id]
        content = unanswered_text(known.status, status, known.result)
        is_error = known.is_error or not known.status.is_final
        await self.append_message(turn, ToolResultMessage(call_id=call_id, content=content, is_error=is_error))
        session.tool_calls[call_id] = ToolCallRecord(
            call_id=call_id,
            name=known.name,
            args=known.args,
            status=unanswered_status(known.status, status),
            result=content,
            is_error=is_error,
            risk=known.risk,
            duration_ms=known.duration_ms,
            approval=known.approval,
        )

    def _open_session(self, turn: TurnInfo) -> StoredSession:
        session = self._session(turn.session_id)
        if session.turns.get(turn.turn_id) is not TurnStatus.RUNNING:
            raise IdentityError(f"turn {turn.turn_id} is not open; nothing more is written to it")
        return session

    def _session(self, session_id: UUID) -> StoredSession:
        if session_id not in self.sessions:
            raise IdentityError(f"there is no session {session_id}")
        return self.sessions[session_id]


def _is_answered(session: StoredSession, call_id: str) -> bool:
    return any(
        isinstance(row.message, ToolResultMessage) and row.message.call_id == call_id for row in session.messages
    )


def _fits(journal: MemoryJournal) -> tuple[Journal, SteerSource]:
    return journal, journal
