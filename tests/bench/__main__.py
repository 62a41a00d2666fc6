"""`python -m tests.bench [NAME ...] [--quick] [--json FILE] [--plot FILE]`: what cos costs, beside what it could cost.

Every value is measured in turns with its baseline, as absolute times do not hold on shared machines. Exit code 1 when
a target is missed. Without names everything is measured, which takes about 20 minutes; --quick tries the same things
with little data, which proves that the suite works and says little about cos.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.bench import (
    bench_cost,
    bench_growth,
    bench_rest,
    bench_serve,
    bench_session_search,
    bench_sessions,
    bench_start,
    bench_stream,
    bench_wire,
)
from tests.bench.rows import Row
from tests.bench.stage import PLOT, Run
from tests.bench.table import as_json, table

MEASUREMENTS: dict[str, Callable[[Run], Iterable[Row]]] = {
    "words": bench_start.measure,
    "chat": bench_start.measure_chat,
    "first": bench_start.measure_first,
    "wire": bench_wire.measure,
    "burst": bench_stream.measure,
    "markdown": bench_stream.measure_markdown,
    "sessions": bench_sessions.measure,
    "search": bench_session_search.measure,
    "cost": bench_cost.measure,
    "growth": bench_growth.measure,
    "idle": bench_rest.measure,
    "turns": bench_rest.measure_turns,
    "serve": bench_serve.measure,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--quick", action="store_true", help="few rounds, little data")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows there")
    parser.add_argument("--plot", type=Path, metavar="FILE", default=PLOT, help="where `growth` draws its curves")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(MEASUREMENTS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; choose from {', '.join(MEASUREMENTS)}")
    run, rows = Run(quick=options.quick, plot=options.plot), list[Row]()
    for name in options.names or MEASUREMENTS:
        began = time.monotonic()
        print(f"{name} …", flush=True)
        rows += MEASUREMENTS[name](run)
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
        if options.json:
            options.json.write_text(json.dumps(as_json(rows), indent=1))
    print(f"\n{table(rows)}")
    return int(any(row.verdict == "missed" for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
