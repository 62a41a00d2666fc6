"""A message whose turn another process runs: waits for its end in the database and prints the reply."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.agent.events import MessageAdded, TurnCompleted
from cos.agent.messages import AssistantMessage, reply_text

if TYPE_CHECKING:
    from uuid import UUID

    from cos.cli.ask_output import AskOutput
    from cos.core.inbound import Accepted
    from cos.core.postgres.sessions import Sessions

POLL_SECONDS = 0.5


async def follow_elsewhere(
    sessions: Sessions, accepted: Accepted, output: AskOutput, limit: asyncio.Timeout
) -> TurnCompleted:
    """The end of the turn that the accepted message gets.

    Raises:
        CosError: the limit passed first; the message stays in the queue of its session.
    """
    assert accepted.message_id is not None
    try:
        async with limit:
            end = await _end(sessions, accepted.message_id)
    except TimeoutError:
        raise CosError("the time limit passed; the message stays in the session's queue") from None
    reply = await sessions.last_reply(end.turn.turn_id)
    if reply is not None:
        message_id, message = reply
        output.event(MessageAdded(turn=end.turn, message_id=message_id, message=message))
        end = _with_text(end, message)
    output.event(end)
    return end


async def _end(sessions: Sessions, message_id: UUID) -> TurnCompleted:
    while True:
        end = await sessions.end_of_turn(message_id)
        if end is not None:
            return end
        await asyncio.sleep(POLL_SECONDS)


def _with_text(end: TurnCompleted, message: AssistantMessage) -> TurnCompleted:
    return TurnCompleted(
        turn=end.turn,
        status=end.status,
        stop_reason=end.stop_reason,
        error=end.error,
        text=reply_text(message),
        usage=end.usage,
        started_at=end.started_at,
        completed_at=end.completed_at,
        had_output=True,
    )
