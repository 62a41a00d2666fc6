"""A provider that plays one script for each model call and keeps every request: for tests of what calls a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Literal

from cos.agent.provider import ModelChunk, ModelReply, ModelRequest, ProposedCall, StreamStarted, TextChunk

Item = ModelChunk | ModelReply | Exception | Literal["hang"]
Script = Sequence[Item] | ModelReply | Exception | Literal["hang"]

MODEL = "scripted-1"


class ScriptExhausted(AssertionError):
    """More model calls were made than there are scripts."""


def said(text: str, *, stop: str = "end_turn") -> ModelReply:
    """A whole reply of words."""
    return ModelReply(text=text, stop_reason=stop, model=MODEL, is_complete=True)


def called(*calls: tuple[str, str, dict[str, Any]], text: str = "") -> ModelReply:
    """A whole reply that calls tools, each `(id, name, args)`."""
    proposed = tuple(ProposedCall(id=id_, name=name, args=args, raw_args=json.dumps(args)) for id_, name, args in calls)
    return ModelReply(text=text, calls=proposed, stop_reason="tool_use", model=MODEL, is_complete=True)


class ScriptedStream:
    """A ModelStream over one script."""

    def __init__(self, script: Sequence[Item]) -> None:
        self._script = script
        self._reply = ModelReply(model=MODEL)

    def reply(self) -> ModelReply:
        return self._reply

    async def __aiter__(self) -> AsyncIterator[ModelChunk]:
        for item in self._script:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, ModelReply):
                self._reply = item
            elif isinstance(item, str):
                await asyncio.Event().wait()
            else:
                if isinstance(item, TextChunk):
                    self._reply = replace(self._reply, text=self._reply.text + item.text)
                yield item
        if not any(isinstance(item, ModelReply) for item in self._script):
            self._reply = replace(self._reply, stop_reason="end_turn", is_complete=True)


class ScriptedProvider:
    """Plays `scripts` in order.

    A script is a ModelReply (its text comes as one chunk), an exception (the request is not accepted), `"hang"`
    (nothing comes after the start) or a list: chunks are streamed, an exception breaks the stream, `"hang"` waits for
    ever, and a ModelReply becomes what `reply()` says from then on. A list without one ends as a whole reply of its
    text.
    """

    def __init__(
        self,
        scripts: Iterable[Script],
        *,
        name: str = "scripted",
        window: int | None = 200_000,
        known: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self.open_streams = 0
        """Model calls whose context was not left yet."""
        self.is_closed = False
        self._scripts = list(scripts)
        self._window = window
        self._known = known

    def add(self, *scripts: Script) -> None:
        """More scripts, behind those that are left."""
        self._scripts.extend(scripts)

    @property
    def unused(self) -> int:
        """How many scripts nobody asked for yet."""
        return len(self._scripts)

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[ScriptedStream]:
        """See `Provider.stream`.

        Raises:
            ScriptExhausted: no script is left.
        """
        self.requests.append(request)
        if not self._scripts:
            raise ScriptExhausted(f"model call {len(self.requests)} has no script; the last message: {_last(request)}")
        script = self._scripts.pop(0)
        if isinstance(script, Exception):
            raise script
        self.open_streams += 1
        try:
            yield ScriptedStream(_items([StreamStarted(MODEL), "hang"] if script == "hang" else script))
        finally:
            self.open_streams -= 1

    def context_window(self, model: str) -> int | None:
        return self._window

    def known_models(self) -> tuple[str, ...]:
        return self._known

    def takes_images(self, model: str) -> bool:
        return True

    def missing(self) -> str:
        return ""

    async def prepare(self) -> None:
        """Nothing to prepare."""

    async def close(self) -> None:
        self.is_closed = True


def _items(script: Sequence[Item] | ModelReply) -> Sequence[Item]:
    if isinstance(script, ModelReply):
        started: list[Item] = [StreamStarted(script.model or MODEL)]
        return [*started, *([TextChunk(script.text)] if script.text else []), script]
    return script


def _last(request: ModelRequest) -> str:
    return repr(request.messages[-1]) if request.messages else "none"
