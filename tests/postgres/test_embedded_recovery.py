"""What a crash leaves behind never keeps the embedded server from starting, and never lets two of them run."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from cos.core.embedded import (
    ConnectionTarget,
    DatabaseFolderError,
    DatabaseStartError,
    DatabaseUnreachableError,
    EmbeddedPostgres,
    cluster,
)
from cos.core.embedded.locks import FileLock
from tests.postgres.fix_embedded import IS_ROOT, DatabaseUser, as_root, ask, major_folder, wait_until

MakeUser = Callable[..., DatabaseUser]


def starts_and_stops(state: Path) -> bool:
    database = EmbeddedPostgres(state)
    try:
        return bool(ask(database.attach(), "SELECT true"))
    finally:
        database.leave()
        assert not database.status().running


def crash(state: Path) -> int:
    """Kill the whole server, so that it leaves its files behind; returns the id of its postmaster."""
    database = EmbeddedPostgres(state)
    database.attach()
    pid = database.status().pid
    assert pid is not None
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for process in (str(pid), *children):
        os.kill(int(process), signal.SIGKILL)
    wait_until(lambda: not database.status().running)
    database.leave()
    return pid


def processes_with(word: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if word.encode() in command:
                found.append(int(entry.name))
    return found


def kill_all(word: str) -> list[int]:
    """Kill the processes with `word` in their command; those that they forked meanwhile are found the next time."""
    found = processes_with(word)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return found


@pytest.mark.parametrize("progress", ["PG_VERSION", "base/5"])
def test_database_killed_while_it_was_set_up_is_set_up_again(state: Path, user_of: MakeUser, progress: str) -> None:
    user = user_of(state)
    user.begin("attach")
    wait_until(lambda: list(state.glob(f"*/init-*/{progress}")))
    user.kill()
    wait_until(lambda: not kill_all(f"{major_folder(state)}/init-"))
    assert not (major_folder(state) / "data").exists()
    assert starts_and_stops(state)
    assert not list(state.glob("*/init-*"))


def test_stale_pid_file_that_names_a_living_process_is_no_running_server(stopped: Path) -> None:
    old = crash(stopped)
    folder = major_folder(stopped)
    # A process of the server's own user: postgres itself ignores those of others.
    owner = folder.stat().st_uid if IS_ROOT else None
    stranger = subprocess.Popen(["sleep", "600"], user=owner)
    try:
        for file in (folder / "data" / "postmaster.pid", folder / "run" / ".s.PGSQL.5432.lock"):
            file.write_text(file.read_text().replace(str(old), str(stranger.pid), 1))
        assert EmbeddedPostgres(stopped).status().running is False
        assert starts_and_stops(stopped)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("content", ["", "not a number\n"])
def test_pid_file_without_a_pid_is_no_obstacle(stopped: Path, content: str) -> None:
    (major_folder(stopped) / "data" / "postmaster.pid").write_text(content)
    assert starts_and_stops(stopped)


def test_data_of_a_server_that_someone_started_by_hand_is_left_alone(stopped: Path) -> None:
    database = EmbeddedPostgres(stopped)
    database.attach()
    (major_folder(stopped) / "server.lock").unlink()  # as if it had been started without our lock
    other = EmbeddedPostgres(stopped)
    with pytest.raises(DatabaseStartError, match="shared memory block"):
        other.attach()
    pid = int((major_folder(stopped) / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGINT)
    wait_until(lambda: not (major_folder(stopped) / "data" / "postmaster.pid").exists())


def test_busy_backend_without_its_postmaster_is_ended(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ORPHAN_SECONDS", 0.2)
    database = EmbeddedPostgres(stopped)
    target = database.attach()
    busy = threading.Thread(target=stay_busy, args=(target,))
    busy.start()
    wait_until(lambda: ask(target, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%1e12%'") == 2)
    pid = database.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert ask(database.attach(), "SELECT 1") == 1
    busy.join()
    database.leave()


def stay_busy(target: ConnectionTarget) -> None:
    with (
        pytest.raises(psycopg.OperationalError),
        psycopg.connect(make_conninfo(**target.conninfo_parameters("postgres"))) as connection,
    ):
        connection.execute("SELECT count(*) FROM generate_series(1, 1e12::bigint) AS n WHERE n % 7 = 9")


def test_held_but_silent_data_is_an_error_that_lets_others_try(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "UNREACHABLE_SECONDS", 0.3)
    holder = FileLock(major_folder(stopped) / "server.lock")
    assert holder.try_exclusive()
    database = EmbeddedPostgres(stopped)
    with pytest.raises(DatabaseUnreachableError, match="another container"):
        database.attach()
    others = FileLock(stopped / "start.lock")
    assert others.try_exclusive()
    others.release()
    database.leave()
    holder.release()


def test_leave_ends_an_attach_that_waits(stopped: Path) -> None:
    start = FileLock(stopped / "start.lock")
    assert start.try_exclusive()
    said, errors = threading.Event(), []
    database = EmbeddedPostgres(stopped, say=lambda line: said.set())

    def attach() -> None:
        try:
            database.attach()
        except DatabaseStartError as error:
            errors.append(error)

    waiting = threading.Thread(target=attach)
    waiting.start()
    assert said.wait(20)
    database.leave()
    waiting.join(20)
    start.release()
    assert len(errors) == 1


def test_failing_server_names_its_own_reason(stopped: Path) -> None:
    with (major_folder(stopped) / "data" / "postgresql.conf").open("a") as settings:
        settings.write("no_such_setting = 1\n")
    with pytest.raises(DatabaseStartError, match=r"no_such_setting|contains errors"):
        EmbeddedPostgres(stopped).attach()


def test_data_folder_that_is_no_database_is_not_touched(stopped: Path) -> None:
    (major_folder(stopped) / "data" / "PG_VERSION").unlink()
    with pytest.raises(DatabaseFolderError, match="no whole database"):
        EmbeddedPostgres(stopped).attach()
    assert (major_folder(stopped) / "data" / "base").exists()


def test_large_log_is_put_aside_at_start(stopped: Path) -> None:
    (major_folder(stopped) / "server.log").write_text("x" * 1_000_001)
    assert starts_and_stops(stopped)
    assert (major_folder(stopped) / "server.log.1").stat().st_size == 1_000_001
    assert (major_folder(stopped) / "server.log").stat().st_size < 10_000


@as_root
def test_container_that_cannot_see_the_server_attaches_and_leaves_it_alone(stopped: Path, user_of: MakeUser) -> None:
    container = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*container, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this root may not make process namespaces")
    outside = user_of(stopped)
    outside.ask("attach")
    inside = user_of(stopped, before=container)
    assert "host" in inside.ask("attach")
    outside.kill()
    assert inside.ask("leave") == {}
    assert EmbeddedPostgres(stopped).status().running
    assert starts_and_stops(stopped)


@as_root
def test_root_of_a_container_without_ptrace_still_stops_its_server(stopped: Path, user_of: MakeUser) -> None:
    user = user_of(stopped, before=["setpriv", "--bounding-set=-sys_ptrace"])
    assert "host" in user.ask("attach")
    user.ask("leave")
    assert not EmbeddedPostgres(stopped).status().running


@as_root
def test_root_that_may_not_signal_its_server_leaves_it_at_once(stopped: Path, user_of: MakeUser) -> None:
    user = user_of(stopped, before=["setpriv", "--bounding-set=-kill"])
    assert "host" in user.ask("attach")
    assert user.ask("leave") == {}
    assert EmbeddedPostgres(stopped).status().running
