"""A database that goes away for real, while the server of the tests stays: its connections are cut and refused."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tests.fix_database import shared_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg


def cut_connections(admin: psycopg.Connection, database: str) -> None:
    """Back once they are gone: a statement must not meet one that is about to go."""
    admin.execute("SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE datname = %s", [database])


class Outage:
    """Of one database."""

    def __init__(self, admin: psycopg.Connection, conninfo: str) -> None:
        self._admin = admin
        self._name = str(conninfo_to_dict(conninfo)["dbname"])

    def begin(self) -> None:
        self._allow(False)
        cut_connections(self._admin, self._name)

    def end(self) -> None:
        self._allow(True)

    def _allow(self, allowed: bool) -> None:
        name, value = sql.Identifier(self._name), sql.Literal(allowed)
        self._admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format(name, value))


@pytest.fixture
def outage(database_url: str, postgres_admin: psycopg.Connection) -> Iterator[Outage]:
    """Of the database of `core_home`; over when the test is."""
    made = Outage(postgres_admin, database_url)
    yield made
    made.end()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system with room for a database and not much else."""
    folder = shared_folder()
    mount = ["mount", "-t", "tmpfs", "-o", "size=120m,mode=711", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root, and not in every container, can mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)
    shutil.rmtree(folder, ignore_errors=True)


def filled(ballast: Path) -> Path:
    """A file that takes all the room there is."""
    file = os.open(ballast, os.O_CREAT | os.O_WRONLY)
    with pytest.raises(OSError, match="No space left"):
        while True:
            os.write(file, b"0" * 65536)
    os.close(file)
    return ballast
