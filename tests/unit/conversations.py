"""Short ways to write conversations and requests for provider tests."""

from __future__ import annotations

from typing import Any

from cos.agent.messages import AssistantMessage, Message, ToolCall, ToolResultMessage, UserMessage
from cos.agent.provider import ModelReply, ModelRequest, Provider, SessionPrompt, ToolSpec

TERMINAL = ToolSpec(name="terminal", description="Run", schema={"type": "object", "properties": {"command": {}}})


MODEL = "claude-sonnet-5-5"


def request(*messages: Message, model: str = MODEL, allow_tools: bool = True) -> ModelRequest:
    prompt = SessionPrompt(system="You help.", tools=(TERMINAL,), model=model)
    return ModelRequest(prompt=prompt, messages=messages or (user("hi"),), allow_tools=allow_tools)


def user(text: str, **more: Any) -> UserMessage:
    return UserMessage(text=text, **more)


def calls(*ids: str, **more: Any) -> AssistantMessage:
    made = [ToolCall(id=id_, name="terminal", args={"command": id_}) for id_ in ids]
    return AssistantMessage(tool_calls=made, **more)


def result(call_id: str, content: str = "done", **more: Any) -> ToolResultMessage:
    return ToolResultMessage(call_id=call_id, content=content, is_error=more.pop("is_error", False), **more)


def as_message(reply: ModelReply, model: str = MODEL) -> AssistantMessage:
    """What the loop stores of `reply`: every call that it will answer, the blocks as they came, and who made them."""
    made = [ToolCall(id=call.id, name=call.name, args=call.args or {}) for call in reply.calls]
    return AssistantMessage(
        text=reply.text, tool_calls=made, blocks=list(reply.blocks), model=model, partial=not reply.is_complete
    )


async def ask(provider: Provider, asked: ModelRequest) -> ModelReply:
    """The whole reply to `asked`."""
    async with provider.stream(asked) as stream:
        async for _ in stream:
            pass
        return stream.reply()
