"""A provider that plays scripts by conversation, so that a parent and its children each have their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from cos.agent.messages import Message, UserMessage
from cos.agent.provider import ModelRequest
from cos.agent.providers.scripted import Script, ScriptedProvider, ScriptedStream, called, said


class ScriptedAgents(ScriptedProvider):
    """`scripts` by the first message of a conversation; `always` answers where there are none."""

    def __init__(self, scripts: Mapping[str, Iterable[Script]], *, always: Script | None = None) -> None:
        super().__init__([])
        self._always = always
        self._of = {first: ScriptedProvider(wanted) for first, wanted in scripts.items()}

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[ScriptedStream]:
        self.requests.append(request)
        first = first_words(request.messages)
        provider = self._of.get(first)
        if self._always is not None and (provider is None or not provider.unused):
            provider = ScriptedProvider([self._always])
        assert provider is not None, f"no script for a conversation that begins with {first!r}"
        self.open_streams += 1
        try:
            async with provider.stream(request) as stream:
                yield stream
        finally:
            self.open_streams -= 1

    def script(self, first: str, *scripts: Script) -> None:
        """What will be said in the conversation that begins with `first`."""
        self._of[first] = ScriptedProvider(scripts)

    def asked(self, first: str) -> list[ModelRequest]:
        """The model calls of the conversation that begins with `first`."""
        return [request for request in self.requests if first_words(request.messages) == first]


def first_words(messages: Iterable[Message]) -> str:
    return next((message.text for message in messages if isinstance(message, UserMessage)), "")


def delegates(*goals: str, id_: str = "d1", **more: Any) -> Script:
    """A reply that delegates: one goal, or a batch of several."""
    args = {"goal": goals[0]} if len(goals) == 1 else {"tasks": [{"goal": goal} for goal in goals]}
    return called((id_, "delegate_task", args | more))


__all__ = ["ScriptedAgents", "called", "delegates", "first_words", "said"]
