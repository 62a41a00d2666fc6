"""The crash matrix in short; `python -m tests.crash` is the long one."""

from __future__ import annotations

import shutil

from tests.crash.run import CrashRun
from tests.fix_database import shared_folder


def test_nothing_is_lost_when_cos_or_its_database_is_killed() -> None:
    """H-001, H-072, H-079: nothing shown is gone, nothing runs twice, no turn, request or process is left behind."""
    folder = shared_folder()
    with CrashRun(folder, seed=7) as run:
        figures = run.kill(25, seconds=45)
    shutil.rmtree(folder, ignore_errors=True)
    assert figures.losses == []
    assert figures.kills["cos"] and figures.talks
