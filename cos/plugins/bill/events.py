"""What CommonBill says in the live feed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from cos.core.plugin_api import PluginEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecorded(PluginEvent):
    """The cost of an attempt of a model call is stored: when it ended, or when it was priced later."""

    type: ClassVar[str] = "bill.call_recorded"
    ordinal: int
    model: str
    cause: str
    status: str
    cost_usd: Decimal | None
    """None = unpriced."""
    is_made_up: bool
    """Nobody pays this cost: it is the demo's."""
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_5m_tokens: int | None
    cache_write_1h_tokens: int | None
    ttft_ms: int | None
    duration_ms: int | None
