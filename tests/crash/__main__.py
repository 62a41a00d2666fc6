"""`python -m tests.crash --kills 1000 [--seed N] [--seconds N]`: the crash matrix. Exit code 1 = something was lost."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.crash.points import PHASES, POINTS
from tests.crash.run import CrashRun, Figures


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--keep", action="store_true", help="leave the folder with its database and log")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="crash-", dir="/tmp"))
    folder.chmod(0o711)  # Root's database account has to pass it.
    began = time.monotonic()
    with CrashRun(folder, options.seed, lambda line: print(line, flush=True)) as run:
        figures = run.kill(options.kills, options.seconds)
    _print(figures, options.seed, time.monotonic() - began)
    if options.keep:
        print(f"left in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if figures.losses else 0


def _print(figures: Figures, seed: int, seconds: float) -> None:
    starts = sorted(figures.starts)
    every = [f"{phase} {point}" for point in POINTS for phase in PHASES]
    print(f"seed {seed}: {figures.count} kills in {seconds:.0f} s, {len(figures.losses)} losses")
    print(f"  killed: {dict(figures.kills)}")
    print(
        f"  write points reached: {len(figures.reached)} of {len(every)}; not: {sorted(set(every) - figures.reached)}"
    )
    print(f"  conversations {figures.talks}, messages {figures.messages}, API requests {figures.requests}")
    print(f"  turns {dict(figures.turns)}")
    print(f"  tool calls {dict(figures.calls)}")
    print(f"  model calls {dict(figures.model_calls)}")
    print(f"  shown in the last moment and not kept: {figures.lost_characters} characters")
    print(f"  start: median {starts[len(starts) // 2]:.2f} s, longest {starts[-1]:.2f} s")


if __name__ == "__main__":
    sys.exit(main())
