"""A plugin's event as text and back: how what it has stored reaches the plugin's readers in other processes."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cos.agent.errors import CosError
from cos.agent.identity import TurnInfo
from cos.agent.tags import Tag

if TYPE_CHECKING:
    from cos.core.live import PluginEvent

_DECIMAL = "decimal"


def event_text(event: PluginEvent) -> str:
    """One line of JSON. Its own fields hold numbers, texts, None, or a Decimal, which stays exact."""
    turn = event.turn
    own = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
    del own["turn"], own["at"]
    told = {
        "turn_id": str(turn.turn_id),
        "parent_turn_id": str(turn.parent_turn_id) if turn.parent_turn_id else None,
        "tags": list(turn.tags),
        "depth": turn.depth,
        "at": event.at.isoformat(),
        "own": own,
    }
    return json.dumps(told, default=_tagged, ensure_ascii=True)


def event_from(kind: type[PluginEvent], session_id: UUID, profile_id: str, text: str) -> PluginEvent:
    """What `event_text` made a text of.

    Raises:
        ValueError: it is something else.
    """
    try:
        told = json.loads(text, object_hook=_untagged)
        turn = TurnInfo(
            profile_id=profile_id,
            session_id=session_id,
            turn_id=UUID(told["turn_id"]),
            parent_turn_id=UUID(told["parent_turn_id"]) if told["parent_turn_id"] else None,
            tags=tuple(Tag(tag) for tag in told["tags"]),
            depth=int(told["depth"]),
        )
        return kind(turn=turn, at=datetime.fromisoformat(told["at"]), **told["own"])
    except (ArithmeticError, AttributeError, CosError, KeyError, RecursionError, TypeError) as error:
        raise ValueError(f"this is no {kind.type}: {error}") from error


def _tagged(value: object) -> Any:
    if isinstance(value, Decimal):
        return {_DECIMAL: str(value)}
    raise TypeError(f"{value!r} cannot be told to another process")


def _untagged(value: dict[str, Any]) -> Any:
    return Decimal(value[_DECIMAL]) if value.keys() == {_DECIMAL} else value
