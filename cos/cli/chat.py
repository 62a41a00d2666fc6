"""`cos chat`: paints the app first and starts the core behind it."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cos.agent import garbage
from cos.agent.tags import merge_tags
from cos.core.paths import Paths
from cos.core.switch import switched
from cos.tui.app import CosApp, OpenCore, Opening
from cos.tui.preferences import Preferences

if TYPE_CHECKING:
    from cos.tui.core_port import CorePort

_SWITCH_SECONDS = 0.001
"""How long the thread that reads the keys waits for its turn while a stream is worked through; Python's own is 5 ms, of
which one key needs several.
"""


def run(options: argparse.Namespace) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        print("cos: cos chat needs a terminal; for pipes and scripts use cos ask", file=sys.stderr)
        return 2
    return run_app(options, _opener(options))


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


def _opener(options: argparse.Namespace) -> OpenCore:
    async def open_core(say: Callable[[str], None]) -> CorePort:
        own_server: Any = await asyncio.to_thread(importlib.import_module, "cos.cli.own_server")
        async with own_server.coming_up(os.environ, say) as coming:
            parts = await asyncio.to_thread(_imported, coming.config.settings.plugins)
            paths = parts["paths"].Paths.from_environment(os.environ)
            parts["logs"].log_to(paths.log_file)
            flags = parts["effective"].Flags(profile=options.profile)
            request = parts["opening"].StartRequest(env=os.environ, flags=flags, surface="tui", say=say)
            await coming.server
            core: CorePort = await parts["compose"].open_core(request)
        return core

    return open_core


def _imported(plugins: Sequence[str]) -> dict[str, Any]:
    """What the core is built from; imported on a thread, while the app is already on screen and the server starts."""
    names = {
        "compose": "cos.cli.compose",
        "opening": "cos.cli.opening",
        "effective": "cos.core.effective",
        "logs": "cos.cli.logs",
        "paths": "cos.core.paths",
    }
    parts = {key: importlib.import_module(name) for key, name in names.items()}
    importlib.import_module("cos.core.plugins").import_shipped(plugins)
    return parts
