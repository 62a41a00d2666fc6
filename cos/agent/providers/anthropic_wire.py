"""Maps a ModelRequest to the body of a Messages API request.

The same request always gives the same bytes, and request N+1 begins with what request N held: caching wants it, and
newer models bind their thinking blocks to it. Only `cache_control` moves, which the API leaves out of that comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, assert_never

from cos.agent.messages import AssistantMessage, Message, Part, ToolResultMessage, UserMessage
from cos.agent.provider import ModelRequest, SessionPrompt
from cos.agent.providers.anthropic_models import default_max_tokens, thinking_support

Json = dict[str, Any]
Thinking = Literal["adaptive", "off"]

_THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
_MARKED_TYPES = frozenset({"text", "tool_use", "tool_result"})
_MARK = {"type": "ephemeral"}
_MAX_MARKS = 4
_BLOCKS_PER_MARK = 15
"""A mark finds an earlier entry at most 20 blocks back."""


def request_body(request: ModelRequest, *, thinking: Thinking | None = None, prompt_caching: bool = True) -> Json:
    """The body of `POST /v1/messages` for a streamed answer.

    `thinking`: `adaptive` asks for it with readable summaries; `off` asks for none, as far as the model allows; None =
    adaptive where the model is known to take it.
    """
    prompt = request.prompt
    body: Json = {
        "model": prompt.model,
        "max_tokens": prompt.max_output_tokens or default_max_tokens(prompt.model),
        "stream": True,
    }
    wanted = _thinking(prompt.model, thinking)
    if wanted is not None:
        body["thinking"] = wanted
    body.update(_prefix(prompt))
    if prompt.tools and not request.allow_tools:
        body["tool_choice"] = {"type": "none"}
    body["messages"] = wire_messages(without_thinking(request.messages, but_of=prompt.model), request.images)
    if prompt_caching:
        _mark(body)
    return body


def wire_messages(messages: Iterable[Message], images: Mapping[str, str] | None = None) -> list[Json]:
    """The conversation in turns of alternating roles; what is empty is left out. `images`: see `ModelRequest`."""
    turns: list[Json] = []
    for message in messages:
        role, blocks = _blocks(message, images or {})
        if not blocks:
            continue
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "content": []})
        turns[-1]["content"].extend(blocks)
    for turn in turns:
        # The API wants the answers before anything else that the user says.
        turn["content"].sort(key=lambda block: block.get("type") != "tool_result")
    return turns


def without_thinking(messages: Sequence[Message], *, but_of: str | None = None) -> list[Message]:
    """`messages` with no thinking block left but those of one model: they mean nothing to any other.

    What a model is sent before one of its own blocks is then always the same, whoever answered in between.
    """
    return [_without_thinking(message, but_of) for message in messages]


def _without_thinking(message: Message, but_of: str | None) -> Message:
    if not isinstance(message, AssistantMessage) or not message.blocks or (but_of and message.model == but_of):
        return message
    kept = [block for block in message.blocks if block.get("type") not in _THINKING_TYPES]
    return message.model_copy(update={"blocks": kept})


def _thinking(model: str, wanted: Thinking | None) -> Json | None:
    support = thinking_support(model)
    if wanted == "off":
        return {"type": "disabled"} if support == "on_by_default" else None
    if wanted == "adaptive" or support not in {"unknown", "none"}:
        # Without summaries the newest models are silent between tool calls.
        return {"type": "adaptive", "display": "summarized"}
    return None


def _prefix(prompt: SessionPrompt) -> Json:
    prefix: Json = {}
    if prompt.system.strip():
        prefix["system"] = [_text(prompt.system)]
    if prompt.tools:
        prefix["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in prompt.tools
        ]
    return prefix


def _blocks(message: Message, images: Mapping[str, str]) -> tuple[str, list[Json]]:
    match message:
        case UserMessage():
            return "user", [*_parts(message.parts, images), *_texts([message.text, message.context])]
        case AssistantMessage():
            return "assistant", _assistant_blocks(message)
        case ToolResultMessage():
            return "user", [_result(message, images)]
        case _:
            assert_never(message)


def _assistant_blocks(message: AssistantMessage) -> list[Json]:
    """The stored blocks, or text and calls; every call of the message exactly once, and only those."""
    calls = {call.id: call for call in message.tool_calls}
    kept: list[Json] = []
    for block in message.blocks or _texts([message.text]):
        if block.get("type") == "tool_use" and calls.pop(block.get("id", ""), None) is None:
            continue
        if _is_sendable(block):
            kept.append(block)
    kept += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.args} for call in calls.values()]
    while kept and kept[-1].get("type") in _THINKING_TYPES:
        kept.pop()
    return [dict(block) for block in kept]


def _is_sendable(block: Json) -> bool:
    match block.get("type"):
        case "text":
            return bool(str(block.get("text") or "").strip())
        case "thinking":
            return bool(block.get("signature"))
    return True


def _result(message: ToolResultMessage, images: Mapping[str, str]) -> Json:
    result: Json = {"type": "tool_result", "tool_use_id": message.call_id}
    blocks = [*_texts([message.content]), *_parts(message.parts, images)]
    is_plain = len(blocks) == 1 and blocks[0]["type"] == "text"
    result["content"] = blocks[0]["text"] if is_plain else blocks or "(no output)"
    if message.is_error:
        result["is_error"] = True
    return result


def _parts(parts: Iterable[Part], images: Mapping[str, str]) -> list[Json]:
    """Parts as blocks. A picture that cannot be sent is told of in words rather than left to guess."""
    blocks: list[Json] = []
    for part in parts:
        if part.type == "image" and part.blob and part.blob in images:
            source = {"type": "base64", "media_type": part.media_type, "data": images[part.blob]}
            blocks.append({"type": "image", "source": source})
        else:
            blocks.extend(_texts([_part_text(part)]))
    return blocks


def _part_text(part: Part) -> str | None:
    if part.type == "text":
        return part.text
    if part.type == "link":
        return part.url if not part.text else f"{part.text} ({part.url})"
    return f"[{part.type} {part.text or part.media_type or ''} attached; it is not shown to the model]"


def _texts(texts: Iterable[str | None]) -> list[Json]:
    return [_text(text) for text in texts if text and text.strip()]


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _mark(body: Json) -> None:
    """Put cache marks on the system prompt, on the last block, and on a fixed grid of blocks between."""
    marks = _MAX_MARKS
    if "system" in body:
        body["system"][-1]["cache_control"] = _MARK
        marks -= 1
    blocks = [block for turn in body["messages"] for block in turn["content"]]
    grid = range(_BLOCKS_PER_MARK, len(blocks), _BLOCKS_PER_MARK)
    ends = [*grid, len(blocks)][-marks:] if blocks else []
    for end in ends:
        block = next((block for block in reversed(blocks[:end]) if block.get("type") in _MARKED_TYPES), None)
        if block is not None:
            block["cache_control"] = _MARK
