"""Curves over two logarithmic axes, as an SVG: a straight line that rises by one is linear growth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 860, 480, 70, 50, 250, 50
COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#8250df")


@dataclass(slots=True)
class Curve:
    """Milliseconds by size."""

    name: str
    points: list[tuple[float, float]] = field(default_factory=list)


def svg(title: str, curves: Sequence[Curve]) -> str:
    x = _axis([size for curve in curves for size, _ in curve.points], LEFT, WIDTH - RIGHT)
    y = _axis([spent for curve in curves for _, spent in curve.points], HEIGHT - BOTTOM, TOP)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
            ' font-size="12"><rect width="100%" height="100%" fill="white"/>',
            f'<text x="{LEFT}" y="28" font-size="16">{escape(title)} (ms; both axes logarithmic)</text>',
            *_grid(x, y),
            *(line for number, curve in enumerate(curves) for line in _curve(curve, number, x, y)),
            "</svg>",
        ]
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    low: int
    high: int
    """Powers of ten."""
    begin: float
    end: float

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def marks(self) -> list[int]:
        return [10**power for power in range(max(self.low, 0), self.high + 1)]


def _axis(values: Sequence[float], begin: float, end: float) -> _Axis:
    low = math.floor(math.log10(min(values)))
    return _Axis(low, max(low + 1, math.ceil(math.log10(max(values)))), begin, end)


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    for mark in x.marks():
        at = x.at(mark)
        yield f'<path d="M{at:.1f} {y.begin} V{y.end}" stroke="#ddd"/>'
        yield f'<text x="{at:.1f}" y="{y.begin + 18}" text-anchor="middle">{mark:,}</text>'
    for mark in y.marks():
        at = y.at(mark)
        yield f'<path d="M{x.begin} {at:.1f} H{x.end}" stroke="#ddd"/>'
        yield f'<text x="{x.begin - 8}" y="{at + 4:.1f}" text-anchor="end">{mark:,}</text>'


def _curve(curve: Curve, number: int, x: _Axis, y: _Axis) -> Iterator[str]:
    colour, points = COLOURS[number % len(COLOURS)], [(x.at(size), y.at(spent)) for size, spent in curve.points]
    path = " L".join(f"{at_x:.1f} {at_y:.1f}" for at_x, at_y in points)
    yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for at_x, at_y in points:
        yield f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="3" fill="{colour}"/>'
    at_x, at_y = WIDTH - RIGHT + 12, TOP + 14 + 20 * number
    yield f'<text x="{at_x}" y="{at_y}" fill="{colour}">{escape(curve.name)}</text>'
