"""Refuses what the real API refuses, in its own words where they are known (issue trackers, official docs).

Stricter than the real API in one point: neighbours of the same role are refused, because reports disagree on them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."
"""Only a turn that the server has paused goes on from its own words."""
_EXTRA = "{at}: Extra inputs are not permitted"
_FIELDS = {
    "model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "stream", "metadata",
    "stop_sequences", "output_config", "cache_control", "service_tier", "diagnostics", "container",
}  # fmt: skip
_BLOCK_FIELDS = {
    "text": {"text", "citations"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
    "tool_use": {"id", "name", "input", "caller"},
    "tool_result": {"tool_use_id", "content", "is_error"},
    "image": {"source"},
}
_TYPES_OF_ROLE = {
    "user": {"text", "tool_result", "image"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
}
_PICTURES = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8", "image/gif": b"GIF8", "image/webp": b"RIFF"}
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ALWAYS_THINKS = re.compile(r"claude-(fable|mythos)-5|claude-(opus|sonnet)-5-5")
_ADAPTIVE = re.compile(r"claude-(fable|mythos|opus|sonnet)-(5|4-[678])|claude-haiku-5")


def request_problem(body: Any) -> str | None:
    """The text of the 400 for `body`, None when the real API would take it."""
    if not isinstance(body, dict):
        return "Input should be an object"
    try:
        return next(_problems(body), None)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        return f"the request has not the form of a Messages request: {error!r}"


def _problems(body: Json) -> Iterator[str]:
    yield from (_EXTRA.format(at=field) for field in body if field not in _FIELDS)
    for field in ("model", "max_tokens", "messages"):
        if field not in body:
            yield f"{field}: Field required"
    if not isinstance(body["max_tokens"], int) or body["max_tokens"] < 1:
        yield "max_tokens: Input should be greater than or equal to 1"
    yield from _thinking_problems(body)
    yield from _tools_problems(body.get("tools", []))
    if "tool_choice" in body and not body.get("tools"):
        yield "tool_choice may only be specified while providing tools"
    yield from _text_problems("system", _blocks(body.get("system", [])))
    yield from _messages_problems(body["messages"])
    yield from _mark_problems(body)


def _thinking_problems(body: Json) -> Iterator[str]:
    wanted, model = body.get("thinking"), body["model"]
    if wanted is None:
        return
    if wanted.get("type") == "disabled" and _ALWAYS_THINKS.match(model):
        yield (
            '"thinking.type.disabled" is not supported for this model. '
            'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )
    if wanted.get("type") == "adaptive" and not _ADAPTIVE.match(model):
        yield "adaptive thinking is not supported on this model"
    yield from (
        _EXTRA.format(at=f"thinking.{wanted.get('type')}.{key}")
        for key in wanted
        if key not in {"type", "display", "budget_tokens"}
    )


def _tools_problems(tools: list[Json]) -> Iterator[str]:
    names = [tool.get("name", "") for tool in tools]
    for index, tool in enumerate(tools):
        at = f"tools.{index}.custom"
        if not _TOOL_NAME.fullmatch(names[index]):
            yield f"{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        schema = tool.get("input_schema", {})
        if schema.get("type") != "object":
            yield f"{at}.input_schema.type: Input should be 'object'"
        if {"oneOf", "anyOf", "allOf"} & set(schema):
            yield f"{at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        extra = set(tool) - {"name", "description", "input_schema", "cache_control", "strict", "type"}
        yield from (_EXTRA.format(at=f"{at}.{key}") for key in sorted(extra))
    if len(set(names)) != len(names):
        yield "tools: Tool names must be unique."


def _messages_problems(messages: list[Json]) -> Iterator[str]:
    if not messages:
        yield "messages: at least one message is required"
    seen: set[str] = set()
    for index, message in enumerate(messages):
        role, at = str(message.get("role")), f"messages.{index}"
        if role not in _TYPES_OF_ROLE:
            yield f"{at}.role: Input should be 'user' or 'assistant'"
        if index == 0 and role != "user":
            yield 'messages: first message must use the "user" role'
        if index and messages[index - 1].get("role") == role:
            yield (
                'messages: roles must alternate between "user" and "assistant", '
                f'but found multiple "{role}" roles in a row'
            )
        yield from _content_problems(at, role, _blocks(message.get("content")))
        yield from _pairing_problems(messages, index, seen)
    if messages[-1]["role"] == "assistant":
        yield PREFILL


def _content_problems(at: str, role: str, blocks: list[Json]) -> Iterator[str]:
    if not blocks:
        yield f"{at}: all messages must have non-empty content except for the optional final assistant message"
    for place, block in enumerate(blocks):
        kind, here = block.get("type", ""), f"{at}.content.{place}"
        if kind not in _TYPES_OF_ROLE[role]:
            yield f"{here}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        extra = set(block) - _BLOCK_FIELDS[kind] - {"type", "cache_control"}
        yield from (_EXTRA.format(at=f"{here}.{kind}.{key}") for key in sorted(extra))
        if kind == "tool_use" and not isinstance(block.get("input"), dict):
            yield f"{here}.tool_use.input: Input should be a valid dictionary"
        if kind == "tool_result":
            yield from _result_problems(here, block)
        if kind == "image":
            yield from _image_problems(here, block["source"])
    yield from _text_problems(at, blocks)
    if blocks[-1]["type"] in {"thinking", "redacted_thinking"}:
        yield f"{at}: The final block in an assistant message cannot be `thinking`."


def _result_problems(here: str, block: Json) -> Iterator[str]:
    if block.get("is_error") and not block.get("content"):
        yield f"{here}.tool_result: content cannot be empty if `is_error` is true"
    blocks = _blocks(block.get("content") or [])
    yield from _text_problems(here, blocks)
    for inner in blocks:
        if inner["type"] == "image":
            yield from _image_problems(f"{here}.tool_result", inner["source"])


def _image_problems(here: str, source: Json) -> Iterator[str]:
    if source["type"] != "base64" or set(source) != {"type", "media_type", "data"}:
        yield f"{here}.image.source: this server knows base64 only"
    if source["media_type"] not in _PICTURES:
        yield f"{here}.image.source.base64.media_type: Input should be {', '.join(_PICTURES)}"
    data = base64.b64decode(source["data"], validate=True)
    if not data.startswith(_PICTURES[source["media_type"]]):
        yield f"{here}.image.source.base64: the image was specified using another media type"
    if len(data) > 5 * 1024 * 1024:
        yield f"{here}.image.source.base64: image exceeds 5 MB maximum"


def _text_problems(at: str, blocks: list[Json]) -> Iterator[str]:
    for place, block in enumerate(blocks):
        if block.get("type") != "text":
            continue
        if not block["text"]:
            if "cache_control" in block:
                yield f"{at}.content.{place}.text: cache_control cannot be set for empty text blocks"
            yield "messages: text content blocks must be non-empty"
        if not block["text"].strip():
            yield "messages: text content blocks must contain non-whitespace text"


def _pairing_problems(messages: list[Json], index: int, seen: set[str]) -> Iterator[str]:
    blocks = _blocks(messages[index]["content"])
    for place, block in enumerate(blocks):
        if block["type"] == "tool_use":
            at = f"messages.{index}.content.{place}"
            if not _CALL_ID.fullmatch(block.get("id") or ""):
                yield f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            if block["id"] in seen:
                yield f"{at}: `tool_use` ids must be unique"
            seen.add(block["id"])
    called = [block["id"] for block in blocks if block["type"] == "tool_use"]
    following = _blocks(messages[index + 1]["content"]) if index + 1 < len(messages) else []
    answered = [block["tool_use_id"] for block in following[: len(called)] if block["type"] == "tool_result"]
    missing = [call for call in called if call not in answered]
    if missing:
        yield (
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message."
        )
    yield from _orphan_problems(messages, index, blocks)


def _orphan_problems(messages: list[Json], index: int, blocks: list[Json]) -> Iterator[str]:
    before = _blocks(messages[index - 1]["content"]) if index else []
    open_calls = [block["id"] for block in before if block["type"] == "tool_use"]
    for place, block in enumerate(blocks):
        if block["type"] != "tool_result":
            continue
        at, call = f"messages.{index}.content.{place}", block["tool_use_id"]
        if call not in open_calls:
            yield (
                f"{at}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. Each `tool_result` block must "
                "have a corresponding `tool_use` block in the previous message."
            )
        open_calls.remove(call)


def _mark_problems(body: Json) -> Iterator[str]:
    marked = [tool for tool in body.get("tools", []) if "cache_control" in tool]
    marked += [block for block in _blocks(body.get("system", [])) if "cache_control" in block]
    for index, message in enumerate(body["messages"]):
        for place, block in enumerate(_blocks(message["content"])):
            if "cache_control" not in block:
                continue
            marked.append(block)
            if block["type"] in {"thinking", "redacted_thinking"}:
                yield _EXTRA.format(at=f"messages.{index}.content.{place}.{block['type']}.cache_control")
    if len(marked) > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
    for mark in (block["cache_control"] for block in marked):
        if mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in {"5m", "1h"}:
            yield "cache_control: Input should be {'type': 'ephemeral', 'ttl': '5m' or '1h'}"


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])
