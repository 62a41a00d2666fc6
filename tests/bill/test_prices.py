"""Prices are those of genai-prices, of commonos.toml, or unknown; they are exact, and never guessed from a name."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from genai_prices import Usage as TheirUsage
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from cos.agent.events import Usage
from cos.plugins.bill.prices import PriceBook, Question, own_rates
from cos.plugins.bill.settings import BillSettings, PriceSettings

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ASKED = Question(provider="anthropic", base_url=None, model="claude-sonnet-5-5", response_model=None, at=NOW)
MODELS = ["claude-fable-5-2", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-haiku-4-5"]
tokens = st.one_of(st.integers(0, 300_000), st.sampled_from([0, 99_999, 100_000, 100_001, 200_000, 200_001]))


def book(**settings: Any) -> PriceBook:
    return PriceBook(BillSettings(**settings))


async def cost(prices: PriceBook, question: Question, usage: Usage) -> Decimal | None:
    return (await prices.price(question, usage, has_ended=True)).cost_usd


@given(st.sampled_from(MODELS), st.tuples(tokens, tokens, tokens, tokens, tokens))
async def test_a_known_model_costs_what_genai_prices_computes(
    model: str, counts: tuple[int, int, int, int, int]
) -> None:
    fresh, output, read, short, long = counts
    usage = Usage(
        input_tokens=fresh, output_tokens=output, cache_read_tokens=read, cache_write_5m_tokens=short,
        cache_write_1h_tokens=long,
    )  # fmt: skip
    theirs = TheirUsage(
        input_tokens=fresh + read + short + long, output_tokens=output, cache_read_tokens=read,
        cache_write_tokens=short + long, cache_write_1h_tokens=long,
    )  # fmt: skip
    expected = calc_price(theirs, model, provider_id="anthropic", genai_request_timestamp=NOW).total_price
    assert await cost(book(), replace(ASKED, model=model), usage) == expected


async def test_a_model_is_priced_only_on_a_server_that_is_known() -> None:
    usage, there = Usage(input_tokens=1_000_000), replace(ASKED, base_url="http://127.0.0.1:4000/v1/")
    assert await cost(book(), ASKED, usage) == 2
    assert await cost(book(), there, usage) is None
    assert await cost(book(servers={"http://127.0.0.1:4000": "anthropic"}), there, usage) == 2
    assert await cost(book(servers={"http://127.0.0.1:4000": "no-such-provider"}), there, usage) is None


async def test_the_model_that_answered_counts_before_the_one_that_was_asked() -> None:
    usage = Usage(input_tokens=1_000_000)
    assert await cost(book(), replace(ASKED, response_model="claude-opus-5-5-20261001"), usage) == 4
    assert await cost(book(), replace(ASKED, response_model="alias-of-a-gateway"), usage) == 2


async def test_own_prices_win_and_their_tiers_hold_for_the_whole_call() -> None:
    own = {"input": 1, "output": "2.5", "tiers": [{"above": 1000, "input": 10, "output": 20, "cache_read": 1}]}
    prices = book(prices={"claude-sonnet-5-5": own})
    found = await prices.price(ASKED, Usage(input_tokens=1000, output_tokens=2), has_ended=True)
    assert (found.cost_usd, found.source) == (Decimal("0.001005"), "commonos.toml")
    assert await cost(prices, ASKED, Usage(input_tokens=1000, cache_read_tokens=1)) == Decimal("0.010001")


@pytest.mark.parametrize(
    ("given_rates", "expected"),
    [
        ({}, ("3", "3", "3")),
        ({"cache_read": 0}, ("0", "3", "3")),
        ({"cache_write_5m": 4}, ("3", "4", "4")),
        ({"cache_write_5m": 4, "cache_write_1h": 6}, ("3", "4", "6")),
    ],
)
def test_cache_rates_that_are_not_named_are_those_of_input(
    given_rates: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    rates = own_rates(PriceSettings(input=3, output=15, **given_rates), 0)  # type: ignore[arg-type]  # as TOML has them
    assert (rates.cache_read, rates.cache_write_5m, rates.cache_write_1h) == tuple(map(Decimal, expected))


async def test_figures_of_toml_keep_their_digits() -> None:
    prices = book(prices={"m": {"input": 0.1, "output": 0.3}})
    assert await cost(prices, replace(ASKED, model="m"), Usage(input_tokens=3, output_tokens=1)) == Decimal("6E-7")
