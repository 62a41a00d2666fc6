"""What a client asks for over the WebSocket, checked and handed to the core."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, ValidationError

from cos.agent.cancellation import uninterrupted
from cos.agent.errors import CosError
from cos.core.commands import parse_command
from cos.core.errors import SessionError
from cos.core.inbound import Inbound
from cos.web.answers import Answers, ApprovalRespond
from cos.web.errors import RequestError, as_request_error
from cos.web.frames import JsonText, error, response
from cos.web.objects import Json, server_time

if TYPE_CHECKING:
    from cos.core.sessions import Session
    from cos.web.core_port import WebCore
    from cos.web.hub import Hub
    from cos.web.outbox import Outbox

APP: Final = "the app"
"""The origin of the terminal app's own commands, which are there when it runs in this process."""


class Nothing(BaseModel):
    pass


class OfSession(BaseModel):
    session_id: UUID


class Subscribe(OfSession):
    after_seq: int | None = None
    boot_id: UUID | None = None


class MessageSend(BaseModel):
    text: str
    session_id: UUID | None = None
    profile_id: str | None = None
    tags: tuple[str, ...] = ()
    mode: Literal["queue", "steer", "now"] = "queue"
    client_message_id: str | None = None


class TurnCancel(OfSession):
    turn_id: UUID | None = None


class QueueRemove(OfSession):
    message_id: UUID


class Rename(OfSession):
    title: str


class SetTags(OfSession):
    tags: tuple[str, ...]


Handler = Callable[["Outbox", Any], Awaitable[Json]]


class Requests:
    """Of one server; each client's are handed in one after the other."""

    def __init__(self, core: WebCore, hub: Hub) -> None:
        self._core = core
        self._hub = hub
        answers = Answers(core)
        self._handlers: dict[str, tuple[type[BaseModel], Handler]] = {
            "session.subscribe": (Subscribe, self._subscribe),
            "session.unsubscribe": (OfSession, self._unsubscribe),
            "message.send": (MessageSend, self._send),
            "turn.cancel": (TurnCancel, self._cancel),
            "approval.respond": (ApprovalRespond, answers.respond),
            "queue.remove": (QueueRemove, self._remove),
            "queue.resume": (OfSession, self._resume),
            "session.rename": (Rename, self._rename),
            "session.tag": (SetTags, self._tag),
            "session.seen": (OfSession, self._seen),
            "ping": (Nothing, self._ping),
        }

    async def answer(self, client: Outbox, frame: Any) -> JsonText:
        """The answer to a frame, which is any JSON value. What was begun is done to its end."""
        if not isinstance(frame, dict):
            return error(None, None, RequestError("bad_request", "a frame is one JSON object"))
        request_id, action = frame.get("id"), frame.get("action")
        try:
            return response(request_id, str(action), await self._handled(client, frame))
        except CosError as trouble:
            return error(request_id, action, as_request_error(trouble))

    async def _handled(self, client: Outbox, frame: Json) -> Json:
        if frame.get("type") != "request":
            raise RequestError("bad_request", "a client sends frames of the type request")
        found = self._handlers.get(str(frame.get("action")))
        if found is None:
            raise RequestError("unknown_action", f"there is no action {frame.get('action')!r}")
        shape, handler = found
        try:
            payload = shape.model_validate(frame.get("payload") or {})
        except ValidationError as wrong:
            first = wrong.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise RequestError("bad_request", f"{place or 'payload'}: {first['msg']}") from wrong
        return await uninterrupted(handler(client, payload))

    async def _subscribe(self, client: Outbox, wish: Subscribe) -> Json:
        seq, replayed = await self._hub.subscribe(
            client, wish.session_id, after_seq=wish.after_seq, boot_id=wish.boot_id
        )
        return {"session_id": wish.session_id, "seq": seq, "replayed": replayed}

    async def _unsubscribe(self, client: Outbox, wish: OfSession) -> Json:
        self._hub.unsubscribe(client, wish.session_id)
        return {}

    async def _send(self, client: Outbox, wish: MessageSend) -> Json:
        if not wish.text.strip():
            raise RequestError("bad_request", "text: the message is empty")
        profile_id = wish.profile_id or self._core.profile.id
        if wish.session_id is not None:
            profile_id = (await self._session(wish.session_id)).profile_id
        inbound = Inbound(
            text=wish.text,
            profile_id=profile_id,
            source="web",
            session_id=wish.session_id,
            tags=wish.tags,
            mode=wish.mode,
            client_message_id=wish.client_message_id,
        )
        self._check_command(inbound)
        accepted = await self._core.dispatcher.dispatch(inbound)
        return {
            "session_id": accepted.session_id,
            "message_id": accepted.message_id,
            "turn_id": accepted.turn_id,
            "handled": accepted.handled,
            "said": accepted.said,
            "trouble": accepted.trouble,
        }

    def _check_command(self, inbound: Inbound) -> None:
        """Commands that move the terminal app around, or end it, are not for those who do not sit there."""
        parsed = parse_command(inbound.text)
        known = {command.name: command for command in self._core.dispatcher.commands.all(inbound.profile_id)}
        if parsed is not None and parsed[0] in known and known[parsed[0]].origin == APP:
            raise RequestError("refused", f"/{parsed[0]} works in the terminal app only")

    async def _cancel(self, client: Outbox, wish: TurnCancel) -> Json:
        return {"cancelled": await self._core.dispatcher.stop(wish.session_id, wish.turn_id)}

    async def _remove(self, client: Outbox, wish: QueueRemove) -> Json:
        await self._core.queue.remove(wish.message_id)
        return {}

    async def _resume(self, client: Outbox, wish: OfSession) -> Json:
        await self._session(wish.session_id)
        await self._core.dispatcher.resume_queue(wish.session_id)
        await self._core.dispatcher.announce_queue(wish.session_id)
        return {}

    async def _rename(self, client: Outbox, wish: Rename) -> Json:
        await self._session(wish.session_id)
        await self._core.edits.rename(wish.session_id, wish.title)
        return await self._hub.snapshots.session(wish.session_id)

    async def _tag(self, client: Outbox, wish: SetTags) -> Json:
        await self._session(wish.session_id)
        await self._core.edits.set_tags(wish.session_id, wish.tags)
        return await self._hub.snapshots.session(wish.session_id)

    async def _seen(self, client: Outbox, wish: OfSession) -> Json:
        await self._core.edits.seen(wish.session_id)
        return await self._hub.snapshots.session(wish.session_id)

    async def _ping(self, client: Outbox, wish: Nothing) -> Json:
        return server_time()

    async def _session(self, session_id: UUID) -> Session:
        try:
            return await self._core.sessions.get(session_id)
        except SessionError as missing:
            raise RequestError("not_found", str(missing)) from missing
