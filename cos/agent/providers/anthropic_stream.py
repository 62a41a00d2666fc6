"""Collects the events of a Messages API stream into a reply, block by block and exactly as sent.

Order on the wire: `message_start`, per block `content_block_start`, deltas and `content_block_stop`, then
`message_delta` (stop reason and final usage; the last one counts) and `message_stop`. Unknown events are skipped,
unknown blocks kept.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from cos.agent.events import Usage
from cos.agent.provider import (
    ModelChunk,
    ModelReply,
    OtherProgress,
    ProposedCall,
    StreamStarted,
    TextChunk,
    ThinkingChunk,
)

Json = dict[str, Any]

_MAX_DEPTH = 100


class MalformedStream(ValueError):
    """An event that cannot be what the protocol allows here."""


@dataclass(slots=True)
class _Block:
    """One content block that is being filled. Pieces are joined once: strings grow in linear time that way."""

    start: Json
    pieces: dict[str, list[str]] = field(default_factory=dict)
    citations: list[Any] = field(default_factory=list)
    is_finished: bool = False

    @property
    def type(self) -> str:
        return str(self.start.get("type"))

    def grow(self, key: str, piece: str) -> None:
        self.pieces.setdefault(key, []).append(piece)

    def joined(self, key: str) -> str:
        """What arrived for `key`, after whatever the block's start already held of it."""
        start = self.start.get(key)
        return (start if isinstance(start, str) else "") + "".join(self.pieces.get(key, ()))

    @property
    def raw_args(self) -> str:
        return "".join(self.pieces.get("partial_json", ()))

    def args(self) -> Json | None:
        """The arguments of a call, None unless the block is finished and its JSON is an object."""
        if not self.is_finished:
            return None
        if self.raw_args:
            return parse_args(self.raw_args)
        start = self.start.get("input")
        return start if isinstance(start, dict) else None

    def content(self) -> Json:
        """The block as it would have come without streaming."""
        block = dict(self.start)
        for key in self.pieces:
            if key != "partial_json":
                block[key] = self.joined(key)
        if self.citations:
            block["citations"] = [*(block.get("citations") or []), *self.citations]
        if "input" in block:
            block["input"] = self.args() or {}
        return block

    def is_kept(self) -> bool:
        """Whether this may stand in the reply's blocks: finished, or cut where a reader still has use for it."""
        return self.is_finished or (self.type in {"text", "thinking"} and bool(self.joined(self.type)))


