"""The entry point: parses, imports the one command that is wanted, and turns every failure into a sentence."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from cos.agent import garbage
from cos.cli.arguments import COMMANDS, build_parser

USAGE_ERROR = 2
CANCELLED = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the return value is the exit code."""
    options = build_parser().parse_args(arguments)
    _forget_postgres_variables()
    with garbage.importing():
        command: Any = importlib.import_module(COMMANDS[options.command])
        errors: Any = importlib.import_module("cos.agent.errors")
    try:
        code: int = command.run(options)
    except errors.CosError as error:
        print(f"cos: {error}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:
        # Whoever read our output has gone; nothing may be flushed to it any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return CANCELLED
    return code


def _forget_postgres_variables() -> None:
    """libpq reads PG* variables behind our back; the address of the database comes from cos' own settings only."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        del os.environ[name]


if __name__ == "__main__":
    sys.exit(main())
