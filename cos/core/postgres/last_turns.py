"""The newest turn of a session: what it was asked, so that it can be asked again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.ids import new_id
from cos.agent.messages import UserMessage, message_from_json
from cos.core.errors import SessionError
from cos.core.postgres.sessions import enqueue_in
from cos.core.postgres.statements import core_statements
from cos.core.sessions import QueuedMessage

if TYPE_CHECKING:
    from cos.core.postgres.database import Connection, Database, Row
    from cos.core.postgres.session_edits import Rewound


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTurn:
    """A turn and what it began with."""

    id: UUID
    prompt: UserMessage


class LastTurns:
    """Raises SessionError when there is no turn, or when it runs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("turns")

    async def of(self, session_id: UUID) -> LastTurn:
        """The newest turn that was not taken back."""
        return _last_turn(await self._database.fetch(self._sql["last_turn"], {"session_id": session_id}))


def _last_turn(rows: list[Row]) -> LastTurn:
    message = message_from_json(rows[0]["body"]) if rows and rows[0]["body"] else None
    if not isinstance(message, UserMessage):
        raise SessionError("there is no turn in this session yet; send a message first")
    if message.compaction is not None:
        raise SessionError("the last turn was a compaction, which holds nothing to run again")
    if rows[0]["completed_at"] is None:
        raise SessionError("a turn runs in this session; stop it, or wait for its end")
    return LastTurn(id=rows[0]["id"], prompt=message)


async def wait_again(
    connection: Connection, rewound: Rewound, *, session_id: UUID, turn_id: UUID, prompt: QueuedMessage
) -> None:
    """In the transaction that took a turn back: let `prompt` wait in its place, and with it what steered that turn.

    Raises:
        SessionError: it was another turn than `turn_id`.
    """
    if rewound.turn_ids != (turn_id,):
        raise SessionError("another turn was run in this session meanwhile; look at it, then try again")
    place = {"session_id": session_id, "profile_id": rewound.profile_id}
    await enqueue_in(connection, prompt, place)
    for message in (message for message in rewound.said if message.origin == "steered"):
        sent = message.model_copy(update={"origin": None})
        steer = QueuedMessage(id=new_id(), message=sent, source=prompt.source, mode="steer")
        await enqueue_in(connection, steer, place | {"goes_with_id": prompt.id})
