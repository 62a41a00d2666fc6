"""Cancellation tokens and writes that are never cut in half."""

from __future__ import annotations

import asyncio
import gc

import pytest

from cos.agent.cancellation import CancelToken, begun, is_being_cancelled, uninterrupted
from cos.agent.errors import TurnCancelled


async def test_the_first_reason_stays() -> None:
    token = CancelToken()
    assert (token.is_set, token.reason) == (False, None)
    token.check()
    token.cancel("by the user")
    token.cancel("later")
    assert (token.is_set, token.reason, await token.wait()) == (True, "by the user", "by the user")
    with pytest.raises(TurnCancelled, match="by the user"):
        token.check()


async def test_a_guard_cancels_the_work_and_waits_for_its_clean_up() -> None:
    token, steps = CancelToken(), list[str]()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned up")

    asyncio.get_running_loop().call_soon(token.cancel)
    with pytest.raises(TurnCancelled):
        await token.guard(work())
    assert steps == ["cleaned up"]


async def test_a_guard_never_starts_work_after_the_token_is_set() -> None:
    token, ran = CancelToken(), list[int]()

    async def work() -> None:
        ran.append(1)

    token.cancel()
    with pytest.raises(TurnCancelled):
        await token.guard(work())
    assert ran == []


async def test_a_result_of_the_same_instant_is_kept() -> None:
    token = CancelToken()

    async def work() -> str:
        token.cancel()
        return "done"

    assert await token.guard(work()) == "done"


async def test_work_that_ends_by_itself_within_its_grace_keeps_its_result() -> None:
    token = CancelToken()

    async def stops_itself() -> str:
        await token.wait()
        return "stopped itself"

    asyncio.get_running_loop().call_soon(token.cancel)
    assert await token.guard(stops_itself(), grace_seconds=20) == "stopped itself"


async def test_work_that_returns_when_cancelled_keeps_its_result() -> None:
    token = CancelToken()

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "said while stopping"
        return "never"

    asyncio.get_running_loop().call_soon(token.cancel)
    assert await token.guard(work()) == "said while stopping"


async def test_an_error_of_the_work_passes_and_one_while_stopping_does_not() -> None:
    token = CancelToken()

    async def fails() -> None:
        raise ValueError("its own")

    async def fails_stopping() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("while stopping")

    with pytest.raises(ValueError, match="its own"):
        await token.guard(fails())
    asyncio.get_running_loop().call_soon(token.cancel)
    with pytest.raises(TurnCancelled):
        await token.guard(fails_stopping())


async def test_an_error_while_stopping_for_a_cancelled_caller_is_nobodys_loss() -> None:
    loop, forgotten = asyncio.get_running_loop(), list[object]()
    loop.set_exception_handler(lambda _, context: forgotten.append(context))

    async def fails_stopping() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("while stopping")

    caller = asyncio.create_task(CancelToken().guard(fails_stopping()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.wait({caller})
    assert caller.cancelled()
    del caller
    gc.collect()
    assert forgotten == []


async def test_a_caller_cancelled_twice_still_waits_for_the_clean_up() -> None:
    token, release, steps = CancelToken(), asyncio.Event(), list[str]()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("stopping")
            await release.wait()
            steps.append("cleaned up")

    caller = asyncio.ensure_future(token.guard(work()))
    await asyncio.sleep(0)
    for _ in range(3):
        caller.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert steps == ["stopping"]
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert steps == ["stopping", "cleaned up"]


@pytest.mark.parametrize("fails", [False, True])
async def test_uninterrupted_work_ends_and_the_cancellation_comes_after_it(fails: bool) -> None:
    release, ended = asyncio.Event(), list[int]()

    async def work() -> None:
        await release.wait()
        ended.append(1)
        if fails:
            raise ValueError("lost behind the cancellation")

    caller = asyncio.ensure_future(uninterrupted(work()))
    await asyncio.sleep(0)
    for _ in range(2):
        caller.cancel()
        await asyncio.sleep(0)
    assert not caller.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert ended == [1]


async def test_a_cancellation_in_the_instant_the_work_ends_is_not_lost() -> None:
    for rounds in range(6):
        ended = asyncio.Event()

        async def work(ended: asyncio.Event = ended) -> None:
            ended.set()

        caller = asyncio.ensure_future(uninterrupted(work()))
        await ended.wait()
        for _ in range(rounds):
            await asyncio.sleep(0)
        if not caller.cancel():
            break
        with pytest.raises(asyncio.CancelledError):
            await caller
    else:
        pytest.fail("the caller never ended by itself")


async def test_uninterrupted_work_that_is_cancelled_itself_or_fails_says_so() -> None:
    async def gives_up() -> None:
        raise asyncio.CancelledError

    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(asyncio.CancelledError):
        await uninterrupted(gives_up())
    with pytest.raises(ValueError, match="no"):
        await uninterrupted(fails())
    assert not is_being_cancelled()


async def test_a_task_that_is_cancelled_at_once_still_cleans_up() -> None:
    done: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            done.append("cleaned up")

    task = await begun(work(), "work")
    task.cancel()
    await asyncio.wait({task})
    assert done == ["cleaned up"]


def test_a_childs_token_is_set_with_its_parents_and_may_be_set_alone() -> None:
    parent = CancelToken()
    one, two = parent.child(), parent.child()
    grandchild = one.child()
    two.cancel("that one")
    assert (parent.is_set, one.is_set, two.reason) == (False, False, "that one")
    parent.cancel("all")
    assert (one.reason, grandchild.reason, two.reason) == ("all", "all", "that one")
    assert parent.child().reason == "all"
