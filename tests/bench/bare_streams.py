"""The baseline: as many streams of the bare SDK in one process, and nothing else. Prints its CPU seconds."""

from __future__ import annotations

import asyncio
import sys
import time

from anthropic import AsyncAnthropic


async def stream(client: AsyncAnthropic) -> int:
    async with client.messages.stream(
        model="claude-sonnet-5-5", max_tokens=1_000, messages=[{"role": "user", "content": "hello"}]
    ) as stream:
        return sum([len(text) async for text in stream.text_stream])


async def main(url: str, count: int) -> None:
    async with AsyncAnthropic(base_url=url, api_key="key", max_retries=0, timeout=300) as client:
        before = time.process_time()
        lengths = await asyncio.gather(*(stream(client) for _ in range(count)))
        print(time.process_time() - before, min(lengths), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
