"""Every fault of the provider through the whole core, and some sequences; `python -m tests.crash.faults` runs more."""

from __future__ import annotations

import random
import shutil
from collections.abc import AsyncIterator

import pytest

from tests.api_server import ApiServer
from tests.crash.fault_table import ENDINGS, FAULTS
from tests.crash.faults import FaultBench, fault_bench, sequence
from tests.crash.world import World
from tests.fix_database import shared_folder

ANSWER = "First I will look around"


@pytest.fixture
async def bench(api: ApiServer) -> AsyncIterator[FaultBench]:
    folder = shared_folder()
    world = World(folder, api)
    async with fault_bench(world, api) as made:
        yield made
    world.server.leave()
    shutil.rmtree(folder, ignore_errors=True)


async def test_every_fault_alone_has_its_words_its_retry_and_its_row(bench: FaultBench) -> None:
    """H-073, H-074, H-078, H-079."""
    wrong = {}
    for fault in FAULTS:
        after = [(ENDINGS[0], ANSWER)] if fault.is_retried else []
        if problems := await bench.problems([(fault, "First I will"), *after]):
            wrong[fault.name] = problems
    assert wrong == {}


async def test_every_way_to_end_a_reply_is_told_apart(bench: FaultBench) -> None:
    wrong = {}
    for ending in ENDINGS:
        after = [(ENDINGS[0], ANSWER)] if ending.goes_on else []
        if problems := await bench.problems([(ending, "First I will"), *after]):
            wrong[ending.name] = problems
    assert wrong == {}


async def test_faults_in_any_order_lose_nothing_and_count_once(bench: FaultBench) -> None:
    chance = random.Random(30)
    for number in range(30):
        parts = sequence(chance)
        problems = await bench.problems(parts, in_session=number % 4 != 0)
        assert problems == [], [part.name for part, _ in parts]
