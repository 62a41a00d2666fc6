"""What a surface asks for at the start, and the database that everything is stored in."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

from cos.agent.retry import RetryPolicy
from cos.cli.own_server import embedded_postgres
from cos.cli.providers import build_provider
from cos.cli.starting_server import StartingServer
from cos.core.config import Config
from cos.core.effective import Flags, effective_database_url
from cos.core.embedded.server import EmbeddedPostgres
from cos.core.errors import DatabaseError
from cos.core.postgres.database import Database
from cos.core.postgres.schema import add_profiles, apply_core_schema, apply_plugin_schemas, name_own_database
from cos.core.profiles import Profile, load_profiles

if TYPE_CHECKING:
    from cos.agent.provider import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """What a surface wants of the core."""

    env: Mapping[str, str]
    flags: Flags
    surface: str
    """Who answers approvals, such as `tui`."""
    say: Callable[[str], None]
    """Receives progress lines, from any thread."""
    provider_for: Callable[[Profile, Mapping[str, str]], Provider] = build_provider
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True, slots=True)
class Store:
    """An open database with all its tables. `close_database` takes the two."""

    database: Database
    embedded: EmbeddedPostgres | None
    """None when a given server is used."""


async def open_store(config: Config, request: StartRequest, starting: StartingServer | None = None) -> Store:
    """As `open_database`; then the tables of the core and of the plugins, and a row for each of the profiles.

    Raises:
        CosError: a profile is wrong, or the database cannot be used.
    """
    profiles = load_profiles(config.paths)
    database, embedded = await open_database(config, request, starting)
    try:
        await apply_core_schema(database)
        await add_profiles(database, list(profiles))
        await apply_plugin_schemas(database, config.settings.plugins)
    except BaseException:
        await close_database(database, embedded)
        raise
    return Store(database, embedded)


async def abandon(opening: asyncio.Task[Store]) -> None:
    """Close what `open_store` opened or is opening, when nobody is there to use it."""
    opening.cancel()
    await asyncio.wait([opening])
    if not opening.cancelled() and opening.exception() is None:
        store = opening.result()
        await close_database(store.database, store.embedded)


async def open_database(
    config: Config, request: StartRequest, starting: StartingServer | None = None
) -> tuple[Database, EmbeddedPostgres | None]:
    """Connect to the given server, or to the user's own, which is `starting` or is started; hand both to
    `close_database` in the end.

    Raises:
        DatabaseError: it cannot be used.
    """
    url = effective_database_url(config, request.env)
    if url.value is not None:
        try:
            conninfo = make_conninfo(url.value)
        except psycopg.ProgrammingError as error:
            # What libpq quotes may be the password.
            reason = _reason(error).partition(":")[0]
            raise DatabaseError(f"the address of the database ({url.source}) is wrong: {reason}") from error
        return await Database(conninfo, name=client_name(request.surface)).open(), None
    embedded = starting.embedded if starting else embedded_postgres(config, request.say)
    try:
        target = await (asyncio.wrap_future(starting.attached) if starting else asyncio.to_thread(embedded.attach))
        try:
            await name_own_database(make_conninfo(**target.conninfo_parameters("template1")), target.dbname)
        except psycopg.Error as error:
            raise DatabaseError(f"the database in {target.host} refused: {_reason(error)}. Try again") from error
        conninfo = make_conninfo(**target.conninfo_parameters())
        name = client_name(request.surface)
        return await Database(conninfo, name=name, reattach=embedded.attach).open(), embedded
    except BaseException:
        await asyncio.to_thread(starting.leave if starting else embedded.leave)
        raise


def client_name(surface: str) -> str:
    """What this process is called in the server's list of clients: `Client.words` reads it."""
    return f"{surface} {os.getpid()}"


async def close_database(database: Database, embedded: EmbeddedPostgres | None) -> None:
    await database.close()
    if embedded is not None:
        await asyncio.to_thread(partial(embedded.leave, hurried=database.is_cut))


def _reason(error: psycopg.Error) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
