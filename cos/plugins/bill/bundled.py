"""The price list that comes with genai-prices: nothing is fetched. Costly to import: `PriceBook` does it late."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from genai_prices import __version__
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelPrice, TieredPrices

from cos.plugins.bill.prices import Rates


def rates(
    provider: str | None, base_url: str | None, model: str, at: datetime, prompt: int
) -> tuple[Rates, str] | None:
    """The rates of `model` at `at` for a prompt of so many tokens, and their source; None when the list lacks it.

    Without `provider` it is the one whose API is at `base_url`: a model is never priced by its name alone.
    """
    try:
        found, info = get_snapshot().find_provider_model(model, None, provider, None if provider else base_url)
    except LookupError:
        return None
    chosen = _flat(info.get_prices(at), prompt)
    return None if chosen is None else (chosen, f"genai-prices {__version__}: {found.id} {info.id}")


def _flat(price: ModelPrice, prompt: int) -> Rates | None:
    """The rates of the tier that the prompt falls into. Tokens of a kind without a rate of its own are plain input."""
    base, output = _rate(price.input_mtok, prompt), _rate(price.output_mtok, prompt)
    if base is None or output is None:
        return None
    read, written = _rate(price.cache_read_mtok, prompt), _rate(price.cache_write_mtok, prompt)
    long_written = _rate(price.cache_write_1h_mtok, prompt)
    written = base if written is None else written
    return Rates(
        input=base,
        output=output,
        cache_read=base if read is None else read,
        cache_write_5m=written,
        cache_write_1h=written if long_written is None else long_written,
    )


def _rate(price: Decimal | TieredPrices | None, prompt: int) -> Decimal | None:
    if not isinstance(price, TieredPrices):
        return price
    passed = [tier.price for tier in price.tiers if prompt > tier.start]
    return passed[-1] if passed else price.base
