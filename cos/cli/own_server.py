"""The user's own database server, known without anything else of the core: it comes up while the rest is imported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from cos.cli.starting_server import StartingServer
from cos.core.config import Config, load_config
from cos.core.effective import effective_database_url, effective_state_dir
from cos.core.embedded.server import EmbeddedPostgres
from cos.core.first_start import install_shipped
from cos.core.paths import Paths


def embedded_postgres(config: Config, say: Callable[[str], None] = lambda line: None) -> EmbeddedPostgres:
    """The user's own server, as configured; nothing is started."""
    settings = config.settings.database
    folder = effective_state_dir(config).value
    return EmbeddedPostgres(folder, bin_dir=settings.bin_dir, run_as=settings.run_as, say=say)


@dataclass(frozen=True, slots=True)
class ComingUp:
    """What can be done while the server starts."""

    config: Config
    server: StartingServer | None
    """None when another database is configured."""


@asynccontextmanager
async def coming_up(
    env: Mapping[str, str], say: Callable[[str], None], begun: StartingServer | None
) -> AsyncIterator[ComingUp]:
    """Start the user's own server, unless it has `begun` or another database is configured.

    When the block fails, it is left; else it is for whoever opened the database.

    Raises:
        ConfigError, FolderError: commonos.toml or a folder is wrong.
    """
    config = await asyncio.to_thread(_config, Paths.from_environment(env))
    server = begun
    if server is None and effective_database_url(config, env).value is None:
        settings = config.settings.database
        folder = effective_state_dir(config).value
        server = StartingServer(folder, bin_dir=settings.bin_dir, run_as=settings.run_as)
    if server is not None:
        server.tell(say)
    try:
        yield ComingUp(config, server)
    except BaseException:
        if server is not None:
            await asyncio.to_thread(server.leave)
        raise


def _config(paths: Paths) -> Config:
    install_shipped(paths)
    return load_config(paths)
