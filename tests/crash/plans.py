"""When a kill comes and whom it hits. Every named write point is on the list; what is left over is chance."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from tests.crash.points import PHASES, POINTS

if TYPE_CHECKING:
    from collections.abc import Iterator

Victim = Literal["cos", "backend", "postmaster", "all", "both"]
"""backend, postmaster, all: of Postgres. both: cos and all of Postgres."""


_VICTIMS: Final[tuple[Victim, ...]] = ("cos", "backend", "postmaster", "all", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One kill."""

    victim: Victim
    delay: float | None = None
    """Seconds after the first message was sent."""
    request: int | None = None
    """When so many more requests have reached the API server, from 1 ..."""
    events: int = 0
    """... and when so many events of its answer have been sent."""
    point: str | None = None
    phase: str = ""
    nth: int = 1
    """How often the write point is passed before."""

    def __str__(self) -> str:
        if self.point is not None:
            return f"{self.victim} at {self.phase} {self.point} #{self.nth}"
        if self.request is not None:
            return f"{self.victim} at request {self.request}, event {self.events}"
        return f"{self.victim} after {self.delay:.3f} s"


def plans(seed: int) -> Iterator[Plan]:
    """Without end. Every write point comes with the kill of cos, in all its phases, before any comes twice."""
    chance = random.Random(seed)
    points: list[tuple[str, str]] = []
    while True:
        victim = chance.choices(_VICTIMS, [84, 3, 4, 4, 5])[0]
        kind = chance.choices(["point", "delay", "request", "event"], [45, 20, 10, 25])[0]
        if kind == "point":
            points = points or chance.sample(pairs := [(a, b) for a in POINTS for b in PHASES], len(pairs))
            point, phase = points.pop()
            yield Plan(victim=victim, point=point, phase=phase, nth=chance.choice([1, 1, 1, 2, 3]))
        elif kind == "delay":
            yield Plan(victim=victim, delay=chance.random() * 0.6)
        else:
            events = chance.randrange(1, 30) if kind == "event" else 0
            yield Plan(victim=victim, request=chance.randrange(1, 5), events=events)
