"""A message that waits because another process runs a turn in its session: it gets its turn there, or here."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.errors import CosError
from cos.agent.events import MessageAdded, TurnCompleted
from cos.agent.messages import reply_text
from cos.cli.approvals import SHORT_ID

if TYPE_CHECKING:
    from collections.abc import Callable

    from cos.cli.ask_output import AskOutput
    from cos.cli.running_core import Core
    from cos.core.inbound import Accepted
    from cos.core.postgres.approvals import PendingApproval
    from cos.core.postgres.sessions import Sessions

POLL_SECONDS = 0.5


async def turn_of_waiting(
    core: Core, accepted: Accepted, limit: asyncio.Timeout, say: Callable[[str], None]
) -> UUID | TurnCompleted:
    """The id of the message's turn when it has begun in this process, or its end when another one ran it.

    `say` is told what the turn before it asks of the user, each request once.

    Raises:
        CosError: the limit passed first, and the message stays in the queue of its session; or somebody removed it.
    """
    assert accepted.session_id is not None
    assert accepted.message_id is not None
    said: set[UUID] = set()
    try:
        async with limit:
            while True:
                end = await core.sessions.end_of_turn(accepted.message_id)
                begun = await core.dispatcher.start_waiting(accepted.session_id, accepted.message_id)
                if end is not None or begun is not None:
                    return end or begun  # type: ignore[return-value]  # one of the two is there
                if not await core.queue.has(accepted.message_id):
                    raise CosError("the message was removed from the session's queue; send it again if it is to run")
                for request in await core.desk.pending():
                    if accepted.session_id in (request.session_id, request.root_session_id) and request.id not in said:
                        said.add(request.id)
                        say(_how_to_answer(request))
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise CosError("the time limit passed; the message stays in the session's queue") from None


def _how_to_answer(request: PendingApproval) -> str:
    short = str(request.id)[-SHORT_ID:]
    if request.kind == "question":
        return f"The turn before it asks: {request.title}. Answer with: cos approvals answer {short} TEXT"
    return (
        f"The turn before it waits for your approval: {request.tool} {request.title}. "
        f"Answer with: cos approvals approve {short} (or deny {short}); cos approvals shows all of it"
    )


async def print_end(sessions: Sessions, end: TurnCompleted, output: AskOutput) -> TurnCompleted:
    """Print the reply of a turn that another process ran."""
    reply = await sessions.last_reply(end.turn.turn_id)
    if reply is not None:
        message_id, message = reply
        output.event(MessageAdded(turn=end.turn, message_id=message_id, message=message))
        end = replace(end, text=reply_text(message), had_output=True)
    output.event(end)
    return end
