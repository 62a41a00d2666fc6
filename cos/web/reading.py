"""What is read over HTTP: the same objects as over the WebSocket."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from starlette.responses import Response

from cos.agent.errors import CosError
from cos.core.errors import SessionError
from cos.core.session_query import SessionQueryError, parse_session_query
from cos.web.errors import HTTP_STATUS, RequestError, as_request_error
from cos.web.money import Days
from cos.web.objects import Json, encode, server_time, stored_message

if TYPE_CHECKING:
    from starlette.requests import Request

    from cos.core.postgres.session_list import Place
    from cos.core.sessions import MessageRow, Session
    from cos.web.core_port import WebCore
    from cos.web.hub import Hub

MOST: Final = 200
"""Rows of one page."""
Endpoint = Callable[["Request"], Awaitable[Response]]


def json_answer(value: Json, status: int = 200) -> Response:
    return Response(encode(value), status, {"cache-control": "no-store"}, "application/json")


def answering(read: Callable[[Request], Awaitable[Json]]) -> Endpoint:
    """An endpoint that answers with what `read` gives, or with its error."""

    async def endpoint(request: Request) -> Response:
        try:
            return json_answer(await read(request))
        except CosError as error:
            trouble = as_request_error(error)
            told = {"error": {"code": trouble.code, "message": trouble.message}}
            return json_answer(told, HTTP_STATUS[trouble.code])

    return endpoint


class Reading:
    """Of one server."""

    def __init__(self, core: WebCore, hub: Hub) -> None:
        self._core = core
        self._hub = hub

    async def sessions(self, request: Request) -> Json:
        if request.query_params.get("parent"):
            return await self._children(request.query_params["parent"])
        limit, bill = _limit(request, 50), self._core.session_list.knows_cost
        try:
            query = parse_session_query(
                request.query_params.get("filter", ""),
                now=datetime.now(UTC),
                profiles=self._core.profiles,
                knows_cost=bill,
            )
        except SessionQueryError as error:
            raise RequestError("bad_request", str(error)) from error
        before = _place(request.query_params.get("after"))
        pressing = await self._core.session_list.pressing(query) if before is None else []
        page = await self._core.session_list.page(query, before, limit)
        rows = list({row.id: row for row in [*pressing, *page.rows]}.values())
        found = await self._hub.snapshots.of_rows(rows)
        return {"sessions": found, "next": _cursor(page.next) if page.next else None} | server_time()

    async def _children(self, name: str) -> Json:
        parent = await self._found(name)
        found = await self._hub.snapshots.of_rows(await self._core.session_list.children(parent.id))
        return {"sessions": found, "next": None} | server_time()

    async def session(self, request: Request) -> Json:
        return await self._hub.snapshots.session((await self._named(request)).id)

    async def messages(self, request: Request) -> Json:
        session = await self._named(request)
        before = _number(request, "before", 0, 2**31 - 1) or None
        limit = _limit(request, 100)
        rows, has_older = await self._core.sessions.messages(session.id, before=before, limit=limit)
        messages = await asyncio.to_thread(_objects, session.id, rows)
        tools = await self._hub.snapshots.calls(session.id, messages, {})
        return {"messages": messages, "tools": tools, "has_more": has_older} | server_time()

    async def turns(self, request: Request) -> Json:
        session = await self._named(request)
        after, limit = _number(request, "after", 0, 2**31 - 1), _limit(request, 100)
        rows = await self._core.session_turns.page(session.id, after=after, limit=limit + 1)
        running = await self._core.session_turns.running(session.id)
        channel, page = self._hub.channels.get(session.id), rows[:limit]
        return {
            "turns": await self._hub.snapshots.turns(session, page),
            "active_turn_id": running,
            "next": page[-1].ordinal if len(rows) > limit else None,
            "last_seq": channel.seq if channel else None,
        } | server_time()

    async def approvals(self, request: Request) -> Json:
        pending = [self._hub.snapshots.approval(row) for row in await self._core.desk.pending()]
        self._hub.keeper.given(pending)
        return {"approvals": pending} | server_time()

    async def cost(self, request: Request) -> Json:
        days = Days(_day(request, "since"), _day(request, "until"))
        return await self._hub.money.report(request.query_params.get("by") or None, days) | server_time()

    async def profiles(self, request: Request) -> Json:
        found = []
        for name, profile in self._core.profiles.items():
            settings = profile.settings
            found.append(
                {"id": name, "model": settings.model, "provider": settings.provider, "tags": settings.tags}
                | {"trouble": self._core.providers[name].missing() or None}
            )
        return {"profiles": found, "default": self._core.profile.id}

    async def _named(self, request: Request) -> Session:
        return await self._found(request.path_params["id"])

    async def _found(self, name: str) -> Session:
        try:
            return await self._core.sessions.get(UUID(name))
        except (ValueError, SessionError) as error:
            raise RequestError("not_found", f"there is no session {name}") from error


def _objects(session_id: UUID, rows: list[MessageRow]) -> list[Json]:
    return [stored_message(session_id, row) for row in rows]


def _limit(request: Request, default: int) -> int:
    return _number(request, "limit", default, MOST, least=1)


def _number(request: Request, name: str, default: int, most: int, *, least: int = 0) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise RequestError("bad_request", f"{name}: {text!r} is no whole number from {least} to {most}")
    return int(text)


def _day(request: Request, name: str) -> date | None:
    text = request.query_params.get(name)
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise RequestError("bad_request", f"{name}: {text!r} is no day such as 2026-11-01") from None


def _cursor(place: Place) -> str:
    return base64.urlsafe_b64encode(json.dumps([place[0].isoformat(), str(place[1])]).encode()).decode()


def _place(cursor: str | None) -> Place | None:
    if not cursor:
        return None
    try:
        at, session_id = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        return datetime.fromisoformat(at), UUID(session_id)
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
        raise RequestError("bad_request", "after: it is not what an answer gave as next") from None
