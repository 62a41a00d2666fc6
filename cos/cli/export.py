"""`cos export`: a session as Markdown or JSON, to standard output or into a file."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from cos.agent.text import visible
from cos.cli.opening import StartRequest, close_database, open_database
from cos.core.config import load_config
from cos.core.effective import Flags
from cos.core.export import export_session
from cos.core.export_file import export_to_file
from cos.core.paths import Paths
from cos.core.postgres.database import Database
from cos.core.postgres.exports import Exports
from cos.core.postgres.schema import apply_core_schema
from cos.core.postgres.sessions import Sessions
from cos.core.whole_file import FileIsThereError


def run(options: argparse.Namespace) -> int:
    target = Path.cwd() / options.output if options.output is not None else None
    asyncio.run(_run(options, target))
    return 0


async def _run(options: argparse.Namespace, target: Path | None) -> None:
    config = load_config(Paths.from_environment(os.environ))
    request = StartRequest(env=os.environ, flags=Flags(), surface="cli", say=_progress)
    database, embedded = await open_database(config, request)
    try:
        await apply_core_schema(database)
        await _export(database, options, target)
    finally:
        await close_database(database, embedded)


async def _export(database: Database, options: argparse.Namespace, target: Path | None) -> None:
    session_id, exports = await Sessions(database).find(options.id), Exports(database)
    if target is None:
        await export_session(exports, session_id, options.format, _print, thinking=options.thinking)
        sys.stdout.flush()
        return
    try:
        count = await export_to_file(
            exports, session_id, options.format, target, thinking=options.thinking, force=options.force
        )
    except FileIsThereError as error:
        raise FileIsThereError(f"{error}, or --force to replace it") from None
    _progress(f"{count} message{'' if count == 1 else 's'} of session {session_id} written to {target}")


def _print(text: str) -> None:
    """UTF-8 whatever the terminal's encoding: it is a document."""
    sys.stdout.buffer.write(text.encode())


def _progress(line: str) -> None:
    print(f"cos: {visible(line)}", file=sys.stderr, flush=True)
