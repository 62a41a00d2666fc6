"""The journal: where the loop records what happens. A Protocol here; Postgres and memory implement it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from cos.agent.events import Usage
    from cos.agent.identity import NewSession, TurnInfo
    from cos.agent.messages import Message, UserMessage
    from cos.agent.records import ContextMeter, ReplyPiece, ToolCallRecord, TurnEnd, TurnStatus


class Journal(Protocol):
    """Every method returns only after its record is durable: what it wrote survives `kill -9` an instant later.

    Calls of one turn are made one after the other, except `record_tool_call`, which parallel calls make concurrently.
    No method is retried by the loop; an error ends the turn as failed.
    """

    async def create_session(self, session: NewSession) -> UUID:
        """Its id; that of the session that a message with this client id has begun before, if there is one."""
        ...

    async def load_history(self, session_id: UUID) -> list[Message]:
        """Active messages of a session, oldest first."""
        ...

    async def call_ids(self, session_id: UUID) -> set[str]:
        """The ids of all calls of a session, also of those that no model sees any more."""
        ...

    async def start_turn(
        self,
        turn: TurnInfo,
        prompt: UserMessage | None = None,
        *,
        message_id: UUID | None = None,
        from_queue: bool = False,
    ) -> datetime:
        """Open the turn, in one transaction with its prompt when one is given. Answers the moment
        that is stored as its start.

        A `message_id` that waits in the session's queue leaves it in the same transaction; `from_queue` demands that it
        does, with the text of `prompt`. What was meant to go into an earlier turn waits from now on like the rest.

        Raises:
            TurnBusyError: the session has an open turn already.
            AlreadyAcceptedError: the message `message_id` has its turn already.
            NotWaitingError: with `from_queue`, the message was changed, was removed or has become a prompt.
        """
        ...

    async def annotate_prompt(self, turn: TurnInfo, message_id: UUID, context: str) -> None:
        """Store what hooks added to the model's copy of the prompt, before the first model call sends it."""
        ...

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
        """Append at the end of the session. The tool calls of an assistant message become `proposed` records in the
        same transaction. An inactive message is kept and shown, and never sent to a model. `meter` becomes the
        session's, None leaves it as it is. `usage` is what the turn has used so far: the turn keeps it when its process
        dies."""
        ...

    async def compact(self, turn: TurnInfo, summary: UserMessage, *, message_id: UUID) -> None:
        """Append `summary` and make it the session's only active message, all or nothing. What stood before is kept
        and shown. How full the context is becomes unknown.

        Raises:
            IdentityError: a tool call has no result yet.
            AlreadyAcceptedError: there is a message `message_id` already.
        """
        ...

    async def keep_reply(self, turn: TurnInfo, pieces: Sequence[ReplyPiece], *, message_id: UUID) -> None:
        """Keep what has come on screen of the reply being streamed, beside what was kept of it before.

        A piece whose number is kept already changes nothing: after an error it is kept again.

        It becomes a message of the session when the turn is closed and `message_id` was never appended: the turn's
        process is gone. Thinking alone becomes an inactive one. May run beside other calls; on a closed turn it does
        nothing.
        """
        ...

    async def record_tool_call(self, turn: TurnInfo, record: ToolCallRecord) -> None:
        """Insert or move on the record of one call. A final status is never overwritten."""
        ...

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
        """Close the turn if it is open. The first to close it decides; a second call changes nothing. Answers what is
        stored of its end.

        In the same transaction every tool call of the turn that has no result receives one. `meter`: as in
        `append_message`.
        """
        ...
