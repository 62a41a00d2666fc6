"""The database for `cos db`: opened as every command does it, or only looked at when it runs anyway."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg.conninfo import make_conninfo

from cos.agent.text import visible
from cos.cli.opening import StartRequest, client_name, close_database, open_database
from cos.cli.own_server import embedded_postgres
from cos.core.effective import Flags, effective_database_url
from cos.core.postgres.database import Database

if TYPE_CHECKING:
    from cos.core.config import Config
    from cos.core.embedded.server import EmbeddedPostgres

SURFACE = "db"


@dataclass(frozen=True, slots=True)
class Opened:
    database: Database
    embedded: EmbeddedPostgres | None
    """None when the server is a given one."""


@asynccontextmanager
async def opened(config: Config) -> AsyncIterator[Opened]:
    """The database, whose server is started if need be."""
    request = StartRequest(env=os.environ, flags=Flags(), surface=SURFACE, say=progress)
    database, embedded = await open_database(config, request)
    try:
        yield Opened(database, embedded)
    finally:
        await close_database(database, embedded)


@asynccontextmanager
async def looked_at(config: Config) -> AsyncIterator[Database | None]:
    """The database as it is; None when it is cos' own and does not run.

    Raises:
        DatabaseError: it does not answer.
    """
    if effective_database_url(config, os.environ).value is not None:
        async with opened(config) as given:
            yield given.database
        return
    embedded = embedded_postgres(config)
    if not embedded.status().running:
        yield None
        return
    conninfo = make_conninfo(**embedded.target().conninfo_parameters())
    database = await Database(conninfo, name=client_name(SURFACE)).open()
    try:
        yield database
    finally:
        await database.close()


def progress(line: str) -> None:
    print(f"cos: {visible(line)}", file=sys.stderr, flush=True)
