"""What is stored of a session and what a client has of it, in one form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.web.page_client import Followed, PageClient
    from tests.web.reader import Json

Rows = list[dict[str, Any]]


async def stored_of(client: PageClient, session_id: str, rows: Callable[..., Rows]) -> dict[str, Any]:
    """Read at the client's server, and with `rows` (query, parameters) what no path tells."""
    turns = (await client.get(f"/api/sessions/{session_id}/turns"))["turns"]
    messages = (await client.get(f"/api/sessions/{session_id}/messages?limit=200"))["messages"]
    calls = rows(_CALLS, id=session_id)
    (queue,) = rows(_QUEUE, id=session_id)
    return {
        "turns": {turn["id"]: turn for turn in turns},
        "messages": {message["id"]: placeless(message) for message in messages},
        "order": order_of(turns, messages),
        "calls": {row["call_id"]: (row["status"], row["result"]) for row in calls},
        "queue": {"waiting": queue["waiting"], "paused": queue["paused"]},
        "streaming": {},
    }


def differing(stored: dict[str, Any], seen: dict[str, Any], place: str = "") -> list[str]:
    """One line for each value that is not the same."""
    lines: list[str] = []
    for key in {**stored, **seen}:
        one, other = stored.get(key), seen.get(key)
        if isinstance(one, dict) and isinstance(other, dict):
            lines += differing(one, other, f"{place}{key} ")
        elif one != other or (key in stored) != (key in seen):
            lines.append(f"{place}{key}:\n    stored {one!r}\n    seen   {other!r}")
    return lines


def placeless(message: Json) -> Json:
    """A live message has no ordinal yet."""
    return {name: value for name, value in message.items() if name not in {"ordinal", "created_at"}}


def order_of(turns: list[Json], messages: list[Json]) -> dict[str, Any]:
    """As the page sorts them."""

    def place(one: Json) -> float:
        return float("inf") if one["ordinal"] is None else one["ordinal"]

    ordered = [turn["id"] for turn in sorted(turns, key=place)]
    of_turns = {
        turn_id: [one["id"] for one in sorted(messages, key=place) if one["turn_id"] == turn_id] for turn_id in ordered
    }
    return {"turns": ordered, "messages": of_turns}


def seen_of(followed: Followed) -> dict[str, Any]:
    """In the form of `stored_of`."""
    seen = followed.watched
    return {
        "turns": seen.turns,
        "messages": {key: placeless(message) for key, message in seen.messages.items()},
        "order": order_of(list(seen.turns.values()), list(seen.messages.values())),
        "calls": {key: (call["status"], call["result"]) for key, call in seen.tools.items()},
        "queue": {
            "waiting": [[one["id"], one["text"], one["mode"]] for one in seen.queue.get("waiting", [])],
            "paused": seen.queue.get("paused"),
        },
        "streaming": {} if seen.active else {key: piece for key, piece in seen.streaming.items() if piece},
    }


_CALLS = """SELECT c.call_id, c.status, c.result FROM tool_calls c JOIN turns t ON t.id = c.turn_id
    WHERE c.session_id = %(id)s AND t.undone_at IS NULL"""
_QUEUE = """SELECT queue_paused AS paused, COALESCE(
        (SELECT json_agg(json_build_array(q.id, q.body->>'text', q.mode) ORDER BY q.mode = 'now' DESC, q.id)
         FROM queued_messages q WHERE q.session_id = s.id), '[]') AS waiting
    FROM sessions s WHERE s.id = %(id)s"""
