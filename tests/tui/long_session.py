"""A stored session of any length, made in one go: turns of a question, a call with its result, and an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cos.agent.identity import NewSession
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, Message, ToolCall, ToolResultMessage, UserMessage, message_json
from cos.core.postgres.journal import PostgresJournal

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.postgres.database import Connection, Database

PER_TURN = 4
TURN = (
    "INSERT INTO turns (id, session_id, profile_id, ordinal, status, owner_boot_id, completed_at)"
    " VALUES (%(id)s, %(session)s, 'home', %(ordinal)s, 'completed', %(id)s, clock_timestamp())"
)
MESSAGE = (
    "INSERT INTO messages (id, session_id, turn_id, profile_id, ordinal, role, call_id, body, search_text)"
    " VALUES (%(id)s, %(session)s, %(turn)s, 'home', %(ordinal)s, %(role)s, %(call_id)s, %(body)s, %(text)s)"
)
CALL = (
    "INSERT INTO tool_calls (session_id, call_id, turn_id, profile_id, message_id, name, args, status, result)"
    " VALUES (%(session)s, %(call_id)s, %(turn)s, 'home', %(message)s, 'terminal', %(args)s, 'ok', %(result)s)"
)


def answer(number: int) -> str:
    return f"Answer {number}: the **loader** reads\n`part{number}.toml` once.\n\n```python\nprint({number})\n```"


def of_turn(number: int) -> list[Message]:
    call = ToolCall(id=f"c{number}", name="terminal", args={"command": f'echo "step {number}"'})
    return [
        UserMessage(text=f"question {number}"),
        AssistantMessage(tool_calls=[call]),
        ToolResultMessage(call_id=f"c{number}", content=f"output of 100% {number}_x", is_error=False),
        AssistantMessage(text=answer(number)),
    ]


async def long_session(database: Database, turns: int, title: str = "long") -> UUID:
    """A new session of profile home with `PER_TURN` messages a turn, numbered from 0."""
    session_id = await PostgresJournal(database).create_session(
        NewSession(profile_id="home", source="cli", title=title)
    )
    rows: dict[str, list[dict[str, Any]]] = {TURN: [], MESSAGE: [], CALL: []}
    for number in range(turns):
        turn_id = new_id()
        rows[TURN].append({"id": turn_id, "session": session_id, "ordinal": number + 1})
        for place, message in enumerate(of_turn(number)):
            row = {
                "id": new_id(), "session": session_id, "turn": turn_id, "ordinal": number * PER_TURN + place + 1,
                "role": message.role, "body": message_json(message), "call_id": getattr(message, "call_id", None),
                "text": getattr(message, "content", None) or getattr(message, "text", None) or "",
            }  # fmt: skip
            rows[MESSAGE].append(row)
            if isinstance(message, AssistantMessage) and message.tool_calls:
                rows[CALL].append(
                    row | {"message": row["id"], "call_id": f"c{number}", "result": f"output of 100% {number}_x",
                           "args": f'{{"command": "echo \\"step {number}\\""}}'}
                )  # fmt: skip

    async def work(connection: Connection) -> None:
        async with connection.cursor() as cursor:
            for statement in (TURN, MESSAGE, CALL):
                await cursor.executemany(statement.encode(), rows[statement])

    await database.transaction(work)
    return session_id
