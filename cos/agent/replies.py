"""From a model's reply to a message that may be stored: unique call ids, legal names, no cut-off arguments."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cos.agent.messages import AssistantMessage, ToolCall, stored_form

if TYPE_CHECKING:
    from cos.agent.provider import ModelReply, ProposedCall

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ILLEGAL_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Received:
    """A reply as a message, and for each call that must not run the reason, by call id."""

    message: AssistantMessage
    refusals: dict[str, str]


def received(reply: ModelReply, used: set[str], model: str) -> Received:
    """The reply of `model` as it will be stored and sent back.

    A call id in `used` gets a new one, so that each call is told apart and answered once; the ids of the reply are
    added to it. A call whose arguments are incomplete is kept with empty arguments and a reason.
    """
    calls: list[ToolCall] = []
    refusals: dict[str, str] = {}
    for proposed in reply.calls:
        call = ToolCall(id=_fresh_id(proposed.id, used), name=_legal_name(proposed.name), args=proposed.args or {})
        used.add(call.id)
        calls.append(call)
        reason = _reason_not_to_run(reply, proposed)
        if reason:
            refusals[call.id] = reason
    text = reply.text if reply.text.strip() else None
    blocks = _blocks(reply, calls)
    is_plain = blocks in ([], _plain_blocks(text, calls))
    message = AssistantMessage(
        text=text,
        tool_calls=calls,
        blocks=[] if is_plain else blocks,
        model=None if is_plain else model,
        stop_reason=None if reply.stop_reason in {"end_turn", "tool_use"} else reply.stop_reason,
    )
    stored = stored_form(message)
    assert isinstance(stored, AssistantMessage)
    return Received(stored, refusals)


def _reason_not_to_run(reply: ModelReply, proposed: ProposedCall) -> str | None:
    if reply.stop_reason == "max_tokens":
        return "Not run: the reply reached the output limit, so the call may be cut off. Make it shorter or split it."
    if proposed.args is None:
        excerpt = proposed.raw_args[:200]
        return f"Not run: the arguments are not a complete JSON object: {excerpt!r}. Send the call again."
    if reply.stop_reason != "tool_use":
        return f"Not run: the reply ended with {reply.stop_reason!r} and not with a request for tools."
    return None


def _fresh_id(wanted: str, used: set[str]) -> str:
    base = wanted if _ID.fullmatch(wanted) else "call"
    candidate, number = base, 2
    while candidate in used:
        candidate, number = f"{base}_{number}", number + 1
    return candidate


def _legal_name(name: str) -> str:
    return _ILLEGAL_IN_NAME.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def _blocks(reply: ModelReply, calls: list[ToolCall]) -> list[dict[str, Any]]:
    """The provider's blocks, with the ids, names and arguments under which the calls are stored, if any."""
    if not reply.blocks:
        return []
    blocks: list[dict[str, Any]] = []
    remaining = list(zip(reply.calls, calls, strict=True))
    for block in reply.blocks:
        match = next((pair for pair in remaining if pair[0].id == block.get("id")), None)
        if block.get("type") == "tool_use" and match:
            remaining.remove(match)
            proposed, call = match
            unchanged = (proposed.id, proposed.name, proposed.args) == (call.id, call.name, call.args)
            blocks.append(block if unchanged else block | {"id": call.id, "name": call.name, "input": call.args})
        elif block.get("type") != "text" or str(block.get("text", "")).strip():
            blocks.append(block)
    blocks += [_call_block(call) for _, call in remaining]
    return blocks


def _plain_blocks(text: str | None, calls: list[ToolCall]) -> list[dict[str, Any]]:
    head = [{"type": "text", "text": text}] if text else []
    return [*head, *(_call_block(call) for call in calls)]


def _call_block(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.args}


def explanation(reply: ModelReply) -> str | None:
    """What the stop reason means, where the reader could mistake the reply for a finished one."""
    details = f" ({reply.stop_details})" if reply.stop_details else ""
    return {
        "max_tokens": "The reply reached the output limit and is cut off. Send a message to let it continue.",
        "refusal": f"The model refused to answer{details}. Rephrase the message before you go on.",
        "model_context_window_exceeded": "The conversation fills the model's window; this reply is cut off. "
        "It goes on when the session is compacted.",
    }.get(reply.stop_reason or "")


def is_blank(message: AssistantMessage) -> bool:
    """Whether the reply says and asks nothing (thinking alone is nothing to a reader)."""
    return not message.text and not message.tool_calls


def args_text(args: dict[str, Any]) -> str:
    """Arguments as a person reads them when the tool has no description of its own."""
    return json.dumps(args, ensure_ascii=False, indent=2)
