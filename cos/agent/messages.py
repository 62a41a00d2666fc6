"""The messages of a conversation, stored as JSON: `user`, `assistant`, `tool_result`.

Each shape round-trips exactly: optional keys are left out when empty, an unknown key is kept. The JSON text keeps the
order of keys, because the provider compares what it is sent byte for byte.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, TypeAdapter, model_serializer

from cos.agent.text import storable

Json = dict[str, Any]
Origin = Literal["typed", "queued", "steered", "delegation", "loop", "compaction"]
"""`loop`: the turn loop itself, such as the request for a summary at the step limit. `compaction`: the summary that
took the place of all messages before it, and the request for it."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> Json:
        optional = {name for name, field in type(self).model_fields.items() if not field.is_required()}
        data: Json = handler(self)
        return {key: value for key, value in data.items() if key not in optional or value or key == "role"}


class ToolCall(_Record):
    """A request by the model to run one tool."""

    id: str
    name: str
    args: Json


class Part(_Record):
    """One piece of a message that is not plain text: `type` is text, image or link; an image names its blob by hash."""

    type: str
    text: str | None = None
    blob: str | None = None
    media_type: str | None = None
    url: str | None = None


class Compaction(_Record):
    """What a summary stands for."""

    messages: int
    """How many messages it took the place of."""
    tokens: int | None = None
    """Its length as the provider counted it; None when it did not."""


class UserMessage(_Record):
    """What a person (or a parent agent) said."""

    role: Literal["user"] = "user"
    text: str
    parts: list[Part] = Field(default_factory=list)
    context: str | None = None
    """What a skill's command and hooks added to the copy that the model sees."""
    origin: Origin | None = None
    compaction: Compaction | None = None
    """Set on a summary, and only there."""


class AssistantMessage(_Record):
    """What the model answered."""

    role: Literal["assistant"] = "assistant"
    text: str | None = None
    tool_calls: list[ToolCall] = Field(default_factory=list)
    blocks: list[Json] = Field(default_factory=list)
    """The provider's content blocks exactly as received. Present when text then calls would not reproduce them."""
    model: str | None = None
    """The model that made `blocks`, as it was asked for; present with them. No other model takes its thinking."""
    stop_reason: str | None = None
    partial: bool = False
    """Cut by cancel, crash or a dropped stream."""
    superseded: bool = False
    """Another attempt took its place: it was shown, and never was a part of the conversation."""


class ToolResultMessage(_Record):
    """The answer to one tool call, directly after it."""

    role: Literal["tool_result"] = "tool_result"
    call_id: str
    content: str
    is_error: bool
    parts: list[Part] = Field(default_factory=list)


Message = Annotated[UserMessage | AssistantMessage | ToolResultMessage, Field(discriminator="role")]
_ADAPTER: TypeAdapter[UserMessage | AssistantMessage | ToolResultMessage] = TypeAdapter(Message)


def parse_message(data: Json) -> Message:
    """The message in `data`.

    Raises:
        pydantic.ValidationError: not one of the four shapes.
    """
    return _ADAPTER.validate_python(data)


def message_json(message: Message) -> str:
    """`message` as JSON text that a database and a provider accept: no lone surrogate, no real U+0000."""
    return json_text(message.model_dump())


def json_text(value: Any) -> str:
    """Any JSON value as such text. Text that only spells the escape sequence (`\\u0000`) is left alone."""
    return json.dumps(_storable(value), ensure_ascii=False)


def message_from_json(text: str) -> Message:
    """The inverse of `message_json`. Key order is kept."""
    return parse_message(json.loads(text))


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # NaN and Infinity are Python's; JSON and Postgres know them not.
    return value


def stored_form(message: Message) -> Message:
    """`message` as it will be read back: what the loop keeps in memory must equal what the journal keeps."""
    return message_from_json(message_json(message))


def partial_reply(text: str, thinking: str) -> AssistantMessage:
    """What was on screen of a reply that was cut, in its stored form."""
    blocks = [{"type": "thinking", "thinking": thinking}] if thinking else []
    if blocks and text:
        blocks.append({"type": "text", "text": text})
    message = stored_form(AssistantMessage(text=text or None, blocks=blocks, partial=True))
    assert isinstance(message, AssistantMessage)
    return message


def reply_text(message: Message) -> str:
    """The words of `message` that a reader sees; empty for a message that is only tool calls."""
    return message.content if isinstance(message, ToolResultMessage) else message.text or ""
