"""The fixture `memory`: the plugin with its default settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.memory_bench import MemoryBench, memory_bench


@pytest_asyncio.fixture
async def memory(core_url: str, tmp_path: Path) -> AsyncIterator[MemoryBench]:
    async with memory_bench(core_url, tmp_path) as bench:
        yield bench
