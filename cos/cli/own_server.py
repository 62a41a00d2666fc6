"""The user's own database server, known without anything else of the core: it comes up while the rest is imported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from cos.core.config import Config, load_config
from cos.core.effective import effective_database_url, effective_state_dir
from cos.core.embedded.connection import ConnectionTarget
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
    server: asyncio.Future[ConnectionTarget | None]
    """Where it runs, as soon as it does; None when another database is configured. Raises DatabaseError."""


@asynccontextmanager
async def coming_up(env: Mapping[str, str], say: Callable[[str], None]) -> AsyncIterator[ComingUp]:
    """Start the user's own server, unless another database is configured; it runs on at least until the block ends.

    Raises:
        ConfigError, FolderError: commonos.toml or a folder is wrong.
    """
    config = await asyncio.to_thread(_config, Paths.from_environment(env))
    is_own = effective_database_url(config, env).value is None
    server = embedded_postgres(config, say) if is_own else None
    starting = asyncio.ensure_future(asyncio.to_thread(server.attach if server else lambda: None))
    try:
        yield ComingUp(config, starting)
    finally:
        if server is not None:
            await asyncio.to_thread(server.leave)
        await asyncio.wait([starting])


def _config(paths: Paths) -> Config:
    install_shipped(paths)
    return load_config(paths)
