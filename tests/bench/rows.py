"""One line of the suite's table, and how it is measured: beside its baseline, in turns, within the same run."""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

How = Literal["alone", "times", "more"]
Verdict = Literal["met", "missed", "not measured", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one thing costs. Without `limit` it only informs."""

    what: str
    unit: str = "ms"
    how: How = "alone"
    """What is compared with `limit`: the measured value alone, times the baseline, or what it is more."""
    limit: float | None = None
    baseline: float | None = None
    measured: float | None = None
    """None = not measured."""
    compared: float | None = None
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        if self.compared is None:
            return "not measured"
        if self.limit is None:
            return ""
        return "met" if self.compared <= self.limit else "missed"


def alone(what: str, measured: float, limit: float | None = None, *, unit: str = "ms", **more: object) -> Row:
    """A value with a limit of its own."""
    return Row(what=what, unit=unit, limit=limit, measured=measured, compared=measured, **more)  # type: ignore[arg-type]


def times(
    what: str, baseline: Sequence[float], measured: Sequence[float], limit: float | None, *, unit: str = "ms"
) -> Row:
    """How many times as much as the baseline: the median of what each pair says."""
    pairs = [value / base for base, value in zip(baseline, measured, strict=True)]
    return Row(
        what=what, unit=unit, how="times", limit=limit, baseline=statistics.median(baseline),
        measured=statistics.median(measured), compared=statistics.median(pairs),
    )  # fmt: skip


def more(
    what: str, baseline: Sequence[float], measured: Sequence[float], limit: float | None, *, unit: str = "ms"
) -> Row:
    """How much more than the baseline: the median of what each pair says."""
    pairs = [value - base for base, value in zip(baseline, measured, strict=True)]
    return Row(
        what=what, unit=unit, how="more", limit=limit, baseline=statistics.median(baseline),
        measured=statistics.median(measured), compared=statistics.median(pairs),
    )  # fmt: skip


def more_at_p95(
    what: str, baseline: Sequence[float], measured: Sequence[float], limit: float | None, *, unit: str = "ms"
) -> Row:
    """How much more the slowest twentieth is than that of the baseline."""
    base, value = p95(baseline), p95(measured)
    return Row(what=what, unit=unit, how="more", limit=limit, baseline=base, measured=value, compared=value - base)


def not_measured(what: str, how: How, limit: float, *, unit: str = "ms", note: str) -> Row:
    return Row(what=what, unit=unit, how=how, limit=limit, note=note)


def p95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def in_turns(rounds: int, *works: Callable[[], float]) -> list[list[float]]:
    """What each of `works` answers in each round. A round before the first only fills the caches."""
    answers = [[work() for work in works] for _ in range(rounds + 1)]
    return [list(column) for column in zip(*answers[1:], strict=True)]


async def in_turns_async(rounds: int, *works: Callable[[], Awaitable[float]]) -> list[list[float]]:
    """As `in_turns`."""
    answers = [[await work() for work in works] for _ in range(rounds + 1)]
    return [list(column) for column in zip(*answers[1:], strict=True)]
