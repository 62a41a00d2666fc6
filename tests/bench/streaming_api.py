"""A Messages API, run as a process of its own: it streams at a steady pace, and every piece says when it was sent."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

WORDS = "several words of an answer that a model might give "


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pieces: int, rate: float) -> None:
    """One connection, any number of requests after each other."""
    try:
        while (head := await reader.readuntil(b"\r\n\r\n")).strip():
            length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
            await reader.readexactly(length)
            await _stream(writer, pieces, rate)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _stream(writer: asyncio.StreamWriter, pieces: int, rate: float) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    usage = {"input_tokens": 10, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    _send(writer, "message_start", message=message)
    _send(writer, "content_block_start", index=0, content_block={"type": "text", "text": ""})
    began = time.monotonic()
    for number in range(pieces):
        await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
        text = f"{WORDS}@{time.time():.4f};"
        _send(writer, "content_block_delta", index=0, delta={"type": "text_delta", "text": text})
        await writer.drain()
    _send(writer, "content_block_stop", index=0)
    _send(writer, "message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 9})
    _send(writer, "message_stop")
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _send(writer: asyncio.StreamWriter, name: str, **data: Any) -> None:
    event = f"event: {name}\ndata: {json.dumps({'type': name} | data)}\n\n".encode()
    writer.write(b"%x\r\n%s\r\n" % (len(event), event))


async def main(pieces: int, rate: float) -> None:
    server = await asyncio.start_server(lambda r, w: answer(r, w, pieces, rate), "127.0.0.1", 0, backlog=1_000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
