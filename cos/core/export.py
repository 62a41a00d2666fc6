"""A session as one document, Markdown or JSON, written page by page: a long history needs little memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from cos.agent.text import visible
from cos.core.export_markdown import MarkdownExport
from cos.core.sessions import usage_of

if TYPE_CHECKING:
    from cos.core.postgres.exports import ExportedMessage, ExportedSession, ExportedTurn, Exports

Format = Literal["markdown", "json"]
Write = Callable[[str], object]

JSON_VERSION: Final = 1
"""Of the JSON form. A new key does not change it; a key that means something else does."""
_NOT_ASCII: Final = re.compile("[^\x00-\x7e]")


async def export_session(
    exports: Exports, session_id: UUID, format: Format, write: Write, *, thinking: bool = False
) -> int:
    """Write the whole history of a session, inactive messages and undone turns included; answers how many messages.

    `thinking` says whether Markdown shows what the model thought; JSON always holds it.

    Raises:
        SessionError: there is no such session, or it was deleted while it was read.
    """
    session, newest = await exports.session(session_id)
    if format == "json":
        return await _json(exports, session, newest, write)
    count, document = 0, MarkdownExport(write, thinking=thinking)
    document.begin(session, datetime.now(UTC))
    async for messages, turns in exports.messages(session_id, newest):
        for message in messages:
            document.message(message, turns[message.turn_id])
        count += len(messages)
    return count


async def _json(exports: Exports, session: ExportedSession, newest: int, write: Write) -> int:
    """One object; each turn and each message stands on a line of its own."""
    head = {"format": "cos-session", "version": JSON_VERSION, "exported_at": datetime.now(UTC), "session": session}
    write(json_line(head)[:-1] + ',\n"turns": [')
    count = 0
    async for turn in exports.turns(session.id):
        write((",\n" if count else "\n") + json_line(_turn(turn)))
        count += 1
    write('\n],\n"messages": [')
    count = 0
    async for messages, _ in exports.messages(session.id, newest):
        for message in messages:
            write((",\n" if count else "\n") + json_line(_message(message)))
            count += 1
    write("\n]}\n")
    return count


def json_line(value: Any) -> str:
    """`value` as JSON on one line that a terminal may receive: control and hidden characters are written as escapes."""
    text = json.dumps(value, ensure_ascii=False, default=_plain).replace("\x7f", "\\u007f")
    return text if visible(text) == text else _NOT_ASCII.sub(lambda match: _escaped(match.group()), text)


def _escaped(character: str) -> str:
    return character if visible(character) == character else json.dumps(character)[1:-1]


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    return value.isoformat() if isinstance(value, datetime) else asdict(value)


def _turn(turn: ExportedTurn) -> dict[str, Any]:
    usage = usage_of(turn.usage)
    return asdict(turn) | {"usage": asdict(usage) if usage else None}


def _message(message: ExportedMessage) -> dict[str, Any]:
    data = asdict(message)
    body, calls = data.pop("body"), data.pop("calls")
    return data | {"message": body, "calls": calls}
