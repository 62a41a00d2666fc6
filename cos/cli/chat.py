"""`cos chat`. On a machine without a database that begins first; only then is the app imported."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from cos.agent import garbage
from cos.core.paths import Paths

if TYPE_CHECKING:
    from cos.cli.starting_server import StartingServer


def run(options: argparse.Namespace) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        print("cos: cos chat needs a terminal; for pipes and scripts use cos ask", file=sys.stderr)
        return 2
    with server_of_first_start(os.environ) as begun:
        with garbage.importing():
            app: Any = importlib.import_module("cos.cli.chat_app")
        code: int = app.run_app(options, app.opener(options, begun))
    return code


def server_of_first_start(env: Mapping[str, str]) -> AbstractContextManager[StartingServer | None]:
    """The user's own server, where no setting can say otherwise: there is no commonos.toml yet. Elsewhere None.

    Raises:
        FolderError: there is no place for cos on this machine.
    """
    if os.path.lexists(Paths.from_environment(env).config_file) or env.get("COS_DATABASE_URL", "").strip():
        return nullcontext()
    starting: Any = importlib.import_module("cos.cli.starting_server")
    server: AbstractContextManager[StartingServer] = starting.server_of_first_start(env)
    return server
