"""What must hold after every kill, once cos runs again and nothing is going on: read from the database alone."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import dict_row

from cos.agent.messages import message_from_json
from tests.agent_bench import assert_answered
from tests.crash.model import EFFECTS, LARGE, SMALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.api_server import RecordedRequest
    from tests.crash.process import Shown

Row = dict[str, Any]
_FINAL = {"ok", "error", "denied", "expired", "cancelled", "timed_out", "unknown"}


class Audit:
    """Remembers what it has seen of a conversation, so that nothing of it may change later."""

    def __init__(self, conninfo: str, request: Callable[[int], RecordedRequest], kept_seconds: float) -> None:
        """`kept_seconds`: what was shown longer than this before a kill must be there; 0 = all of it."""
        self._conninfo = conninfo
        self._request = request
        self._kept_seconds = kept_seconds
        self._messages: dict[str, Row] = {}
        self.lost_characters = 0
        """Shown in the last moment before a kill, and not kept."""

    def rows(self, query: str, *parameters: object) -> list[Row]:
        with psycopg.connect(self._conninfo, autocommit=True, row_factory=dict_row) as connection:
            return connection.execute(query.encode(), parameters).fetchall()

    def begin_conversation(self) -> None:
        self._messages = {}

    def problems(self, root: str, shown: Shown, killed_at: float | None, workspace: Path) -> Iterator[str]:
        """Every sentence is a loss, or a broken promise. `killed_at`: when `shown` was cut; None = it was not."""
        messages = {
            str(row["id"]): row
            for row in self.rows(
                "SELECT m.id, m.session_id, m.ordinal, m.role, m.active, m.call_id, m.body::text AS body"
                " FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.root_session_id = %s"
                " ORDER BY m.session_id, m.ordinal",
                root,
            )
        }
        calls = {
            (str(row["session_id"]), row["call_id"]): row
            for row in self.rows(
                "SELECT c.* FROM tool_calls c JOIN sessions s ON s.id = c.session_id WHERE s.root_session_id = %s", root
            )
        }
        yield from self._append_only(messages)
        yield from _valid(messages)
        yield from self._at_rest(root)
        yield from self._shown(shown, killed_at, messages)
        yield from _results(shown, calls, messages)
        yield from self._answers(shown)
        yield from self._costs(shown, has_ended=killed_at is not None)
        yield from _effects(calls, workspace)

    def texts(self, root: str) -> Counter[str]:
        """How often each text of the user's is there, as a message or waiting."""
        found = self.rows(
            "SELECT m.body->>'text' AS text FROM messages m WHERE m.session_id = %s AND m.role = 'user'"
            " UNION ALL SELECT q.body->>'text' FROM queued_messages q WHERE q.session_id = %s",
            root, root,
        )  # fmt: skip
        return Counter(row["text"] for row in found)

    def _append_only(self, messages: dict[str, Row]) -> Iterator[str]:
        for key, before in self._messages.items():
            now = messages.get(key)
            if now is None:
                yield f"message {key} is gone: {before['body'][:80]}"
            elif {**before, "active": None} != {**now, "active": None}:
                yield f"message {key} has changed: {before} -> {now}"
            elif now["active"] and not before["active"]:
                yield f"message {key} has become active again"
        self._messages = messages

    def _at_rest(self, root: str) -> Iterator[str]:
        for row in self.rows(
            "SELECT t.id, t.status FROM turns t JOIN sessions s ON s.id = t.session_id"
            " WHERE s.root_session_id = %s"
            " AND (t.completed_at IS NULL OR EXISTS (SELECT FROM reply_pieces p WHERE p.turn_id = t.id))",
            root,
        ):
            yield f"turn {row['id']} is stuck ({row['status']})"
        for row in self.rows("SELECT id, tool FROM approvals WHERE root_session_id = %s AND status = 'pending'", root):
            yield f"approval {row['id']} for {row['tool']} is stuck"

    def _shown(self, shown: Shown, killed_at: float | None, messages: dict[str, Row]) -> Iterator[str]:
        for key, said in shown.messages.items():
            row = messages.get(key)
            if row is None:
                yield f"message {key} was shown and is not there: {json.dumps(said['message'])[:120]}"
            elif message_from_json(row["body"]).model_dump() != _message(said).model_dump():
                yield f"message {key} was shown otherwise: {json.dumps(said['message'])[:200]} / {row['body'][:200]}"
        due = None if killed_at is None else killed_at - self._kept_seconds
        for pieces, of_row in ((shown.texts, _text), (shown.thoughts, _thought)):
            for key, parts in pieces.items():
                whole = "".join(part for _, part in parts)
                must = "".join(part for at, part in parts if due is None or at <= due)
                kept = of_row(messages[key]) if key in messages else ""
                if must.strip() and not kept.startswith(must):
                    yield f"of message {key} {must[-60:]!r} was shown and {kept[-60:]!r} is there"
                self.lost_characters += max(0, len(whole) - len(kept))

    def _answers(self, shown: Shown) -> Iterator[str]:
        for key, decision in shown.answers.items():
            (row,) = self.rows("SELECT status FROM approvals WHERE id = %s", key) or [{"status": "not there"}]
            if row["status"] != decision:
                yield f"approval {key} was shown as {decision} and is {row['status']}"

    def _costs(self, shown: Shown, *, has_ended: bool) -> Iterator[str]:
        """`has_ended`: what was kept in the memory of a living process is lost, and so marked."""
        rows = self.rows("SELECT * FROM model_calls")
        by_key = {(str(row["turn_id"]), row["ordinal"]): row for row in rows}
        for key, said in shown.calls.items():
            row = by_key.get(key)
            if row is None or (row["status"], row["input_tokens"]) != (said["status"], said["input_tokens"]):
                yield f"model call {key} was shown as {said['status']} and is {row and row['status']}"
        counted = Counter(row["input_tokens"] for row in rows if row["input_tokens"])
        yield from (f"{count} rows for the API call with {figure}" for figure, count in counted.items() if count > 1)
        for row in rows:
            yield from self._cost(row, has_ended=has_ended)
        (sums,) = self.rows(
            "SELECT COALESCE(sum(calls), 0)::int AS calls, sum(cost_usd) AS usd FROM bill_sums WHERE kind = 'all'"
        )
        ended = [row for row in rows if row["status"] != "running"]
        if (sums["calls"], sums["usd"] or 0) != (len(ended), sum(row["cost_usd"] or 0 for row in rows)):
            yield f"the sums of the bill are {sums}, not those of its {len(ended)} rows"

    def _cost(self, row: Row, *, has_ended: bool) -> Iterator[str]:
        name = f"model call {row['turn_id']}/{row['ordinal']} ({row['status']})"
        if row["status"] == "running":
            if has_ended:
                yield f"{name} has no end"
        elif row["status"] == "lost":
            if row["cost_usd"] is not None or row["input_tokens"] is not None:
                yield f"{name} has figures though nobody saw its end"
        elif row["input_tokens"]:
            told = self._request(row["input_tokens"] - (LARGE if row["input_tokens"] >= LARGE else SMALL))
            is_whole = row["output_tokens"] == (told.usage or {}).get("output_tokens") and told.is_final_usage
            if row["cost_usd"] is None or is_whole == row["is_partial"] or (row["status"] == "ok" and not is_whole):
                yield f"{name} does not say what the server told: {row} / {told.usage}"


