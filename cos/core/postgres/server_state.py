"""How the database is and who uses it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.core.postgres.database import Database


_COS = re.compile(r"cos \S{36} (?P<surface>\S+) (?P<pid>\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One program that is connected."""

    name: str
    """What it calls itself; of cos: `cos`, the boot id, the surface, the process id."""
    address: str | None
    """None for a connection through a socket of this machine."""
    connections: int
    since: datetime

    @property
    def words(self) -> str:
        name = self.name or "a program without a name"
        if process := _COS.fullmatch(name):
            name = f"cos ({process['surface']}, process {process['pid']})"
        return f"{name} at {self.address}" if self.address else name


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """A running server, seen from one database."""

    version: str
    name: str
    size_bytes: int
    clients: tuple[Client, ...]


async def clients(database: Database) -> tuple[Client, ...]:
    """Who else is connected to the database, longest first."""
    rows = await database.fetch(core_statements("server")["clients"])
    return tuple(Client(**row) for row in rows)


async def server_state(database: Database) -> ServerState:
    """
    Raises:
        DatabaseError: it does not answer.
    """
    (row,) = await database.fetch(core_statements("server")["state"])
    return ServerState(**row, clients=await clients(database))


def named(found: Sequence[Client]) -> str:
    """Empty when there is nobody."""
    return ", ".join(client.words for client in found)
