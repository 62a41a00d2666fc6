"""The benchmark suite: that it runs, and how it judges what it has measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench.bench_growth import exponent
from tests.bench.bench_rest import slope
from tests.bench.plot import Curve, svg
from tests.bench.rows import Row, alone, in_turns, more, more_at_p95, not_measured, p95, times
from tests.bench.table import table

ROOT = Path(__file__).parents[2]


def _suite(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150, check=False)


def test_suite_measures_prints_a_table_and_writes_its_rows(tmp_path: Path) -> None:
    file, plot = tmp_path / "rows.json", tmp_path / "plot.svg"
    ended = _suite("words", "growth", "--quick", "--json", file, "--plot", plot)
    rows = {row["what"]: row for row in json.loads(file.read_text())}
    assert rows["cos --help, beside python -c pass"]["compared"] > 0, ended.stdout
    assert len([what for what in rows if what.startswith("growth of")]) == 3
    assert all(what in ended.stdout for what in rows)
    assert ended.returncode == int(any(row["verdict"] == "missed" for row in rows.values())), ended.stderr
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")


def test_unknown_name_is_refused_with_those_there_are() -> None:
    ended = _suite("wires")
    assert ended.returncode == 2
    assert "there is no wires; choose from words, chat" in ended.stderr


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (alone("a", 49.0, 50), "met"),
        (alone("a", 51.0, 50), "missed"),
        (alone("a", 51.0), ""),
        (times("a", [100, 200, 100], [110, 210, 500], 1.15), "met"),
        (times("a", [100, 200], [120, 240], 1.15), "missed"),
        (more("a", [10, 100, 10], [19, 109, 50], 10), "met"),
        (more("a", [10, 100], [21, 111], 10), "missed"),
        (more_at_p95("a", [10, 100], [50, 126], 25), "missed"),
        (more_at_p95("a", [10, 100], [99, 124], 25), "met"),
        (not_measured("a", "alone", 1, note="later"), "not measured"),
    ],
)
def test_verdict_follows_from_what_is_compared(row: Row, verdict: str) -> None:
    assert row.verdict == verdict


def test_table_names_value_target_and_verdict() -> None:
    rows = [
        more("Enter", [4.0], [9.0], 10),
        times("loop", [10_000], [12_000], 1.15),
        alone("growth", 0.5, 1.1, unit=""),
    ]
    lines = [" ".join(line.split()) for line in table(rows).splitlines()]
    assert lines[1:] == [
        "Enter 4.00 ms 9.00 ms +5.00 ms ≤ +10.0 ms met",
        "loop 10,000 ms 12,000 ms 1.20 x ≤ 1.15 x missed",
        "growth 0.50 ≤ 1.10 met",
    ]


def test_first_round_only_fills_caches() -> None:
    said = iter(range(1, 7))
    assert in_turns(2, lambda: next(said), lambda: -next(said)) == [[3, 5], [-4, -6]]


def test_slope_exponent_and_p95() -> None:
    assert slope([(0, 5), (10, 25), (20, 45)]) == pytest.approx(2)
    assert exponent(Curve("square", [(1, 3), (10, 7), (100, 700)])) == pytest.approx(2)
    assert p95([float(number) for number in range(100)]) == 95


def test_plot_escapes_its_words() -> None:
    drawn = ElementTree.fromstring(svg("a < b", [Curve("c & d", [(10, 1.0), (1_000, 90.0)])]))
    assert any(element.text == "c & d" for element in drawn.iter())
