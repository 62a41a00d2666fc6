"""The server's memory of the thinking that it signed: text, place, and the prefix and model that it is bound to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
CHANGED = "{at}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."  # noqa: E501
INVALID = "{at}: Invalid `signature` in `thinking` block"
BOUND = (
    INVALID + ". The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


@dataclass(frozen=True, slots=True)
class _Signed:
    block: Json
    place: int
    prefix: str
    model: str


class Signatures:
    """Signs thinking and checks it when it comes back."""

    def __init__(self) -> None:
        self._signed: dict[str, _Signed] = {}

    def sign(self, block: Json, *, place: int, body: Json) -> None:
        """Remember `block`, which carries its signature (or opaque data) already."""
        prefix = prefix_digest(body, len(body["messages"]))
        self._signed[_mark_of(block)] = _Signed(dict(block), place, prefix, body["model"])

    def problem(self, body: Json, *, is_prefix_checked: bool) -> str | None:
        """The real API's words when a thinking block of `body` is not as it was sent."""
        messages = body["messages"]
        latest = max((i for i, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
        for index, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            found = self._message_problem(body, index, is_latest=index == latest, is_prefix_checked=is_prefix_checked)
            if found:
                return found
        return None

    def _message_problem(self, body: Json, index: int, *, is_latest: bool, is_prefix_checked: bool) -> str | None:
        expected = 0
        for place, block in enumerate(body["messages"][index]["content"]):
            if block["type"] not in {"thinking", "redacted_thinking"}:
                continue
            at = f"messages.{index}.content.{place}"
            signed = self._signed.get(_mark_of(block))
            if signed is None or signed.model != body["model"]:
                return INVALID.format(at=at)
            if signed.block != block:
                return (CHANGED if is_latest else INVALID).format(at=at)
            # One of several may not be left out or moved.
            moved = signed.place != expected
            if is_prefix_checked and (moved or signed.prefix != prefix_digest(body, index)):
                return BOUND.format(at=at)
            expected += 1
        return None


def prefix_digest(body: Json, count: int) -> str:
    """What a thinking block is bound to: system, tools and the first `count` messages, cache marks left out."""
    prefix = [body.get("system"), body.get("tools"), body["messages"][:count]]
    return hashlib.sha256(json.dumps(without_cache_marks(prefix)).encode()).hexdigest()


def without_cache_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_cache_marks(item) for key, item in value.items() if key != "cache_control"}
    return [without_cache_marks(item) for item in value] if isinstance(value, list) else value


def _mark_of(block: Json) -> str:
    return str(block.get("signature") or block.get("data") or "")
