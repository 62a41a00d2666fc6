"""Plays one scripted reply onto a connection, event by event, and keeps the account of what the client was told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, assert_never

from tests.api_server.http import Connection
from tests.api_server.script import Block, Break, Event, Pause, PingsForEver, Reply, Step
from tests.api_server.signatures import Signatures

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.api_server.server import RecordedRequest

Json = dict[str, Any]
_CHARACTERS_PER_TOKEN = 4


class Player:
    """For one request and its reply."""

    def __init__(
        self, connection: Connection, signatures: Signatures, request: RecordedRequest, sent: Callable[[int], None]
    ) -> None:
        """`sent` is told how many events have been sent, after each."""
        self._connection = connection
        self._signatures = signatures
        self._request = request
        self._tell_sent = sent
        self._sent = 0
        self._index = 0
        self._signed = 0
        self._has_calls = False
        self._is_reusable = False

    async def play(self, reply: Reply) -> bool:
        """Whether the connection can be used again.

        Raises:
            PeerClosed: the client left.
        """
        headers = {"request-id": f"req_{self._request.number}", **reply.headers}
        if reply.body is not None:
            await self._connection.send_whole(reply.status, reply.body, reply.content_type, headers)
            return True
        await self._connection.begin_stream(reply.status, headers)
        figures = reply.usage or self._counted(reply)
        if reply.has_start:
            await self._send_start(reply, figures)
        for step in reply.steps:
            if not await self._step(step):
                return self._is_reusable
        await self._send_end(reply, figures)
        await self._connection.end_stream()
        return True

    async def _step(self, step: Step) -> bool:
        """Whether the answer goes on after `step`."""
        match step:
            case Block():
                await self._block(step)
            case Event():
                await self._send_event(step.name, step.data)
                if step.name == "error":
                    await self._end_early()
                    return False
            case Pause():
                await self._connection.wait(step.seconds)
            case PingsForEver():
                while True:
                    await self._connection.send_event("ping", {"type": "ping"})
                    await self._connection.wait(step.seconds_between)
            case Break():
                await self._break(step)
                return False
            case _:
                assert_never(step)
        return True

    async def _break(self, step: Break) -> None:
        match step.how:
            case "drop":
                # Without a moment between, the reset would overtake what was sent before it.
                await self._connection.wait(0.2)
                self._connection.reset()
            case "fin":
                await self._connection.close_in_mid_chunk()
            case "end":
                await self._end_early()
            case "silence":
                await self._connection.wait(None)
            case _:
                assert_never(step.how)

    async def _end_early(self) -> None:
        await self._connection.end_stream()
        self._is_reusable = True

    async def _block(self, block: Block) -> None:
        index, self._index = self._index, self._index + 1
        start = dict(block.start)
        if start["type"] == "tool_use":
            self._has_calls = True
            start["id"] = start["id"] or f"toolu_{self._request.number}_{index}"
        await self._send("content_block_start", index=index, content_block=start)
        deltas = list(block.deltas)
        if block.is_signed:
            deltas.append({"type": "signature_delta", "signature": f"sig_{self._request.number}_{index}"})
        for delta in deltas:
            await self._send("content_block_delta", index=index, delta=delta)
            if block.seconds_per_delta:
                await self._connection.wait(block.seconds_per_delta)
        if block.is_closed:
            self._remember(start, deltas)
            await self._send("content_block_stop", index=index)

    def _remember(self, start: Json, deltas: list[Json]) -> None:
        if start["type"] == "thinking":
            start["thinking"] = "".join(delta.get("thinking", "") for delta in deltas)
            start["signature"] = "".join(delta.get("signature", "") for delta in deltas)
        elif start["type"] != "redacted_thinking":
            return
        if self._request.body.get("messages"):
            self._signatures.sign(start, place=self._signed, body=self._request.body)
            self._signed += 1

    async def _send_start(self, reply: Reply, figures: Json) -> None:
        self._request.usage = {**figures, "output_tokens": 1}
        message: Json = {
            "id": f"msg_{self._request.number}",
            "type": "message",
            "role": "assistant",
            "model": reply.model or self._request.body.get("model", ""),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": self._request.usage,
        }
        await self._send("message_start", message=message)

    async def _send_end(self, reply: Reply, figures: Json) -> None:
        stop = reply.stop or ("tool_use" if self._has_calls else "end_turn")
        delta = {"stop_reason": stop, "stop_sequence": None, "stop_details": reply.stop_details}
        closing = {key: value for key, value in figures.items() if key != "cache_creation"}
        for _ in range(reply.final_events):
            await self._send("message_delta", delta=delta, usage=closing)
        self._request.usage, self._request.is_final_usage = figures, True
        await self._send("message_stop")

    async def _send(self, name: str, **data: Any) -> None:
        await self._send_event(name, {"type": name, **data})

    async def _send_event(self, name: str, data: Json | bytes) -> None:
        await self._connection.send_event(name, data)
        self._sent += 1
        self._tell_sent(self._sent)

    def _counted(self, reply: Reply) -> Json:
        answered = sum(len(json.dumps(step.deltas)) for step in reply.steps if isinstance(step, Block))
        return {
            "input_tokens": len(self._request.raw) // _CHARACTERS_PER_TOKEN,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": max(2, answered // _CHARACTERS_PER_TOKEN),
        }