def _valid(messages: dict[str, Row]) -> Iterator[str]:
    histories: dict[str, list[Row]] = {}
    for row in messages.values():
        histories.setdefault(str(row["session_id"]), []).append(row)
    for session, rows in histories.items():
        if [row["ordinal"] for row in rows] != list(range(1, len(rows) + 1)):
            yield f"the ordinals of session {session} have holes"
        try:
            assert_answered([message_from_json(row["body"]) for row in rows if row["active"]])
        except (AssertionError, IndexError) as error:
            yield f"the history of session {session} is not valid: {error!r}"


def _results(shown: Shown, calls: dict[tuple[str, str], Row], messages: dict[str, Row]) -> Iterator[str]:
    for key, record in shown.results.items():
        row = calls.get(key)
        if row is None or (row["status"], row["result"]) != (record["status"], record["result"]):
            yield f"call {key} was shown as {record['status']} and is {row and row['status']}"
    answered = Counter((str(row["session_id"]), row["call_id"]) for row in messages.values() if row["call_id"])
    for key, row in calls.items():
        if row["status"] not in _FINAL:
            yield f"call {key} is stuck ({row['status']})"
        if answered[key] != 1:
            yield f"call {key} ({row['status']}) has {answered[key]} results"


def _effects(calls: dict[tuple[str, str], Row], workspace: Path) -> Iterator[str]:
    file = workspace / EFFECTS
    marks = Counter(file.read_text().split()) if file.exists() else Counter[str]()
    yield from (f"{mark} was made {count} times" for mark, count in marks.items() if count > 1)
    for key, row in calls.items():
        args = row["args"]
        if row["name"] == "terminal":
            mark, is_made = args["command"].split()[1], args["command"].split()[1] in marks
        elif row["name"] == "write_file":
            mark, is_made = args["path"], (workspace / args["path"]).exists()
        else:
            continue
        if is_made != (row["status"] == "ok") and row["status"] not in {"unknown", "cancelled"}:
            yield f"call {key} is {row['status']} and {mark} was {'' if is_made else 'not '}made"
        if is_made and row["status"] == "cancelled" and (row["result"] or "").startswith("Not run"):
            yield f"call {key} is said not to have run, and {mark} was made"


def _message(said: Row) -> Any:
    return message_from_json(json.dumps({key: value for key, value in said["message"].items() if value is not None}))


def _text(row: Row) -> str:
    return json.loads(row["body"]).get("text") or ""


def _thought(row: Row) -> str:
    blocks = json.loads(row["body"]).get("blocks") or []
    return "".join(block.get("thinking", "") for block in blocks)
