"""How a client reaches the embedded server: a Unix socket in a private folder, and settings that PG* cannot change."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

PORT = 5432
"""Only names the socket file: the server listens on no network address."""
USER = "cos"
DATABASE = "cos"
STAND_IN_PARENT = Path("/tmp")
STAND_IN_PREFIX = "cos-pg-"
LONGEST_SOCKET_PATH = 103 if sys.platform == "darwin" else 107


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionTarget:
    """Where to connect. Who connects first names the database `dbname`; `template1` is there from the start."""

    host: str
    """The folder of the socket."""
    port: int = PORT
    user: str = USER
    dbname: str = DATABASE

    def conninfo_parameters(self, dbname: str | None = None) -> dict[str, str]:
        """Keywords for `psycopg.conninfo.make_conninfo`, with those set that PG* variables could turn against us.

        `PGSERVICE`, `PGDATESTYLE` and a few more have no keyword: the entry point takes PG* out of `os.environ`.
        """
        return {
            "host": self.host,
            "port": str(self.port),
            "user": self.user,
            "dbname": dbname or self.dbname,
            "hostaddr": "",
            "options": "-c client_encoding=UTF8",
            "client_encoding": "UTF8",
            "sslmode": "disable",
            "gssencmode": "disable",
            "channel_binding": "disable",
            "target_session_attrs": "any",
            "require_auth": "",
            "requirepeer": "",
            "application_name": "cos",
        }


def socket_file(folder: Path, port: int = PORT) -> Path:
    return folder / f".s.PGSQL.{port}"


def socket_folder(preferred: Path, state: Path, uid: int) -> Path:
    """`preferred` if a socket path may be that long and clients can name it, else a folder in /tmp for this state."""
    path = os.fsencode(socket_file(preferred))
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        nameable = False
    else:
        nameable = not any(mark in path for mark in (b",", b'"', b"@"))
    if nameable and len(path) <= LONGEST_SOCKET_PATH:
        return preferred
    return STAND_IN_PARENT / f"{STAND_IN_PREFIX}{uid}-{short_hash(state)}"


def is_stand_in(folder: Path) -> bool:
    """Whether `folder` is one that `socket_folder` gives instead of the preferred one."""
    return folder.parent == STAND_IN_PARENT and folder.name.startswith(STAND_IN_PREFIX)


def short_hash(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


def accepts_connections(folder: Path, port: int = PORT) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(2)
        try:
            client.connect(os.fsencode(socket_file(folder, port)))
        except OSError:
            return False
    return True
