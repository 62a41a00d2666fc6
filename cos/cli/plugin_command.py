"""The commands that plugins bring, such as `cos cost`: the database is opened and only that plugin is loaded."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from typing import Final

from cos.agent.errors import CosError
from cos.agent.hooks import HookBus
from cos.agent.text import visible
from cos.cli.logs import log_to
from cos.cli.opening import StartRequest, close_database, open_database
from cos.core.config import load_config
from cos.core.effective import Flags, effective_profile
from cos.core.first_start import install_shipped
from cos.core.paths import Paths
from cos.core.plugins import load_plugins
from cos.core.postgres.plugin_loans import plugin_host
from cos.core.postgres.schema import apply_core_schema, apply_plugin_schemas
from cos.core.profiles import load_profiles, profile_named

PLUGIN_OF: Final = {"cost": "bill", "memory": "memory"}
"""Command -> the plugin that runs it."""


def run(options: argparse.Namespace) -> int:
    return asyncio.run(_run(options, PLUGIN_OF[options.command]))


async def _run(options: argparse.Namespace, plugin: str) -> int:
    paths = Paths.from_environment(os.environ)
    log_to(paths.log_file)
    await asyncio.to_thread(install_shipped, paths)
    config, profiles = load_config(paths), load_profiles(paths)
    if plugin not in config.settings.plugins:
        raise CosError(
            f"the plugin {plugin} is not enabled: add {plugin!r} to `plugins` in {paths.config_file} and try again"
        )
    if "profile" in options:
        wanted = effective_profile(config, os.environ, Flags(profile=options.profile))
        options.profile = profile_named(profiles, wanted.value, asked_by=wanted.source).id
    request = StartRequest(env=os.environ, flags=Flags(), surface="cli", say=_progress)
    database, embedded = await open_database(config, request)
    try:
        await apply_core_schema(database)
        await apply_plugin_schemas(database, [plugin])
        host = plugin_host(database, config, list(profiles), lambda event: None)
        loaded = await load_plugins([plugin], config.plugin_settings, paths.plugins_dir, HookBus(), host=host)
        try:
            answer = await loaded.registrations[plugin].cli[options.command](options)
        finally:
            await loaded.close()
    finally:
        await close_database(database, embedded)
    print(answer.text)
    return answer.exit_code


def _progress(line: str) -> None:
    print(f"cos: {visible(line)}", file=sys.stderr, flush=True)
