"""`cos doctor`: checks everything that cos needs and says what to do."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from cos.agent.text import visible
from cos.cli.checks import Examination

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.cli.checks import Check


def run(options: argparse.Namespace) -> int:
    """Exit code 0 when no check failed, else 1."""
    found = asyncio.run(Examination(env=os.environ, say=_progress).run())
    failed = sum(check.state == "failed" for check in found)
    if options.json:
        print(json.dumps({"checks": [asdict(check) for check in found], "failed": failed}, ensure_ascii=False))
    else:
        print("\n".join(_lines(found)))
        print("\nNothing failed." if not failed else f"\nFailed: {failed} of {len(found)}.")
    return 1 if failed else 0


def _progress(line: str) -> None:
    print(f"cos: {visible(line)}", file=sys.stderr, flush=True)


def _lines(found: Sequence[Check]) -> list[str]:
    """State and name in columns, so that the list reads well without colour."""
    width = max(len(check.name) for check in found)
    lines = []
    for check in found:
        lines.append(f"{check.state:<8} {_one_line(check.name):<{width}}  {_one_line(check.sentence)}")
        if check.advice:
            lines.append(f"{'':<8} {'':<{width}}  -> {_one_line(check.advice)}")
    return lines


def _one_line(text: str) -> str:
    return visible(text).replace("\n", " ")
