"""What `search_files` costs on a tree of 100,000 files, and what the rest of the program notices of it.

Run it on a quiet machine: `python -m tests.bench.bench_search`.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.ripgrep import Ripgrep
from cos.plugins.workspace.search_files import FileSearcher
from tests.tool_context import RecordingContext, new_turn

FOLDERS, FILES_IN_EACH = 1_000, 100
TEXT = "import os\n" + "def shift(x):\n    return x + 1  # one more\n" * 20
CALLS: tuple[dict[str, Any], ...] = (
    {"pattern": "needle_77777$"},
    {"pattern": "needle_77777$", "file_glob": "*.py"},
    {"pattern": "needle_77777$", "file_glob": "*.md"},
    {"pattern": "return", "limit": 50},
    {"pattern": "needle_", "output_mode": "count"},
    {"pattern": "needle_", "output_mode": "files_only", "offset": 90_000},
    {"pattern": "m7.py", "target": "files"},
    {"pattern": "*", "target": "files", "limit": 1000},
)


def plant(root: Path) -> None:
    for folder in range(FOLDERS):
        path = root / f"part{folder // 100}" / f"folder{folder}"
        path.mkdir(parents=True)
        for number in range(FILES_IN_EACH):
            (path / f"m{number}.py").write_text(f"{TEXT}needle_{folder * FILES_IN_EACH + number}\n")


async def measure(root: Path, args: dict[str, Any]) -> None:
    searcher = FileSearcher(SessionFolders(), Ripgrep())
    lags: list[float] = []
    watcher = asyncio.create_task(watch(lags))
    started = time.perf_counter()
    outcome = await searcher.run(args, new_turn(), RecordingContext(root))
    spent = time.perf_counter() - started
    watcher.cancel()
    data = json.loads(outcome.content)
    bound = "at least " if data.get("total_count_is_lower_bound") else ""
    print(
        f"{json.dumps(args)}: {spent:.2f} s, {bound}{data['total_count']:,} found, "
        f"{len(outcome.content):,} characters, event loop late by at most {max(lags, default=0) * 1000:.0f} ms"
    )


async def watch(lags: list[float]) -> None:
    while True:
        started = time.perf_counter()
        await asyncio.sleep(0.005)
        lags.append(time.perf_counter() - started - 0.005)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        started = time.perf_counter()
        plant(root)
        print(f"planted {FOLDERS * FILES_IN_EACH:,} files in {time.perf_counter() - started:.1f} s")
        for args in CALLS:
            asyncio.run(measure(root, args))


if __name__ == "__main__":
    main()
