"""Paints the app first and opens the core behind it."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cos.agent import garbage
from cos.agent.tags import merge_tags
from cos.core.paths import Paths
from cos.core.switch import switched
from cos.tui.app import CosApp, OpenCore, Opening
from cos.tui.preferences import Preferences

if TYPE_CHECKING:
    from cos.cli.own_server import ComingUp
    from cos.cli.starting_server import StartingServer
    from cos.tui.core_port import CorePort

_SWITCH_SECONDS = 0.001
"""How long the thread that reads the keys waits for its turn while a stream is worked through; Python's own is 5 ms, of
which one key needs several.
"""


def run_app(options: argparse.Namespace, open_core: OpenCore) -> int:
    """Run the app to its end; the exit code. `options`: session, resume and profile."""

    async def open_for_long(say: Callable[[str], None]) -> CorePort:
        core = await open_core(say)
        sys.setswitchinterval(_SWITCH_SECONDS)
        garbage.collect_by_hand()
        return core

    tags = merge_tags(options.tags)
    app = CosApp(
        Opening(
            open_core=open_for_long,
            session=options.session,
            resume=options.resume,
            profile=options.profile,
            tags=tags,
            command=_command(),
            preferences=Preferences.load(Paths.from_environment(os.environ).data_dir / "tui.json"),
            reduced_motion=bool(switched(os.environ.get("COS_REDUCED_MOTION", ""))),
        )
    )
    app.run()
    if app.not_stored:
        print("\n\n".join(["What you wrote last could not be stored. It was:", *app.not_stored, ""]))
    if app.failure:
        print(f"cos: {app.failure}", file=sys.stderr)
        return 2
    if app.farewell:
        print(app.farewell)
    return 0


def _command() -> str:
    """How this program was started, so that the same may be pasted into a shell."""
    program = sys.argv[0]
    if Path(program).name != "cos":
        return "python -m cos chat"
    on_path = shutil.which("cos")
    is_on_path = on_path is not None and Path(on_path).exists() and Path(on_path).samefile(program)
    return "cos chat" if is_on_path else f"{shlex.quote(program)} chat"


def opener(options: argparse.Namespace, begun: StartingServer | None = None) -> OpenCore:
    """What opens the core of `run_app`. `begun`: the database server, when it comes up already."""

    async def open_core(say: Callable[[str], None]) -> CorePort:
        with garbage.importing():
            own_server: Any = await _imported("cos.cli.own_server")
        async with own_server.coming_up(os.environ, say, begun) as coming:
            return await _open_behind(options, coming, say)

    return open_core


async def _open_behind(options: argparse.Namespace, coming: ComingUp, say: Callable[[str], None]) -> CorePort:
    """Import the core, while the app is already on screen and the database starts and makes its tables."""
    paths = coming.config.paths
    with garbage.importing():
        logs: Any = await _imported("cos.cli.logs")
        logs.log_to(paths.log_file)
        opening: Any = await _imported("cos.cli.opening")
        request = opening.StartRequest(
            env=os.environ, flags=opening.Flags(profile=options.profile), surface="tui", say=say
        )
        store = asyncio.create_task(opening.open_store(coming.config, request, coming.server), name="store")
        try:
            compose: Any = await _imported("cos.cli.compose")
            plugins: Any = await _imported("cos.core.plugins")
            await asyncio.to_thread(plugins.import_shipped, coming.config.settings.plugins)
        except BaseException:
            await opening.abandon(store)
            raise
    core: CorePort = await compose.open_core(request, store)
    return core


async def _imported(name: str) -> Any:
    """A module, imported on a thread."""
    return await asyncio.to_thread(importlib.import_module, name)
