"""What the server is to answer: small builders that read like the answer itself.

reply(thinking("hm"), text("I look."), tool("terminal", {"command": "ls"}))
reply(open_text("First I will"), drop())
http_error(529, "overloaded_error", headers={"retry-after": "3"})
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
BreakHow = Literal["drop", "fin", "end", "silence"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One content block: what it starts as, its deltas, whether `content_block_stop` comes."""

    start: Json
    deltas: tuple[Json, ...] = ()
    is_closed: bool = True
    is_signed: bool = False
    """The server adds a signature of its own, bound to the request's prefix."""
    seconds_per_delta: float = 0


@dataclass(frozen=True, slots=True)
class Event:
    """Any event. `data` may be bytes that are no JSON."""

    name: str
    data: Json | bytes


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class PingsForEver:
    """Pings, and nothing else, until the client leaves."""

    seconds_between: float


@dataclass(frozen=True, slots=True)
class Break:
    """The answer ends here: `drop` resets the connection, `fin` closes it in the middle of a chunk, `end` finishes the
    HTTP response properly though the message is not complete, `silence` keeps the socket open until the client leaves.
    """

    how: BreakHow


Step = Block | Event | Pause | PingsForEver | Break


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One whole HTTP answer. With `body` it is that body, else a stream of `steps`."""

    steps: tuple[Step, ...] = ()
    stop: str | None = None
    """None = `tool_use` when a tool is called, else `end_turn`."""
    stop_details: Json | None = None
    usage: Json | None = None
    """Figures of the message; None = counted from the request and the reply."""
    final_events: int = 1
    """How often the closing `message_delta` is sent."""
    has_start: bool = True
    """False: not even `message_start` is sent."""
    model: str | None = None
    """None = the model that was asked for."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"


def reply(*steps: Step, stop: str | None = None, **options: Any) -> Reply:
    """A streamed answer of `steps`; `options` are the other fields of `Reply`."""
    return Reply(steps=steps, stop=stop, **options)


def text(words: str, *, pieces: int = 4, seconds_per_piece: float = 0) -> Block:
    deltas = tuple({"type": "text_delta", "text": piece} for piece in _cut(words, pieces))
    return Block(start={"type": "text", "text": ""}, deltas=deltas, seconds_per_delta=seconds_per_piece)


def open_text(words: str, *, pieces: int = 4) -> Block:
    """Text whose block is never closed."""
    block = text(words, pieces=pieces)
    return Block(start=block.start, deltas=block.deltas, is_closed=False)


def thinking(words: str, *, signature: str | None = None, pieces: int = 4) -> Block:
    """`signature` None = the server issues one and later checks that the block comes back unchanged."""
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _cut(words, pieces)]
    if signature is not None:
        deltas.append({"type": "signature_delta", "signature": signature})
    start = {"type": "thinking", "thinking": "", "signature": ""}
    return Block(start=start, deltas=tuple(deltas), is_signed=signature is None)


def open_thinking(words: str) -> Block:
    """Thinking that is cut before its signature."""
    block = thinking(words, signature="")
    return Block(start=block.start, deltas=block.deltas[:-1], is_closed=False)


def redacted(data: str) -> Block:
    return Block(start={"type": "redacted_thinking", "data": data})


def tool(name: str, args: Json | str, *, id: str | None = None, pieces: int = 3) -> Block:
    """A call. `args` as a string is sent as it is, valid JSON or not. `id` None = the server makes one."""
    raw = args if isinstance(args, str) else json.dumps(args)
    deltas = tuple({"type": "input_json_delta", "partial_json": piece} for piece in ["", *_cut(raw, pieces)])
    return Block(start={"type": "tool_use", "id": id, "name": name, "input": {}}, deltas=deltas)


def open_tool(name: str, raw_args: str, *, id: str | None = None) -> Block:
    """A call that is cut: `raw_args` is all that comes of its JSON."""
    block = tool(name, raw_args, id=id)
    return Block(start=block.start, deltas=block.deltas, is_closed=False)


def ping() -> Event:
    return Event("ping", {"type": "ping"})


def event(name: str, **data: Any) -> Event:
    """An event of a type that may be unknown to the client."""
    return Event(name, {"type": name, **data})


def chunk(data: bytes, name: str = "content_block_delta") -> Event:
    """An event whose data line is `data`, broken JSON for example."""
    return Event(name, data)


def error_event(kind: str = "overloaded_error", message: str = "Overloaded", **details: Any) -> Event:
    error: Json = {"type": kind, "message": message}
    if details:
        error["details"] = details
    return Event("error", {"type": "error", "error": error, "request_id": "req_in_stream"})


def pause(seconds: float) -> Pause:
    return Pause(seconds)


def pings_for_ever(seconds_between: float = 0.05) -> PingsForEver:
    return PingsForEver(seconds_between)


def break_stream(how: BreakHow) -> Break:
    return Break(how)


def drop() -> Break:
    return Break("drop")


def fin() -> Break:
    return Break("fin")


def end() -> Break:
    return Break("end")


def silence() -> Break:
    return Break("silence")


def usage(input: int = 0, output: int = 0, *, cache_read: int = 0, cache_5m: int = 0, cache_1h: int = 0) -> Json:
    """Figures in the API's own form, with the breakdown of cache writes."""
    return {
        "input_tokens": input,
        "cache_creation_input_tokens": cache_5m + cache_1h,
        "cache_read_input_tokens": cache_read,
        "cache_creation": {"ephemeral_5m_input_tokens": cache_5m, "ephemeral_1h_input_tokens": cache_1h},
        "output_tokens": output,
    }


def http_error(
    status: int,
    kind: str,
    message: str = "scripted",
    *,
    headers: Mapping[str, str] | None = None,
    error_code: str | None = None,
) -> Reply:
    error: Json = {"type": kind, "message": message}
    if error_code is not None:
        error["details"] = {"error_code": error_code}
    body = json.dumps({"type": "error", "error": error, "request_id": "req_error"}).encode()
    return Reply(status=status, body=body, headers=headers or {})


def html_error(status: int, html: str = "<html><body><h1>Bad gateway</h1></body></html>") -> Reply:
    return Reply(status=status, body=html.encode(), content_type="text/html")


def plain_json(data: Json) -> Reply:
    """JSON in answer to a request for a stream, as some gateways do."""
    return Reply(body=json.dumps(data).encode())


def _cut(whole: str, pieces: int) -> list[str]:
    size = max(1, -(-len(whole) // pieces))
    return [whole[start : start + size] for start in range(0, len(whole), size)]
