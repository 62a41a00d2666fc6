"""The bare SDK as a process of its own: sends one request as often as it is told, and does what its model wants.

`python -m tests.bench.bare_sdk URL KEY REQUEST.json`. Told `go`, it sends the request with the words that follow as
what the user says, runs `read_file` calls until there are none, and answers {"seconds", "cpu"}. It keeps nothing.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import anthropic


async def converse(client: anthropic.AsyncAnthropic, body: dict[str, Any], said: str) -> None:
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": said}]}]
    while True:
        async with client.messages.stream(**body | {"messages": messages}) as stream:
            reply = await stream.get_final_message()
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": _read(call.input)} for call in calls]
        said_back = [block.model_dump(include={"type", "text", "id", "name", "input"}) for block in reply.content]
        messages += [{"role": "assistant", "content": said_back}, {"role": "user", "content": results}]


def _read(args: Any) -> str:
    file: Path = Path(sys.argv[3]).parent / "workspaces" / "home" / args["path"]
    return file.read_text()


async def main(url: str, key: str, file: str) -> None:
    body = json.loads(Path(file).read_text())
    body.pop("stream", None)
    client = anthropic.AsyncAnthropic(auth_token=key, base_url=url, max_retries=0)
    loop = asyncio.get_running_loop()
    print(json.dumps({"ready": True}), flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        began, cpu = time.monotonic(), time.process_time()
        await converse(client, body, line.strip().removeprefix("go "))
        spent = {"began": began, "seconds": time.monotonic() - began, "cpu": time.process_time() - cpu}
        print(json.dumps(spent), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
