"""`cos doctor` in front of a database with each of its faults: named, with its repair, and the rest is checked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from cos.cli import database_faults
from cos.cli.database_faults import weaknesses
from cos.core.embedded import EmbeddedPostgres
from tests.outage import filled, small_disk
from tests.program.test_doctor import _checks

if TYPE_CHECKING:
    from pathlib import Path

    from cos.core.postgres.database import Database
    from tests.program.fix_program import Program

__all__ = ["small_disk"]


@contextmanager
def refusing(code: str, message: str) -> Iterator[str]:
    """The address of a server that answers every connection with this error, as PostgreSQL does."""
    fields = f"SFATAL\0VFATAL\0C{code}\0M{message}\0\0".encode()
    answer = b"E" + (len(fields) + 4).to_bytes(4, "big") + fields

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            with client:
                while int.from_bytes(client.recv(8, socket.MSG_PEEK)[:4], "big") == 8:
                    client.recv(8)
                    client.sendall(b"N")  # no encryption
                client.recv(4096)
                client.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"postgresql://me:hunter22@127.0.0.1:{listening.getsockname()[1]}/x"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(10)


@pytest.mark.parametrize(
    ("code", "message", "advice"),
    [
        ("28P01", 'password authentication failed for user "me"', "right user and password"),
        ("28000", 'no pg_hba.conf entry for host "127.0.0.1", user "me"', "pg_hba.conf"),
        ("3D000", 'database "x" does not exist', "createdb"),
        ("53300", "sorry, too many clients already", "max_connections"),
        ("53300", "remaining connection slots are reserved for roles with the SUPERUSER attribute", "max_connections"),
        ("57P03", "the database system is starting up", "Wait a moment"),
    ],
)
def test_a_refusal_of_the_server_is_shown_with_its_repair(
    program: Program, code: str, message: str, advice: str
) -> None:
    with refusing(code, message) as program.database_url:
        exit_code, checks, everything = _checks(program)
    assert exit_code == 1
    assert message in checks["database"]["sentence"]
    assert advice in checks["database"]["advice"]
    assert checks["terminal"]["state"] == "ok", "the rest is checked"
    assert "hunter22" not in everything and "Traceback" not in everything


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost:1", "nowhere.invalid:5432"])
def test_a_server_that_is_not_there(program: Program, host: str) -> None:
    program.database_url = f"postgresql://me:hunter22@{host}/x"
    code, checks, everything = _checks(program)
    assert code == 1
    assert "Start the server" in checks["database"]["advice"]
    assert "hunter22" not in everything
    assert "cannot connect to the database" in checks["database"]["sentence"]


@pytest.mark.parametrize(
    ("setting", "value", "says", "advice"),
    [
        ("statement_timeout", "300ms", "after 0.3 s (statement_timeout)", "ALTER ROLE"),
        ("default_transaction_read_only", "on", "read-only", "default_transaction_read_only"),
    ],
)
def test_a_setting_that_will_do_harm_is_named(
    program: Program, postgres_admin: psycopg.Connection, setting: str, value: str, says: str, advice: str
) -> None:
    assert _checks(program)[1]["database"]["state"] == "ok"
    name = sql.Identifier(str(conninfo_to_dict(program.database_url or "")["dbname"]))
    change = sql.SQL("ALTER DATABASE {} SET {} = {}")
    postgres_admin.execute(change.format(name, sql.Identifier(setting), sql.Literal(value)))
    found = [check for check in _found(program) if check["name"] == "database"]
    assert found[0]["state"] in {"warning", "failed"}
    assert says in found[0]["sentence"] and advice in found[0]["advice"]


def test_few_free_connections_are_named_before_there_are_none(
    program: Program, postgres_admin: psycopg.Connection
) -> None:
    name = sql.Identifier(str(conninfo_to_dict(program.database_url or "")["dbname"]))
    postgres_admin.execute(sql.SQL("ALTER DATABASE {} CONNECTION LIMIT 5").format(name))
    found = [check for check in _found(program) if check["name"] == "database"]
    assert [check["state"] for check in found] == ["warning", "ok"]
    assert "room for 3 more connections" in found[0]["sentence"] and "max_connections" in found[0]["advice"]


async def test_a_slow_database_is_named(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [found async for found in weaknesses(database)] == []
    monkeypatch.setattr(database_faults, "SLOW_SECONDS", 0.0)
    ((sentence, advice),) = [found async for found in weaknesses(database)]
    assert "it is slow" in sentence and advice


def test_a_full_disk_is_named_whether_the_server_runs_or_not(program: Program, small_disk: Path) -> None:
    program.database_url = None
    program.setting(f'[database]\ndata_dir = "{small_disk / "pg"}"\n')
    server = EmbeddedPostgres(small_disk / "pg")
    server.attach()
    try:
        assert _checks(program)[1]["database"]["state"] == "ok"
        ballast = filled(small_disk / "ballast")
        code, checks, _ = _checks(program)
        assert code == 1
        assert "the disk of the database is full" in checks["database"]["sentence"]
        assert "Make room on the disk" in checks["database"]["advice"]
    finally:
        server.leave()
    more = filled(small_disk / "more")
    assert "Free at least 100 MB" in _checks(program)[1]["database"]["sentence"]
    ballast.unlink()
    more.unlink()
    assert _checks(program)[1]["database"]["state"] == "ok"


def _found(program: Program) -> list[dict[str, str]]:
    checks: list[dict[str, str]] = json.loads(program.run("doctor", "--json").stdout)["checks"]
    return checks
