"""Frames and requests that nobody has thought of: each gets its answer, and the server goes on."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cos.web.socket import MOST_BYTES
from tests.fuzz.making import numbers, texts, tries, values
from tests.web.fix_dashboard import Served

ACTIONS = (
    "session.subscribe", "session.unsubscribe", "message.send", "turn.cancel", "approval.respond", "queue.remove",
    "queue.resume", "session.rename", "session.tag", "session.seen", "ping", "session.delete", "",
)  # fmt: skip
NOWHERE = "019a0000-0000-7000-8000-000000000000"
FIELDS = (
    "session_id", "text", "profile_id", "tags", "mode", "client_message_id", "turn_id", "approval_id", "choice",
    "content_hash", "reason", "message_id", "title", "after_seq", "boot_id",
)  # fmt: skip
PATHS = ("/api/sessions", "/api/sessions/ID", "/api/sessions/ID/messages", "/api/sessions/ID/turns", "/api/cost",
         "/api/approvals", "/api/profiles", "/static/js/api.js", "/static/", "/healthz", "/metrics", "/")  # fmt: skip
QUERIES = ("filter", "after", "limit", "before", "by", "since", "until", "token")


def payloads(ids: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    usual: dict[str, st.SearchStrategy[Any]] = {
        "session_id": ids, "turn_id": ids, "approval_id": ids, "message_id": ids, "boot_id": ids, "title": texts,
        "text": texts, "mode": st.sampled_from(["queue", "steer", "now"]), "tags": st.lists(texts, max_size=3),
        "choice": st.sampled_from(["once", "session", "always", "deny", "answer"]), "profile_id": texts,
    }  # fmt: skip
    one = st.sampled_from(FIELDS).flatmap(
        lambda name: st.tuples(st.just(name), st.one_of(usual.get(name, values), values))
    )
    known = st.builds(lambda id_, more: {"session_id": id_} | dict(more), ids, st.lists(one, max_size=5))
    return st.one_of(known, known, st.lists(one, max_size=5).map(dict), values)


@pytest.fixture
async def session_id(dashboard: Served) -> str:
    dashboard.model.add(*[[] for _ in range(5)])
    async with dashboard.client() as client:
        answer = await client.ask("message.send", text="begin", profile_id="work")
    found: str = answer["payload"]["session_id"]
    return found


def silent(caplog: pytest.LogCaptureFixture) -> bool:
    """No traceback was written; what was is thrown away."""
    bad = [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]
    told = [record.getMessage() for record in bad]
    caplog.clear()
    assert told == []
    return True


@tries(40)
@given(data=st.data())
async def test_any_frame_is_answered(
    dashboard: Served, session_id: str, caplog: pytest.LogCaptureFixture, data: st.DataObject
) -> None:
    ids = st.sampled_from([session_id, NOWHERE, "x"])
    frames = data.draw(
        st.lists(
            st.one_of(
                st.builds(
                    lambda action, payload, kind: {"id": "F", "type": kind, "action": action, "payload": payload},
                    st.sampled_from(ACTIONS), payloads(ids), st.sampled_from(["request", "request", "request", "x"]),
                ),
                values,
            ),
            min_size=1, max_size=8,
        )
    )  # fmt: skip
    raw = data.draw(st.lists(st.one_of(st.text(max_size=30), st.binary(max_size=30), st.just("[" * 5_000)), max_size=2))
    async with dashboard.client() as client:
        sent = [text for text in [*map(json.dumps, frames), *raw] if len(text) <= MOST_BYTES]
        for frame in sent:
            await client.socket.send(frame)
        answered = 0
        while answered < len(sent):
            said = json.loads(str(await client.socket.recv()), parse_constant=lambda name: pytest.fail(name))
            if said["type"] in {"response", "error"}:
                answered += 1
                if said["type"] == "error":
                    assert said["payload"]["message"]
                    assert "Traceback" not in said["payload"]["message"]
        assert (await client.ask("ping"))["type"] == "response"
    assert silent(caplog)


@tries(80)
@given(
    path=st.one_of(st.sampled_from(PATHS), texts.map(lambda text: "/" + quote(text, errors="replace")[:300])),
    query=st.lists(st.tuples(st.sampled_from(QUERIES), st.one_of(texts, numbers.map(str))), max_size=3),
    cursor=st.one_of(st.none(), values, st.tuples(st.datetimes().map(str), st.just(NOWHERE)), st.just("[" * 1_500)),
)
async def test_any_request_is_answered(
    dashboard: Served,
    session_id: str,
    caplog: pytest.LogCaptureFixture,
    path: str,
    query: list[tuple[str, str]],
    cursor: Any,
) -> None:
    pairs = [f"{name}={quote(text, errors='replace')[:3_000]}" for name, text in query]
    if cursor is not None:
        place = cursor if isinstance(cursor, str) else json.dumps(cursor)
        pairs.append("after=" + base64.urlsafe_b64encode(place.encode("utf-8", "replace")).decode()[:3_000])
    answer = await dashboard.raw(
        f"GET {path.replace('ID', session_id)}?{'&'.join(pairs)} HTTP/1.1\nHost: localhost:{dashboard.dashboard.port}\n"
        f"Connection: close\nAuthorization: Bearer {dashboard.token}\n\n"
    )
    status = int(answer.split()[1])
    assert status in {200, 303, 400, 401, 404}, answer[:300]
    assert b"Traceback" not in answer
    assert silent(caplog)
