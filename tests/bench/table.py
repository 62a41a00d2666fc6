"""The suite's result as people and programs read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tests.bench.rows import Row

HEADINGS = ("what", "baseline", "measured", "compared", "target", "")


def table(rows: Sequence[Row]) -> str:
    cells = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in (0, 5) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    )


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [asdict(row) | {"verdict": row.verdict} for row in rows]


def _cells(row: Row) -> tuple[str, ...]:
    verdict = ", ".join(filter(None, (row.verdict, row.note)))
    return (
        row.what,
        _amount(row.baseline, row.unit),
        _amount(row.measured, row.unit),
        "" if row.how == "alone" else _compared(row, row.compared),
        "" if row.limit is None else f"≤ {_compared(row, row.limit)}",
        verdict,
    )


def _compared(row: Row, value: float | None) -> str:
    if value is None:
        return ""
    if row.how == "times":
        return f"{value:.2f} x"
    return f"{value:+,.{_digits(value)}f} {row.unit}" if row.how == "more" else _amount(value, row.unit)


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:,.{_digits(value)}f} {unit}".rstrip()


def _digits(value: float) -> int:
    return 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
