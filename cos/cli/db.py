"""`cos db`: the database as a user sees it: its address, its server, its own programs, its backups, its soundness."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from cos.agent.errors import CosError
from cos.cli.db_backup import backup, bring_back
from cos.cli.db_check import check
from cos.cli.db_opening import looked_at, opened, progress
from cos.cli.db_status import status
from cos.cli.logs import log_to
from cos.cli.own_server import embedded_postgres
from cos.core.config import load_config
from cos.core.effective import effective_database_url
from cos.core.embedded.errors import DatabaseInUseError
from cos.core.first_start import install_shipped
from cos.core.masking import masked_url
from cos.core.paths import Paths
from cos.core.postgres.backup import server_of
from cos.core.postgres.programs import find_programs, service_environment
from cos.core.postgres.server_state import Client, clients, named

if TYPE_CHECKING:
    from cos.core.config import Config

DONE, NOT_DONE = 0, 1


def run(options: argparse.Namespace) -> int:
    paths = Paths.from_environment(os.environ)
    log_to(paths.log_file)
    install_shipped(paths)
    return asyncio.run(_run(load_config(paths), options))


async def _run(config: Config, options: argparse.Namespace) -> int:
    match options.action:
        case "url":
            return _url(config, show_password=options.show_password)
        case "status":
            return await status(config, as_json=options.json)
        case "start":
            return await _start(config)
        case "stop":
            return await _stop(config, force=options.force)
        case "psql":
            return await _psql(config, options.arguments)
        case "backup":
            return await backup(config, options)
        case "restore":
            return await bring_back(config, options)
        case _:
            return await check(config, options)


def _url(config: Config, *, show_password: bool) -> int:
    given = effective_database_url(config, os.environ).value
    if given is not None:
        print(given if show_password else masked_url(given))
        return DONE
    embedded = embedded_postgres(config)
    target = embedded.target()
    print(f"postgresql://{target.user}@/{target.dbname}?host={quote(target.host, safe='')}&port={target.port}")
    if not embedded.status().running:
        progress("it is not running now; `cos db start` starts it and keeps it running")
    return DONE


async def _start(config: Config) -> int:
    _refuse_given(config)
    async with opened(config) as found:
        assert found.embedded is not None
        found.embedded.keep_running()
    progress("the database runs, and keeps running until `cos db stop`")
    return DONE


async def _stop(config: Config, *, force: bool) -> int:
    _refuse_given(config)
    try:
        was_running = await asyncio.to_thread(embedded_postgres(config, progress).shut_down, force=force)
    except DatabaseInUseError:
        users = named(await _users(config)) or "another cos that is just starting"
        progress(f"it is in use by {users}. Close that, or stop the database under it with --force")
        return NOT_DONE
    again = "; a cos that still runs starts it again when it needs it" if force else ""
    progress(f"the database is stopped{again}" if was_running else "it was not running")
    return DONE


async def _users(config: Config) -> tuple[Client, ...]:
    async with looked_at(config) as database:
        return () if database is None else await clients(database)


def _refuse_given(config: Config) -> None:
    url = effective_database_url(config, os.environ)
    if url.value is not None:
        raise CosError(
            f"the database is {masked_url(url.value)} ({url.source}): cos starts and stops only its own, which is "
            "used when no address is set"
        )


async def _psql(config: Config, arguments: list[str]) -> int:
    async with opened(config) as found:
        server = await server_of(found.database)
        programs = await asyncio.to_thread(find_programs, ("psql",), server, config.settings.database.bin_dir)
        with service_environment(found.database.conninfo, server, interactive=True) as environment:
            # Ctrl+C is for psql, which cancels a statement.
            before = signal.signal(signal.SIGINT, lambda number, frame: None)
            try:
                return await asyncio.to_thread(_in_the_terminal, [programs.path("psql"), *arguments], environment)
            finally:
                signal.signal(signal.SIGINT, before)


def _in_the_terminal(command: list[Path | str], environment: dict[str, str]) -> int:
    return subprocess.run(command, env=environment, check=False).returncode
