"""Several processes share one embedded server, and nobody is left behind when they end in any way."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from cos.core.embedded import EmbeddedPostgres
from tests.postgres.fix_embedded import DatabaseUser, ask, is_alive, major_folder, wait_until

MakeUser = Callable[..., DatabaseUser]


def running_pid(database: EmbeddedPostgres) -> int:
    pid = database.status().pid
    assert pid is not None
    return pid


def test_first_attach_sets_up_and_says_so_once(state: Path) -> None:
    said: list[str] = []
    database = EmbeddedPostgres(state, say=said.append)
    target = database.attach()
    assert said == ["Setting up the database, once"]
    assert ask(target, "SELECT current_user") == "cos"
    assert database.attach() == target
    database.leave()
    database.leave()
    assert said == ["Setting up the database, once"]
    assert not database.status().running


def test_status_starts_and_creates_nothing(state: Path) -> None:
    assert not EmbeddedPostgres(state).status().running
    assert not state.exists()


def test_status_tells_version_and_users_of_the_running_server(stopped: Path, user_of: MakeUser) -> None:
    database = EmbeddedPostgres(stopped)
    target = database.attach()
    user_of(stopped).ask("attach")
    status = database.status()
    assert (status.running, status.users, str(status.socket_dir)) == (True, 2, target.host)
    assert ask(target, "SHOW server_version").split()[0] == status.version
    database.leave()


def test_second_process_attaches_to_the_same_server(stopped: Path, user_of: MakeUser) -> None:
    database = EmbeddedPostgres(stopped)
    target = database.attach()
    pid = running_pid(database)
    assert user_of(stopped).ask("attach") == {"host": target.host}
    assert running_pid(database) == pid
    database.leave()
    assert running_pid(database) == pid, "another process still uses it"


def test_six_processes_at_once_on_a_fresh_folder_get_one_server(state: Path, user_of: MakeUser) -> None:
    users = [user_of(state) for _ in range(6)]
    for user in users:
        user.begin("attach")
    answers = [user.result() for user in users]
    assert "host" in answers[0]
    assert answers == [answers[0]] * 6
    assert EmbeddedPostgres(state).status().users == 6
    for user in users:
        assert user.ask("leave") == {}
    assert not EmbeddedPostgres(state).status().running


def test_starts_and_stops_that_overlap_never_fail(stopped: Path, user_of: MakeUser) -> None:
    users = [user_of(stopped) for _ in range(3)]
    for command in ("attach", "leave") * 4:
        for user in users:
            user.begin(command)
        for user in users:
            assert "error" not in user.result()
    assert not EmbeddedPostgres(stopped).status().running


def test_server_outlives_a_killed_user_and_stops_with_the_next_last_one(stopped: Path, user_of: MakeUser) -> None:
    user = user_of(stopped)
    user.ask("attach")
    user.kill()
    database = EmbeddedPostgres(stopped)
    pid = running_pid(database)
    database.attach()
    assert running_pid(database) == pid
    database.leave()
    assert not database.status().running
    assert not is_alive(pid)


def test_interpreter_exit_can_leave(stopped: Path, user_of: MakeUser) -> None:
    user = user_of(stopped, environment={"COS_TEST_LEAVE_AT_EXIT": "1"})
    user.ask("attach")
    user.close()
    assert not EmbeddedPostgres(stopped).status().running


def test_attach_after_the_postmaster_was_killed_serves_again(stopped: Path) -> None:
    database = EmbeddedPostgres(stopped)
    target = database.attach()
    ask(target, "CREATE TABLE kept AS SELECT 7 AS value")
    os.kill(running_pid(database), signal.SIGKILL)
    assert ask(database.attach(), "SELECT value FROM kept") == 7
    database.leave()
    assert not database.status().running


def test_killed_server_of_another_process_is_started_again(stopped: Path, user_of: MakeUser) -> None:
    user = user_of(stopped)
    user.ask("attach")
    database = EmbeddedPostgres(stopped)
    target = database.attach()
    os.kill(running_pid(database), signal.SIGKILL)
    assert user.ask("attach") == {"host": target.host}
    assert ask(target, "SELECT 1") == 1
    database.leave()


def test_ctrl_c_does_not_reach_the_server(stopped: Path) -> None:
    database = EmbeddedPostgres(stopped)
    database.attach()
    assert os.getsid(running_pid(database)) != os.getsid(0)
    database.leave()


def test_outdated_server_is_replaced_only_when_nobody_else_uses_it(stopped: Path, user_of: MakeUser) -> None:
    user = user_of(stopped)
    user.ask("attach")
    database = EmbeddedPostgres(stopped)
    before = running_pid(database)
    (major_folder(stopped) / "server.version").write_text("18.0")
    database.attach()
    assert running_pid(database) == before
    user.kill()
    wait_until(lambda: database.status().users == 1)
    database.attach()
    assert running_pid(database) != before
    database.leave()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_process_forked_from_a_user_does_not_stop_the_server(stopped: Path) -> None:
    database = EmbeddedPostgres(stopped)
    target = database.attach()
    if (child := os.fork()) == 0:
        database.leave()
        os._exit(0)
    os.waitpid(child, 0)
    assert ask(target, "SELECT 1") == 1
    database.leave()
