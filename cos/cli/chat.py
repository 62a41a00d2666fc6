"""`cos chat`. On a machine without a database that begins first; only then is the app imported."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import Any

from cos.agent import garbage
from cos.cli.starting_server import server_of_first_start


def run(options: argparse.Namespace) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        print("cos: cos chat needs a terminal; for pipes and scripts use cos ask", file=sys.stderr)
        return 2
    with server_of_first_start(os.environ) as begun:
        with garbage.importing():
            app: Any = importlib.import_module("cos.cli.chat_app")
        code: int = app.run_app(options, app.opener(options, begun))
    return code
