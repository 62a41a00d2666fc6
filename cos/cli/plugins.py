"""`cos plugins`: what is enabled, in order, what each brings, and what could be enabled."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from typing import Any

from cos.agent.hooks import HookBus
from cos.cli.table import table
from cos.core.config import load_config
from cos.core.first_start import install_shipped
from cos.core.paths import Paths
from cos.core.plugin_host import PluginHost
from cos.core.plugins import installed_plugins, load_plugins


def run(options: argparse.Namespace) -> int:
    objects = asyncio.run(_objects())
    if options.json:
        print(json.dumps({"plugins": objects}, ensure_ascii=False))
        return 0
    rows = [
        (
            it["name"],
            "enabled" if it["enabled"] else "not enabled",
            ", ".join(it["tools"]),
            " ".join(f"/{name}" for name in it["commands"]),
            ", ".join(it["hooks"]),
        )
        for it in objects
    ]
    print(table(("PLUGIN", "STATE", "TOOLS", "COMMANDS", "HOOKS"), rows, widest=60))
    return 0


async def _objects() -> list[dict[str, Any]]:
    """Those that are enabled in the order of `plugins`, then the others."""
    paths = Paths.from_environment(os.environ)
    install_shipped(paths)
    config = load_config(paths)
    host = PluginHost(source=config.source)
    loaded = await load_plugins(
        config.settings.plugins, config.plugin_settings, paths.plugins_dir, HookBus(), host=host
    )
    try:
        enabled = [
            {
                "name": name,
                "enabled": True,
                "tools": [tool.name for tool in it.tools],
                "commands": [command.name for command in it.commands],
                "hooks": sorted({hook for hook, _ in it.hooks}),
            }
            for name, it in loaded.registrations.items()
        ]
    finally:
        await loaded.close()
    others = [name for name in installed_plugins(paths.plugins_dir) if name not in loaded.registrations]
    return [*enabled, *({"name": name, "enabled": False, "tools": [], "commands": [], "hooks": []} for name in others)]
