"""Events as JSON objects: one serialiser for `cos ask --json` and for every later reader over a wire."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pydantic import BaseModel

from cos.agent.identity import TurnInfo
from cos.core.live import session_of

if TYPE_CHECKING:
    from cos.core.live import CoreEvent


def event_object(seq: int, event: CoreEvent) -> dict[str, Any]:
    """`event` as one JSON object: `type`, `session_id`, `turn_id` (null outside a turn), `seq`, `at`, its own keys."""
    fields = {field.name: _plain(getattr(event, field.name)) for field in dataclasses.fields(event)}
    turn = getattr(event, "turn", None)
    fields.pop("turn", None)
    head = {
        "type": event.type,
        "session_id": str(session_of(event)),
        "turn_id": str(turn.turn_id) if isinstance(turn, TurnInfo) else None,
        "seq": seq,
        "at": fields.pop("at"),
    }
    if isinstance(turn, TurnInfo):
        head |= {"profile_id": turn.profile_id, "tags": list(turn.tags)}
        if turn.parent_turn_id is not None:
            head["parent_turn_id"] = str(turn.parent_turn_id)
    return head | {key: value for key, value in fields.items() if key not in head}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Decimal):
        return float(value)  # Its shortest spelling has the same digits, up to 15 of them.
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
