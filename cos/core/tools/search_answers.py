"""What `session_search` tells the model, as JSON that never refills the context it was asked from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from cos.agent.messages import AssistantMessage, ToolResultMessage, reply_text
from cos.agent.results import clipped

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.tools import Json
    from cos.core.searching import PlacedMessage, RecentSession, SearchHit, Window

MOST_CHARACTERS: Final = 40_000
"""Of a whole answer."""
BOOKEND_CHARACTERS: Final = 1_200
"""Of one message at the beginning or the end of a session."""
_LENGTHS: Final = (4_000, 2_000, 1_200, 600, 300, 120)
"""Characters of one message: the first with which the answer is short enough counts."""
IN_CONTEXT: Final = "(in this conversation now)"


def fitting(make: Callable[[int], Json]) -> str:
    """The answer with its messages as long as they may be."""
    text = ""
    for longest in _LENGTHS:
        text = json.dumps(make(longest), ensure_ascii=False)
        if len(text) <= MOST_CHARACTERS:
            break
    return text


def found_object(
    hit: SearchHit,
    start: Iterable[PlacedMessage],
    window: Window,
    end: Iterable[PlacedMessage],
    *,
    longest: int,
    live: UUID,
) -> Json:
    """One session of a discovery."""
    short = min(longest, BOOKEND_CHARACTERS)
    own = live if hit.session_id == live else None
    found: Json = {
        "session_id": str(hit.root_session_id),
        "when": hit.created_at.isoformat(),
        "source": hit.source,
        "model": hit.model,
        "title": hit.title,
        "matched_role": hit.role,
        "match_message_id": str(hit.message_id),
        "snippet": hit.snippet.marked,
        "bookend_start": said_objects(start, longest=short, live=own),
        "messages": said_objects(window.messages, longest=longest, live=own, anchor=hit.message_id),
        "bookend_end": said_objects(end, longest=short, live=own),
        "messages_before": window.before,
        "messages_after": window.after,
        "parent_session_id": str(hit.parent_session_id) if hit.parent_session_id else None,
    }
    if hit.tags:
        found["tags"] = list(hit.tags)
    if hit.is_in_child:
        found["child_session_id"] = str(hit.session_id)
    if hit.in_title:
        found["title_matches"] = True
    if hit.is_undone:
        found["undone"] = True
    if hit.is_archived:
        found["archived"] = True
    return found


def window_object(window: Window, *, longest: int, live: UUID, anchor: UUID) -> Json:
    own = live if window.session_id == live else None
    return {
        "session_id": str(window.session_id),
        "messages": said_objects(window.messages, longest=longest, live=own, anchor=anchor),
        "messages_before": window.before,
        "messages_after": window.after,
    }


def said_objects(
    messages: Iterable[PlacedMessage], *, longest: int, live: UUID | None, anchor: UUID | None = None
) -> list[Json]:
    """Messages in order. `live`: they are of the session that asks, whose live ones are only named."""
    return [_said(placed, longest, is_live=live is not None and placed.active, anchor=anchor) for placed in messages]


def anchor_of(window: Window, message_id: UUID) -> PlacedMessage:
    return next(placed for placed in window.messages if placed.id == message_id)


def recent_object(session: RecentSession) -> Json:
    return {
        "session_id": str(session.id),
        "title": session.title,
        "when": session.last_activity_at.isoformat(),
        "started_at": session.created_at.isoformat(),
        "source": session.source,
        "model": session.model,
        "tags": list(session.tags),
        "message_count": session.messages,
        "preview": session.preview,
    }


def _said(placed: PlacedMessage, longest: int, *, is_live: bool, anchor: UUID | None) -> Json:
    message = placed.message
    said: Json = {
        "id": str(placed.id),
        "role": message.role,
        "content": IN_CONTEXT if is_live else clipped(reply_text(message), longest),
        "timestamp": placed.created_at.isoformat(),
    }
    if isinstance(message, AssistantMessage) and message.tool_calls:
        said["tool_calls"] = [call.name for call in message.tool_calls]
    if isinstance(message, ToolResultMessage) and message.is_error:
        said["is_error"] = True
    if placed.id == anchor:
        said["anchor"] = True
    return said
