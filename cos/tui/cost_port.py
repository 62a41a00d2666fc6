"""What the app uses of CommonBill, which it finds by the name `bill` and never imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID

CALL_RECORDED = "bill.call_recorded"
"""The type of the event that says that the cost of a model call is stored."""


class Figures(Protocol):
    """Sums over ended calls. `cost_usd` leaves out the `unpriced` and the `lost` ones."""

    @property
    def calls(self) -> int: ...
    @property
    def unpriced(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def cost_usd(self) -> Decimal: ...
    @property
    def made_up_usd(self) -> Decimal:
        """How much of `cost_usd` nobody pays: the demo's."""
        ...

    @property
    def cache_saved_usd(self) -> Decimal: ...
    @property
    def prompt_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def cache_hit_rate(self) -> float | None: ...


class Group(Protocol):
    @property
    def label(self) -> str | None:
        """None = what belongs to no group."""
        ...

    @property
    def title(self) -> str | None:
        """Of a session that still exists."""
        ...

    @property
    def figures(self) -> Figures: ...


class Report(Protocol):
    """The most costly group first (days in order), (none) last."""

    @property
    def groups(self) -> Sequence[Group]: ...
    @property
    def total(self) -> Figures: ...
    @property
    def overlaps(self) -> bool: ...


class SessionCost(Protocol):
    @property
    def own(self) -> Figures: ...
    @property
    def with_children(self) -> Figures: ...
    @property
    def children(self) -> Figures: ...


class TurnCost(SessionCost, Protocol):
    """Of one turn, with the turns that were delegated in it."""

    @property
    def turn_id(self) -> UUID: ...
    @property
    def session_id(self) -> UUID: ...


class DayCost(Protocol):
    @property
    def day(self) -> date: ...
    @property
    def cost_usd(self) -> Decimal: ...
    @property
    def made_up_usd(self) -> Decimal: ...


class Budget(Protocol):
    @property
    def name(self) -> str: ...


class BudgetState(Protocol):
    """A budget in the period that runs now."""

    @property
    def budget(self) -> Budget: ...
    @property
    def spent_usd(self) -> Decimal: ...
    @property
    def limit_usd(self) -> Decimal: ...
    @property
    def percent(self) -> Decimal: ...
    @property
    def is_spent(self) -> bool: ...
    @property
    def unpriced(self) -> int: ...


class CallRow(Protocol):
    """One attempt of a model call."""

    @property
    def started_at(self) -> datetime: ...
    @property
    def model(self) -> str: ...
    @property
    def cause(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def status(self) -> str: ...
    @property
    def input_tokens(self) -> int | None: ...
    @property
    def output_tokens(self) -> int | None: ...
    @property
    def cache_read_tokens(self) -> int | None: ...
    @property
    def cache_write_5m_tokens(self) -> int | None: ...
    @property
    def cache_write_1h_tokens(self) -> int | None: ...
    @property
    def cost_usd(self) -> Decimal | None: ...
    @property
    def is_made_up(self) -> bool: ...
    @property
    def ttft_ms(self) -> int | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """Days that a report is about, both included; None = no bound."""

    since: date | None = None
    until: date | None = None
    timezone: None = None
    """That of the reports."""


class Bill(Protocol):
    """Every method raises CosError when the database does not answer. A span is `Days`."""

    tag_key: str
    """The key whose values the pane shows."""

    async def report(self, by: str, span: Any = ...) -> Report: ...
    async def sessions_of(self, by: str, label: str | None, span: Any = ...) -> Sequence[Group]: ...
    async def today(self, key: str | None = None) -> Report: ...
    async def today_is(self) -> date: ...
    async def session(self, session_id: UUID) -> SessionCost: ...
    async def sessions(self, session_ids: Sequence[UUID]) -> Mapping[UUID, SessionCost]:
        """Those without a call are left out."""
        ...

    async def turns(self, turn_ids: Sequence[UUID]) -> Sequence[TurnCost]:
        """Of these turns and those above them; without those that have no ended call."""
        ...

    async def budgets(self, session_id: UUID | None = None) -> Sequence[BudgetState]: ...
    def amount(self, text: str) -> Decimal:
        """The dollars above 0 that a person wrote; raises CosError with what is wrong with it."""
        ...

    async def override(self, state: Any, extra_usd: Decimal, granted_by: str) -> None:
        """Let a budget, as `budgets` gave it, spend more, once."""
        ...

    async def last_days(self, count: int = 14) -> Sequence[DayCost]: ...
    async def total(self, span: Any = ...) -> Figures: ...
    async def calls(self, session_id: UUID) -> Sequence[CallRow]: ...
