"""What is wrong with a database, from what it says and how it is set, and how to repair it."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from typing import Final

from cos.core.postgres.database import Database
from cos.core.postgres.statements import core_statements

CONNECTIONS: Final = 10
"""So many a process takes at most: its pool, its lock and its listener."""
SHORTEST_STATEMENT_SECONDS: Final = 10.0
SLOW_SECONDS: Final = 1.0
_REPAIRS: Final = (
    (
        r"password|authentication|role \S+ does not exist|pg_hba",
        "Put the right user and password into the address of the database; its server decides who may come in "
        "(pg_hba.conf).",
    ),
    (
        r"database \S+ does not exist",
        "Create the database on the server (createdb NAME), or put the right name into its address.",
    ),
    (
        r"too many (?:clients|connections)|remaining connection slots",
        f"End programs that hold connections, or allow more (max_connections, ALTER ROLE ... CONNECTION LIMIT); "
        f"each cos takes up to {CONNECTIONS}.",
    ),
    (
        r"read-only",
        "Name the primary server in the address, or let the account write again "
        "(ALTER DATABASE ... RESET default_transaction_read_only).",
    ),
    (
        r"disk .*full|No space left",
        "Make room on the disk that the database lies on; cos goes on by itself then.",
    ),
    (
        r"statement timeout",
        "Allow the account of cos more time: ALTER ROLE ... SET statement_timeout = '60s'.",
    ),
    (
        r"permission denied",
        "Let the account of cos make tables: GRANT CREATE ON SCHEMA public TO ..., best as owner of a database of its "
        "own.",
    ),
    (
        r"starting up|shutting down|recovery",
        "Wait a moment and try again.",
    ),
    (
        r"refused|No such file|resolve|translate host|timed? ?out|TimeoutError|unreachable|No route|connection failed",
        "Start the server, or put the right host and port into the address of the database.",
    ),
)  # fmt: skip


def repair(sentence: str) -> str:
    """What to do about an error of the database; empty when its sentence is all there is to say."""
    return next((advice for said, advice in _REPAIRS if re.search(said, sentence)), "")


async def weaknesses(database: Database) -> AsyncIterator[tuple[str, str]]:
    """What will go wrong with a database that answers, each with its repair.

    Raises:
        DatabaseError: nothing can be stored.
    """
    began = time.monotonic()
    await database.refuse_full_disk()
    (row,) = await database.fetch(core_statements("server")["limits"])
    took = time.monotonic() - began
    if took > SLOW_SECONDS:
        yield (
            f"it is slow: two short statements took {took:.1f} s",
            "Look at the load of its server and at the network between; cos stores while it streams.",
        )
    allowed = row["statement_timeout_ms"] / 1000
    if 0 < allowed < SHORTEST_STATEMENT_SECONDS:
        yield f"it ends every statement after {allowed:g} s (statement_timeout)", repair("statement timeout")
    if row["free_connections"] < CONNECTIONS:
        yield f"it has room for {max(0, row['free_connections'])} more connections", repair("too many connections")
