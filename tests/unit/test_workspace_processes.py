"""The tool `terminal` and the processes it starts: background, cancel, time-out, floods. Nothing may be left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from cos.agent.records import ToolCallStatus
from cos.agent.tools import ToolError
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.process_tree import MARKER, ProcessTree
from cos.plugins.workspace.terminal import Terminal
from tests.tool_context import RecordingContext, new_turn

_FORKS = "import os,time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); time.sleep(9)"
DOUBLE_FORK = f"{sys.executable} -c '{_FORKS}'"


RUN = "COS_TEST_RUN"
"""Tells the processes of this run of the tests from those of another one on the same machine."""


@pytest.fixture(autouse=True)
def marked_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN, str(os.getpid()))


def started_here() -> list[psutil.Process]:
    """Every living process that carries the marker of a call of this test run."""
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            is_ours = MARKER in environment and environment.get(RUN) == str(os.getpid())
            if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def ctx(tmp_path: Path) -> RecordingContext:
    return RecordingContext(tmp_path)


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    terminal = Terminal(SessionFolders(), lambda: os.environ)
    yield terminal
    assert await terminal.close() == ()
    assert started_here() == []


async def until(holds: Callable[[], object]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 300 & echo up",
        "setsid sleep 300 & echo up",
        f"nohup {sys.executable} -m http.server 0 --bind 127.0.0.1 & echo up",
        "(sleep 300 >/dev/null &) ; echo up",
        "env -i sleep 300 & echo up",
        "sleep 300 >/dev/null 2>&1 & echo up",
    ],
)
async def test_background_process_is_reported_kept_and_ended_at_exit(
    terminal: Terminal, ctx: RecordingContext, command: str
) -> None:
    """H-118"""
    outcome = await terminal.run({"command": command, "timeout": 20}, new_turn(), ctx)
    result: dict[str, Any] = json.loads(outcome.content)
    assert result["output"].startswith("up\n")
    assert result["exit_code"] == 0
    [background] = result["background"]
    assert "sleep 300" in background["command"] or "http.server" in background["command"]
    assert f"Still running in the background: {background['pid']} (" in result["note"]
    assert is_alive(background["pid"])
    assert await terminal.close() == ()
    assert not is_alive(background["pid"])


async def test_background_process_may_go_on_writing(terminal: Terminal, ctx: RecordingContext, tmp_path: Path) -> None:
    command = "(head -c 200000 /dev/zero; touch done; sleep 300) & echo up"
    await terminal.run({"command": command}, new_turn(), ctx)
    await until((tmp_path / "done").exists)
    assert "\0" not in ctx.output


async def test_ended_background_process_is_forgotten(terminal: Terminal, ctx: RecordingContext) -> None:
    turn = new_turn()
    outcome = await terminal.run({"command": "sleep 300 & echo up"}, turn, ctx)
    [background] = json.loads(outcome.content)["background"]
    result = json.loads((await terminal.run({"command": f"kill {background['pid']}"}, turn, ctx)).content)
    assert result["exit_code"] == 0
    assert "background" not in result
    await until(lambda: not started_here())
    await terminal.run({"command": "true"}, turn, ctx)
    assert terminal.left_running == ()


TREES = [
    "sleep 901 | sleep 902 & sleep 903",
    "trap '' TERM INT; echo up; sleep 904",
    "bash -c 'setsid sleep 905; :'",
    "setsid sleep 906 & sleep 907",
    f"{DOUBLE_FORK}; sleep 908",
    "(sleep 300; touch late) & kill -STOP $!; sleep 909",
]


@pytest.mark.parametrize("command", TREES)
async def test_cancelled_turn_ends_the_whole_tree(terminal: Terminal, ctx: RecordingContext, command: str) -> None:
    """H-119"""
    call = asyncio.ensure_future(terminal.run({"command": f"echo up; {command}"}, new_turn(), ctx))
    await until(lambda: "up" in ctx.output)
    await until(lambda: len(started_here()) > 1)
    ctx.cancel.cancel()
    outcome = await call
    assert isinstance(outcome, ToolError)
    assert outcome.status is ToolCallStatus.CANCELLED
    result = json.loads(outcome.content)
    assert result["output"].startswith("up\n")
    assert result["error"] == "The command was cancelled. It was stopped with everything it had started."
    assert started_here() == []


@pytest.mark.parametrize("command", TREES)
async def test_cancelled_task_cleans_up_before_it_ends(terminal: Terminal, ctx: RecordingContext, command: str) -> None:
    """H-119"""
    call = asyncio.ensure_future(terminal.run({"command": f"echo up; {command}"}, new_turn(), ctx))
    await until(lambda: "up" in ctx.output)
    call.cancel()
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert started_here() == []


async def test_task_cancelled_at_any_early_moment_leaves_nothing(terminal: Terminal, ctx: RecordingContext) -> None:
    for turns_of_the_loop in range(8):
        call = asyncio.ensure_future(terminal.run({"command": "sleep 910 & sleep 911"}, new_turn(), ctx))
        for _ in range(turns_of_the_loop):
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert started_here() == []


@pytest.mark.parametrize("command", TREES)
async def test_time_out_ends_the_whole_tree(terminal: Terminal, ctx: RecordingContext, command: str) -> None:
    """H-119"""
    outcome = await terminal.run({"command": command, "timeout": 0.5}, new_turn(), ctx)
    assert isinstance(outcome, ToolError)
    assert outcome.status is ToolCallStatus.TIMED_OUT
    assert started_here() == []


async def test_cancel_spares_the_background_of_earlier_calls(terminal: Terminal, ctx: RecordingContext) -> None:
    turn = new_turn()
    outcome = await terminal.run({"command": "sleep 300 & echo up"}, turn, ctx)
    [background] = json.loads(outcome.content)["background"]
    await terminal.run({"command": "sleep 300", "timeout": 0.2}, turn, ctx)
    assert [process.pid for process in started_here()] == [background["pid"]]


@pytest.mark.parametrize("command", ["yes", "cat /dev/zero | tr '\\0' x", "cat /dev/zero"])
async def test_flood_is_bounded_and_can_be_cancelled_at_once(
    terminal: Terminal, ctx: RecordingContext, command: str
) -> None:
    """H-120: the event loop stays live, or the ticks that lead to the cancellation would not come."""
    before = psutil.Process().memory_info().rss
    call = asyncio.ensure_future(terminal.run({"command": command}, new_turn(), ctx))
    for _ in range(50):
        await asyncio.sleep(0.01)
    ctx.cancel.cancel()
    outcome = await call
    assert isinstance(outcome, ToolError)
    assert json.loads(outcome.content)["truncated"] > 1_000_000
    assert len(outcome.content) < 120_000
    assert len(ctx.output) < 1_100_000
    assert psutil.Process().memory_info().rss - before < 100_000_000


async def test_survivor_is_reported_by_pid() -> None:
    tree = ProcessTree()
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", "trap '' TERM; echo deaf; sleep 60; :",
        env={MARKER: tree.mark, "PATH": "/usr/bin:/bin"}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None and await process.stdout.readline()
        tree.lead(process.pid)
        survivors = await tree.stop(final=signal.SIGCONT)
        assert process.pid in [survivor.pid for survivor in survivors]
        assert str(survivors[0]).startswith(f"{survivors[0].pid} (")
    finally:
        assert await tree.stop() == ()
        await process.wait()


async def test_process_of_nobody_is_never_touched() -> None:
    stranger = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
    try:
        tree = ProcessTree()
        assert await tree.stop() == ()
        assert is_alive(stranger.pid)
    finally:
        stranger.kill()
        await stranger.wait()
