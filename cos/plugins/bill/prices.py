"""What tokens cost: rates from commonos.toml, else those bundled with genai-prices. All amounts are exact decimals."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from cos.agent.threads import on_a_thread

if TYPE_CHECKING:
    from datetime import datetime

    from cos.agent.events import Usage
    from cos.plugins.bill.settings import BillSettings, PriceSettings, RateSettings

log = logging.getLogger("cos.bill")

MILLION = Decimal(1_000_000)
OVERRIDE = "commonos.toml"
MADE_UP = "demo prices, made up"
"""The same words stand in `bill_made_up`."""
NOTHING_REPORTED = "the provider reported no tokens before the call ended"
_DEMO = "mock"
_BUNDLED = "cos.plugins.bill.bundled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """US dollars per million tokens, as they hold for one call."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal

    @property
    def are_zero(self) -> bool:
        return not any(getattr(self, field.name) for field in fields(self))

    def json(self) -> dict[str, str]:
        return {field.name: format(getattr(self, field.name), "f") for field in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What one call cost."""

    cost_usd: Decimal | None
    """None = nobody knows: the model has no price, or the server counted no tokens."""
    cache_saved_usd: Decimal | None = None
    rates: Rates | None = None
    source: str
    """Where the rates come from, or why there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which call is to be priced."""

    provider: str
    base_url: str | None
    """None = the provider's own server."""
    model: str
    """As it was asked for."""
    response_model: str | None
    """As the provider named it in its answer."""
    at: datetime


_DEMO_RATES = Rates(
    input=Decimal(3), output=Decimal(15), cache_read=Decimal("0.30"), cache_write_5m=Decimal("3.75"),
    cache_write_1h=Decimal(6),
)  # fmt: skip
"""The demo asks no model and costs nothing. So that it can show what cost looks like, its calls are priced as if, and
every sum says how much of it is made up."""


class Bundled(Protocol):
    """The module `cos.plugins.bill.bundled`."""

    def rates(
        self, provider: str | None, base_url: str | None, model: str, at: datetime, prompt: int
    ) -> tuple[Rates, str] | None: ...


_FOREIGN = (ArithmeticError, AttributeError, ImportError, LookupError, OSError, TypeError, ValueError)
"""What a package can fail with whose prices are not as it expects."""


class PriceBook:
    """Prices of one process."""

    def __init__(self, settings: BillSettings) -> None:
        self._own = settings.prices
        self._servers = {_bare(url): provider for url, provider in settings.servers.items()}
        self._bundled: Bundled | None = None

    async def load(self) -> None:
        """Read the bundled prices, which takes half a second of another thread."""
        if self._bundled is None:
            try:
                module: Any = await on_a_thread(lambda: importlib.import_module(_BUNDLED), "bundled-prices")
            except _FOREIGN:
                log.exception("the price list of genai-prices cannot be read; only own prices count")
            else:
                self._bundled = module

    async def price(self, call: Question, usage: Usage, *, has_ended: bool) -> Price:
        """The price of `usage`. `has_ended`: the provider closed the reply, so that no figures means not counted."""
        counts = _counts(usage)
        if not any(counts.values()) and not has_ended:
            return Price(cost_usd=Decimal(0), cache_saved_usd=Decimal(0), source=NOTHING_REPORTED)
        found = await self._rates(call, usage.prompt_tokens or 0)
        if found is None:
            return Price(cost_usd=None, source=f"no price is known for {call.response_model or call.model}")
        rates, source = found
        if all(count is None for count in _reported(usage)) and not rates.are_zero:
            return Price(cost_usd=None, rates=rates, source="the server counted no tokens")
        saved = Decimal(0) if source == MADE_UP else _saved(counts, rates)
        return Price(cost_usd=_cost(counts, rates), cache_saved_usd=saved, rates=rates, source=source)

    async def _rates(self, call: Question, prompt: int) -> tuple[Rates, str] | None:
        names = [name for name in (call.response_model, call.model) if name]
        own = next((self._own[name] for name in names if name in self._own), None)
        if own is not None:
            return own_rates(own, prompt), OVERRIDE
        if call.provider == _DEMO:
            return _DEMO_RATES, MADE_UP
        await self.load()
        if self._bundled is None:
            return None
        provider, base_url = call.provider, call.base_url
        if base_url is not None:
            provider, base_url = self._servers.get(_bare(base_url), ""), base_url
        try:
            found = (self._bundled.rates(provider or None, base_url, name, call.at, prompt) for name in names)
            return next((rates for rates in found if rates is not None), None)
        except _FOREIGN:
            # Foreign code: without a price the call is unpriced, and its tokens are kept.
            log.exception("the price list failed for %s", names)
            return None


def own_rates(own: PriceSettings, prompt: int) -> Rates:
    """The rates of commonos.toml for a prompt of so many tokens."""
    chosen: RateSettings = own
    for tier in sorted(own.tiers, key=lambda tier: tier.above):
        if prompt > tier.above:
            chosen = tier
    write = chosen.input if chosen.cache_write_5m is None else chosen.cache_write_5m
    return Rates(
        input=chosen.input,
        output=chosen.output,
        cache_read=chosen.input if chosen.cache_read is None else chosen.cache_read,
        cache_write_5m=write,
        cache_write_1h=write if chosen.cache_write_1h is None else chosen.cache_write_1h,
    )


def _bare(url: str) -> str:
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def _reported(usage: Usage) -> tuple[int | None, ...]:
    return (
        usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_5m_tokens,
        usage.cache_write_1h_tokens,
    )  # fmt: skip


def _counts(usage: Usage) -> dict[str, int]:
    """What the provider did not mention counts as 0."""
    names = [field.name for field in fields(Rates)]
    return {name: count or 0 for name, count in zip(names, _reported(usage), strict=True)}


def _cost(counts: Mapping[str, int], rates: Rates) -> Decimal:
    return sum((count * getattr(rates, name) for name, count in counts.items()), Decimal(0)) / MILLION


def _saved(counts: Mapping[str, int], rates: Rates) -> Decimal:
    """What the cached part would have cost as plain input, less what it did cost."""
    cached = ("cache_read", "cache_write_5m", "cache_write_1h")
    return sum((counts[name] * (rates.input - getattr(rates, name)) for name in cached), Decimal(0)) / MILLION
