"""What reports consist of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal
from typing import Any, Final, Self
from uuid import UUID

from cos.plugins.bill.prices import MADE_UP

FIXED: Final = ("tag", "profile", "model", "session", "day", "week", "month")
"""Groupings that are no tag key. A tag key of such a name is written `tag:profile`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Sums over ended calls. `cost_usd` leaves out unknown costs: `unpriced` and `lost` say how many calls that is."""

    calls: int
    unpriced: int
    """Calls without a price."""
    lost: int
    """Calls whose process ended first: neither tokens nor cost are known."""
    partial: int
    """Calls cut before their final figures: their tokens and cost are the least that was used."""
    cost_usd: Decimal
    cache_saved_usd: Decimal
    """What caching saved; below 0 when writing the cache cost more than reading it gave back."""
    input_tokens: int
    """Of prompts, neither read from nor written to the cache."""
    output_tokens: int
    cache_read_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    made_up_usd: Decimal = Decimal(0)
    """How much of `cost_usd` nobody pays: what calls of the demo would cost at its made-up prices."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        return cls(**{field.name: row[field.name] for field in fields(cls)})

    @classmethod
    def none(cls) -> Self:
        """Of no call."""
        zeros: dict[str, Any] = {field.name: 0 for field in fields(cls)}
        return cls(**zeros | {"cost_usd": Decimal(0), "cache_saved_usd": Decimal(0), "made_up_usd": Decimal(0)})

    def less(self, others: Iterable[Figures]) -> Figures:
        """What is left when `others` are taken away."""
        rest = {field.name: getattr(self, field.name) for field in fields(self)}
        for other in others:
            rest = {name: value - getattr(other, name) for name, value in rest.items()}
        return Figures(**rest)

    @property
    def prompt_tokens(self) -> int:
        return self.input_tokens + self.cache_read_tokens + self.cache_write_5m_tokens + self.cache_write_1h_tokens

    @property
    def cache_hit_rate(self) -> float | None:
        """The share of prompt tokens that were read from the cache, 0 to 1; None without a prompt."""
        return self.cache_read_tokens / self.prompt_tokens if self.prompt_tokens else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One line of a report."""

    label: str | None
    """None = the calls that belong to no group: shown as (none)."""
    figures: Figures
    title: str | None = None
    """Of a session that still exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Groups, the most costly first (days in order), and their true total."""

    by: str
    groups: tuple[Group, ...]
    total: Figures
    timezone: str
    overlaps: bool
    """A call may stand in several groups, so they add up to more than the total."""
    running: int
    """Calls under way now; they are in no figure yet."""

    @property
    def is_unknown_key(self) -> bool:
        """Calls are counted, and none has a tag with the key that was asked for."""
        return self.by not in FIXED and self.total.calls > 0 and all(group.label is None for group in self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCost:
    own: Figures
    with_children: Figures
    """Itself and every session below it."""

    @property
    def children(self) -> Figures:
        """Every session below it."""
        return self.with_children.less([self.own])


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCost(SessionCost):
    """The same of one turn, with the turns that were delegated in it."""

    turn_id: UUID
    session_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCost:
    day: date
    cost_usd: Decimal
    made_up_usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How fast one model answers; milliseconds, and output tokens per second after the first."""

    model: str
    calls: int
    ttft_ms: float
    ttft_median_ms: float
    ttft_p95_ms: float
    tokens_per_second: float | None
    """None when no call had a measurable length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """One row of `model_calls`."""

    turn_id: UUID
    ordinal: int
    session_id: UUID
    started_at: Any
    model: str
    response_model: str | None
    cause: str
    attempt: int
    status: str
    is_partial: bool
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_5m_tokens: int | None
    cache_write_1h_tokens: int | None
    cost_usd: Decimal | None
    price_source: str | None
    ttft_ms: int | None
    duration_ms: int | None
    error: str | None

    @property
    def is_made_up(self) -> bool:
        """Nobody pays this cost."""
        return self.price_source == MADE_UP
