"""Frames: what the server says over the WebSocket, made into text once however many clients receive it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cos.web.objects import Json, encode

if TYPE_CHECKING:
    from collections.abc import Hashable
    from uuid import UUID

    from cos.web.errors import RequestError

JsonText = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One notification, before it has its place. Without `key` it is semantic: it must arrive, in its order."""

    action: str
    payload: Json
    key: Hashable | None = None
    """Of what it tells of: only the newest notice of a key counts."""
    grows: Hashable | None = None
    """Of the text that it is a piece of: neighbours of the same text may be put together."""


@dataclass(slots=True, kw_only=True, eq=False)
class Frame:
    """A notification in its place. `seq` counts the frames of a session; one to everybody has none."""

    notice: Notice
    session_id: UUID | None
    seq: int | None
    names: Json = field(default_factory=dict)
    """Session and boot id as text, where there is a session."""
    text: JsonText = field(init=False)

    def __post_init__(self) -> None:
        self.text = self._encoded(self.notice.payload, {})

    def after(self, first: int) -> JsonText:
        """The text that says that this stands for all frames from `first` on."""
        return self._encoded(self.notice.payload, {"first": first})

    def joined(self, others: Sequence[Frame], first: int) -> JsonText:
        """The text of this frame and the `others` after it, which are pieces of the same text."""
        frames = [self, *others]
        payload = self.notice.payload | {"text": "".join(frame.notice.payload["text"] for frame in frames)}
        if "omitted" in payload:
            payload["omitted"] = sum(frame.notice.payload["omitted"] for frame in frames)
        return replace(frames[-1], notice=self.notice)._encoded(payload, {"first": first})

    def _encoded(self, payload: Json, more: Json) -> JsonText:
        head: Json = {"id": None, "type": "notification", "action": self.notice.action, "payload": payload}
        if self.session_id is not None:
            head |= self.names | {"seq": self.seq}
        return encode(head | more)


def response(request_id: object, action: str, payload: Json) -> JsonText:
    return encode({"id": request_id, "type": "response", "action": action, "payload": payload})


def error(request_id: object, action: object, trouble: RequestError) -> JsonText:
    payload = {"code": trouble.code, "message": trouble.message} | trouble.more
    return encode({"id": request_id, "type": "error", "action": action, "payload": payload})


def control(action: str, payload: Json, session_id: UUID | None = None) -> JsonText:
    """A notification that has no place among a session's frames."""
    head: Json = {"id": None, "type": "notification", "action": action, "payload": payload}
    return encode(head if session_id is None else head | {"session_id": session_id})
