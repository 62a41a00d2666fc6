"""The API server of the suite as a process of its own: says on standard output when each request was there.

What it answers follows from words in the last message of a user: `burst`, `section`, `loop N`; every
answer ends in "answer N is here", where N counts requests from 0.
It ends with its standard input.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from tests.api_server.script import Reply, Step, pause, reply, text, tool
from tests.api_server.server import ApiServer, RecordedRequest
from tests.bench.answers import BURST, FIRST_TOKEN_SECONDS, MARKDOWN, STREAM_SECONDS


def answer(request: RecordedRequest) -> Reply:
    first = request.body if len(request.body["messages"]) == 1 else None
    _print({"arrived": request.arrived_at, "number": request.number, "body": first})
    ending = f"answer {request.number} is here"
    said, results = _last_words(request.messages)
    if "burst" in said:
        return reply(text("".join(BURST) + ending, pieces=len(BURST)))
    if "section" in said:
        pieces = int(STREAM_SECONDS * 60)
        return reply(text(MARKDOWN + ending, pieces=pieces, seconds_per_piece=STREAM_SECONDS / pieces))
    loop = re.search(r"loop (\d+)( slowly)?", said)
    if loop:
        steps: list[Step] = [pause(FIRST_TOKEN_SECONDS)] if loop[2] else []
        is_over = results >= int(loop[1])
        steps.append(text(ending) if is_over else tool("read_file", {"path": "note.txt"}))
        return reply(*steps)
    return reply(text(ending))


def _last_words(messages: list[dict[str, Any]]) -> tuple[str, int]:
    """What the user said last, and how many tool results came since."""
    results = 0
    for message in reversed(messages):
        if message["role"] != "user":
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        said = " ".join(block["text"] for block in blocks if block["type"] == "text")
        if said:
            return said, results
        results += len(blocks)
    return "", results


def _print(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def main() -> None:
    with ApiServer(answer=answer) as api:
        _print({"url": api.url})
        for _ in sys.stdin:
            pass


if __name__ == "__main__":
    main()
