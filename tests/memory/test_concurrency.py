"""Sessions of several processes write at the same time: nothing of anybody is lost, and the cap holds."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.memory_bench import MemoryBench, memory_bench


async def test_two_sessions_that_write_at_once_both_keep_their_entries_H_087(
    memory: MemoryBench, core_url: str, tmp_path: Path
) -> None:
    async with memory_bench(core_url, tmp_path) as other:
        s1, s2 = await memory.turn(), await other.turn()
        for run in range(50):
            barrier = asyncio.Barrier(2)

            async def write(bench: MemoryBench, turn: object, text: str, barrier: asyncio.Barrier = barrier) -> None:
                await barrier.wait()
                assert (await bench.call(turn, action="add", content=text))["success"]  # type: ignore[arg-type]

            await asyncio.gather(write(memory, s1, f"A{run}"), write(other, s2, f"B{run}"))
        assert sorted(await memory.stored()) == sorted(f"{name}{run}" for run in range(50) for name in "AB")


async def test_the_cap_holds_when_many_write_at_once(memory: MemoryBench, core_url: str, tmp_path: Path) -> None:
    async with memory_bench(core_url, tmp_path, size=8) as other:
        turns = [await memory.turn() for _ in range(8)]
        told = await asyncio.gather(
            *(
                bench.call(turn, action="add", content=f"{number}" * 500)
                for number, turn in enumerate(turns)
                for bench in (memory, other)
            )
        )
    stored = await memory.stored()
    assert len(stored) == 4, "four of 500 and three delimiters fit into 2,200"
    assert len("\n§\n".join(stored)) <= 2_200
    done = [it for it in told if it["success"]]
    assert len(done) >= 4
    assert all(it["current_entries"] for it in told if not it["success"])


async def test_of_the_same_words_at_once_only_one_entry_comes(memory: MemoryBench) -> None:
    turns = [await memory.turn() for _ in range(6)]
    told = await asyncio.gather(*(memory.call(turn, action="add", content="same") for turn in turns))
    assert all(it["success"] for it in told)
    assert await memory.stored() == ["same"]


async def test_an_entry_is_replaced_by_one_of_two_and_the_other_is_told(memory: MemoryBench) -> None:
    await memory.add(await memory.turn(), "editor: vim")
    s1, s2 = await memory.turn(), await memory.turn()
    told = await asyncio.gather(
        memory.call(s1, action="replace", old_text="editor", content="editor: helix"),
        memory.call(s2, action="replace", old_text="editor", content="editor: kakoune"),
    )
    assert sorted(it["success"] for it in told) == [False, True]
    (failed,) = (it for it in told if not it["success"])
    assert failed["error"].startswith("Changed meanwhile")


async def test_an_edit_by_hand_that_is_under_way_is_waited_for(memory: MemoryBench) -> None:
    await memory.add(await memory.turn(), "editor: vim")
    s1 = await memory.turn()
    async with memory.database._pool.connection() as connection, connection.transaction():
        await connection.execute("UPDATE memory_entries SET content = 'editor: vim; shell: zsh'")
        replacing = asyncio.ensure_future(memory.call(s1, action="replace", old_text="vim", content="editor: helix"))
        while not await memory.rows("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
            assert not replacing.done()
    assert (await replacing)["error"].startswith("Changed meanwhile")
    assert await memory.stored() == ["editor: vim; shell: zsh"]
