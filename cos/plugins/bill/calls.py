"""One attempt of a model call as it goes into `model_calls`: what is known before it leaves, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

from cos.agent.events import Usage
from cos.agent.identity import TurnInfo
from cos.agent.text import storable
from cos.plugins.bill.prices import Question

if TYPE_CHECKING:
    from cos.plugins.bill.prices import Price

Cause = Literal["turn", "retry", "child", "compaction", "title"]
Status = Literal["ok", "error", "cancelled", "dropped", "lost"]
_LONGEST_ERROR = 200
_MOST_TOKENS = 10**12
_MOST_MILLISECONDS = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An attempt before its request leaves."""

    turn: TurnInfo
    ordinal: int
    """The number of the attempt within its turn, from 1."""
    parent_session_id: UUID | None
    provider: str
    base_url: str | None
    model: str
    cause: Cause
    attempt: int
    """The number of the attempt within its call, from 1."""
    started_at: datetime

    @property
    def key(self) -> tuple[UUID, int]:
        return self.turn.turn_id, self.ordinal

    def row(self, owner_key: int) -> dict[str, Any]:
        return {
            "turn_id": self.turn.turn_id,
            "ordinal": self.ordinal,
            "session_id": self.turn.session_id,
            "parent_session_id": self.parent_session_id,
            "profile_id": self.turn.profile_id,
            "parent_turn_id": self.turn.parent_turn_id,
            "depth": self.turn.depth,
            "tags": sorted({str(tag) for tag in self.turn.tags}),
            "provider": self.provider,
            "base_url": self.base_url,
            "model": self.model,
            "cause": self.cause,
            "attempt": self.attempt,
            "started_at": self.started_at,
            "owner_key": owner_key,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an attempt ended. Its figures are the last that the provider reported, taken once."""

    call: Call
    status: Status
    usage: Usage
    price: Price
    response_model: str | None = None
    ttft_ms: int | None = None
    duration_ms: int | None = None
    error: str | None = None
    ended_at: datetime

    def row(self) -> dict[str, Any]:
        usage, price = self.usage, self.price
        return {
            "turn_id": self.call.turn.turn_id,
            "ordinal": self.call.ordinal,
            "status": self.status,
            "is_partial": usage.is_partial,
            "response_model": self.response_model,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_5m_tokens": usage.cache_write_5m_tokens,
            "cache_write_1h_tokens": usage.cache_write_1h_tokens,
            "ttft_ms": self.ttft_ms,
            "duration_ms": self.duration_ms,
            "error": self.error,
            "ended_at": self.ended_at,
            **price_row(price),
        }


def price_row(price: Price) -> dict[str, Any]:
    """The columns that a price fills."""
    return {
        "cost_usd": price.cost_usd,
        "cache_saved_usd": price.cache_saved_usd,
        "rates": None if price.rates is None else json.dumps(price.rates.json()),
        "price_source": price.source,
    }


def call_of(given: Mapping[str, Any]) -> Call:
    """The attempt that the arguments of `pre_api_request` speak of."""
    turn, parent = given["turn"], given["parent_session_id"]
    return Call(
        turn=turn,
        ordinal=given["api_call_count"],
        parent_session_id=UUID(parent) if parent else None,
        provider=storable(given["provider"]),
        base_url=_without_credentials(given["base_url"]),
        model=storable(given["model"]),
        cause=_cause(turn, given["purpose"], given["attempt"]),
        attempt=given["attempt"],
        started_at=given["started_at"],
    )


def question_of(call: Call, response_model: str | None) -> Question:
    """What to ask the price book about `call`."""
    return Question(
        provider=call.provider, base_url=call.base_url, model=call.model, response_model=response_model,
        at=call.started_at,
    )  # fmt: skip


def failure_of(given: Mapping[str, Any]) -> tuple[Status, str | None]:
    """Status and words for the arguments of `api_request_error`.

    `dropped`: the provider had begun to answer. The words name the kind of the error only: a provider's message may
    repeat what was said in the conversation, and the row outlives that.
    """
    if given["reason"] == "cancelled":
        return "cancelled", None
    http = "" if given["status_code"] is None else f" (HTTP {given['status_code']})"
    words = f"{given['error']['type']}{http}"[:_LONGEST_ERROR]
    return ("error" if given["first_token_seconds"] is None else "dropped"), words


def sane(usage: Usage) -> Usage:
    """`usage` as a row can hold it. A server that makes figures up must not keep later calls from being stored."""

    def count(tokens: int | None) -> int | None:
        return None if tokens is None else min(max(tokens, 0), _MOST_TOKENS)

    return Usage(
        input_tokens=count(usage.input_tokens),
        output_tokens=count(usage.output_tokens),
        cache_read_tokens=count(usage.cache_read_tokens),
        cache_write_5m_tokens=count(usage.cache_write_5m_tokens),
        cache_write_1h_tokens=count(usage.cache_write_1h_tokens),
        is_partial=usage.is_partial,
    )


def milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else min(round(seconds * 1000), _MOST_MILLISECONDS)


def _cause(turn: TurnInfo, purpose: str, attempt: int) -> Cause:
    if purpose == "compaction":
        return "compaction"
    if purpose == "title":
        return "title"
    if attempt > 1:
        return "retry"
    return "child" if turn.depth else "turn"


def _without_credentials(url: str | None) -> str | None:
    if url is None:
        return None
    parts = urlsplit(url)
    return storable(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}")