class ReplyBuilder:
    """Fed with one event at a time. `reply()` may be asked at any moment."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._usage: Json = {}
        self._stop_reason: str | None = None
        self._stop_details: str | None = None
        self._model = ""
        self.is_complete = False

    def feed(self, event: Json) -> list[ModelChunk]:
        """What `event` adds for the reader.

        Raises:
            MalformedStream: the event contradicts what came before.
        """
        match event.get("type"):
            case "message_start":
                return self._start(event)
            case "content_block_start":
                return self._open(event)
            case "content_block_delta":
                return self._grow(self._block(event), _object(event, "delta"))
            case "content_block_stop":
                self._block(event).is_finished = True
            case "message_delta":
                self._end(event)
            case "message_stop":
                self.is_complete = True
            case _:
                return []
        return [OtherProgress()]

    def reply(self) -> ModelReply:
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        return ModelReply(
            text="".join(block.joined("text") for block in blocks if block.type == "text"),
            calls=tuple(_call(block) for block in blocks if block.type == "tool_use"),
            blocks=tuple(block.content() for block in blocks if block.is_kept()),
            stop_reason=self._stop_reason,
            stop_details=self._stop_details,
            usage=usage_of(self._usage),
            model=self._model,
            is_complete=self.is_complete,
        )

    def _start(self, event: Json) -> list[ModelChunk]:
        message = _object(event, "message")
        self._model = str(message.get("model") or "")
        self._overwrite_usage(message)
        return [StreamStarted(self._model)]

    def _open(self, event: Json) -> list[ModelChunk]:
        index = event.get("index")
        if not isinstance(index, int) or index in self._blocks:
            raise MalformedStream(f"content_block_start with index {index!r} after {len(self._blocks)} blocks")
        block = self._blocks[index] = _Block(_object(event, "content_block"))
        begun = block.joined("text") if block.type == "text" else ""
        return [TextChunk(begun)] if begun else [OtherProgress()]

    def _block(self, event: Json) -> _Block:
        block = self._blocks.get(event.get("index", -1))
        if block is None or block.is_finished:
            raise MalformedStream(f"{event.get('type')} for block {event.get('index')!r}, which is not open")
        return block

    def _grow(self, block: _Block, delta: Json) -> list[ModelChunk]:
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                block.grow("text", text)
                return [TextChunk(text)] if text else []
            case {"type": "thinking_delta", "thinking": str(text)}:
                block.grow("thinking", text)
                return [ThinkingChunk(text)] if text else []
            case {"type": "signature_delta", "signature": str(signature)}:
                block.grow("signature", signature)
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                block.grow("partial_json", piece)
            case {"type": "citations_delta", "citation": citation}:
                block.citations.append(citation)
        return [OtherProgress()]

    def _end(self, event: Json) -> None:
        delta = _object(event, "delta")
        self._stop_reason = delta.get("stop_reason") or self._stop_reason
        self._stop_details = _explanation(delta.get("stop_details")) or self._stop_details
        self._overwrite_usage(event)

    def _overwrite_usage(self, holder: Json) -> None:
        """Later figures are totals, not additions; a field that is missing or null keeps its earlier value."""
        usage = holder.get("usage")
        if isinstance(usage, dict):
            self._usage.update({key: value for key, value in usage.items() if value is not None})


def parse_args(raw: str) -> Json | None:
    """The JSON object in `raw`; None when it is no object, not strict JSON, or nested too deep to be stored."""
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _is_storable(value) else None


def usage_of(usage: Json) -> Usage:
    """The API's usage figures as cos counts them. Cache writes without a breakdown are 5 minute writes."""
    written = _count(usage, "cache_creation_input_tokens")
    split = usage.get("cache_creation")
    split = split if isinstance(split, dict) else {}
    one_hour = _count(split, "ephemeral_1h_input_tokens")
    five_minutes = _count(split, "ephemeral_5m_input_tokens")
    if written is not None:
        # The total may have grown since the breakdown was sent, which happens only once.
        five_minutes = max(written - (one_hour or 0), 0)
    return Usage(
        input_tokens=_count(usage, "input_tokens"),
        output_tokens=_count(usage, "output_tokens"),
        cache_read_tokens=_count(usage, "cache_read_input_tokens"),
        cache_write_5m_tokens=five_minutes,
        cache_write_1h_tokens=one_hour,
    )


def _call(block: _Block) -> ProposedCall:
    return ProposedCall(
        id=str(block.start.get("id") or ""),
        name=str(block.start.get("name") or ""),
        args=block.args(),
        raw_args=block.raw_args,
    )


def _object(event: Json, key: str) -> Json:
    value = event.get(key)
    if not isinstance(value, dict):
        raise MalformedStream(f"{event.get('type')} without its {key}")
    return value


def _explanation(details: Any) -> str | None:
    if not isinstance(details, dict):
        return None
    words = [str(details[key]) for key in ("category", "explanation") if details.get(key)]
    return ": ".join(words) or None


def _count(usage: Json, key: str) -> int | None:
    value = usage.get(key)
    return value if isinstance(value, int) and value >= 0 else None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _is_storable(value: Any) -> bool:
    """No number that JSON cannot write (1e999 reads as infinity), no nesting that breaks a recursive writer."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        if any(isinstance(item, float) and not math.isfinite(item) for item in level):
            return False
        level = [child for item in level for child in _children(item)]
        if not level:
            return True
    return False


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
