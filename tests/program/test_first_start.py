"""A machine without a database: it comes up beside the app, and whatever ends that start, the next one works."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cos.cli.chat import server_of_first_start
from cos.cli.opening import StartRequest, abandon, open_store
from cos.cli.starting_server import StartingServer
from cos.core.config import load_config
from cos.core.effective import Flags
from cos.core.embedded import EmbeddedPostgres
from cos.core.first_start import install_shipped
from cos.core.paths import Paths
from tests.postgres.fix_embedded import wait_until
from tests.program.fix_program import Program

SETTING_UP = "Setting up the database, once"


@pytest.fixture
def first(program: Program) -> Iterator[Program]:
    """cos on a machine that never saw it."""
    program.database_url = None
    yield program
    wait_until(lambda: not _is_running(program) or program.run("db", "stop", "--force"))


@pytest.fixture
def env(first: Program, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("COS_HOME", str(first.home))
    return {"COS_HOME": str(first.home)}


def _is_running(program: Program) -> bool:
    running: bool = json.loads(program.run("db", "status", "--json").stdout)["running"]
    return running


@pytest.mark.parametrize("progress", ["init-*/PG_VERSION", "data/postmaster.pid", "run/.s.PGSQL.5432"])
def test_chat_that_was_killed_in_its_first_start_is_no_obstacle_to_the_next(first: Program, progress: str) -> None:
    chat = first.chat("--profile", "demo")
    wait_until(lambda: list((first.home / "pg").glob(f"*/{progress}")))
    os.kill(chat.pid, signal.SIGKILL)
    done = first.run("ask", "hello", "--profile", "demo")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(first.run("sessions", "list", "--json").stdout)) == 1
    assert not list((first.home / "pg").glob("*/init-*"))


def test_chat_that_is_left_while_the_database_is_set_up_leaves_no_server(first: Program) -> None:
    chat = first.chat("--profile", "demo")
    chat.until(SETTING_UP)
    chat.press("ctrl+d")
    assert chat.until_end() == 0
    assert not _is_running(first)


def test_what_is_sent_while_the_database_is_set_up_is_answered_and_stored(first: Program) -> None:
    chat = first.chat("--profile", "demo")
    chat.until(SETTING_UP)
    chat.say("hello there")
    chat.until("idle ·")
    chat.close()
    (session,) = json.loads(first.run("sessions", "list", "--json").stdout)
    assert "hello there" in first.run("sessions", "show", session["id"]).stdout


def test_a_server_begins_at_once_and_is_left_with_the_block(first: Program, env: dict[str, str]) -> None:
    said: list[str] = []
    with server_of_first_start(env) as begun:
        assert begun is not None
        begun.attached.result()
        begun.tell(said.append)
        assert EmbeddedPostgres(first.home / "pg").status().running
    assert said == [SETTING_UP]
    assert not _is_running(first)


@pytest.fixture
def _ignored_interrupts() -> Iterator[None]:
    """As below `nohup … &`."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ignored_interrupts")
def test_a_server_that_has_just_begun_and_is_deaf_to_sigint_is_left_all_the_same(
    first: Program, env: dict[str, str]
) -> None:
    with server_of_first_start(env):
        wait_until(lambda: list((first.home / "pg").glob("*/init-*/PG_VERSION")))
    assert not _is_running(first)


def test_nothing_begins_where_a_setting_may_name_another_place(first: Program, env: dict[str, str]) -> None:
    with server_of_first_start(env | {"COS_DATABASE_URL": "postgresql://elsewhere/cos"}) as begun:
        assert begun is None
    first.setting('[database]\ndata_dir = "elsewhere"\n')
    with server_of_first_start(env) as begun:
        assert begun is None
    assert not (first.home / "pg").exists()


@pytest.mark.parametrize("is_open", [False, True])
async def test_a_database_that_nobody_takes_is_closed_and_its_server_left(
    first: Program, env: dict[str, str], is_open: bool
) -> None:
    paths = Paths.from_environment(env)
    install_shipped(paths)
    request = StartRequest(env=env, flags=Flags(), surface="test", say=lambda line: None)
    server = StartingServer(Path(env["COS_HOME"]) / "pg")
    opening = asyncio.create_task(open_store(load_config(paths), request, server))
    if is_open:
        await asyncio.wait([opening])
    else:
        await asyncio.sleep(0)
    await abandon(opening)
    assert not await asyncio.to_thread(_is_running, first)
