"""What cos must know about a model before it asks: the window, the largest answer, which thinking it takes.

Read from the model's name, because asking the API costs a request. Names that are not Anthropic's (local servers) are
unknown: then nothing is assumed. Source: platform.claude.com, models overview and thinking, November 2026.
"""

from __future__ import annotations

import re
from typing import Final, Literal

_NAME = re.compile(r"(?:anthropic/)?claude-(fable|mythos|opus|sonnet|haiku)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_ALWAYS_THINKS = frozenset({("opus", 5, 5), ("sonnet", 5, 5)})
_MILLION_WINDOW_SINCE = (4, 6)
_ADAPTIVE_SINCE = (4, 6)
_THINKS_BY_DEFAULT_SINCE = (5, 0)

KNOWN: Final = (
    "claude-fable-5-2", "claude-fable-5-1", "claude-fable-5", "claude-mythos-5-2",
    "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5", "claude-sonnet-5",
    "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-sonnet-4-6",
    "claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-1", "claude-opus-4-0",
    "claude-sonnet-4-0",
)  # fmt: skip
"""What the API has, for near matches. Source: genai-prices of November 2026; a newer one is taken all the same."""

DEFAULT_MAX_TOKENS = 32_000
"""Every listed model gives at least 64k; above this a stuck model only costs more."""
UNKNOWN_MAX_TOKENS = 8_192
"""Local servers refuse a request whose answer may not fit their small window."""

ThinkingSupport = Literal["unknown", "none", "adaptive", "on_by_default", "always"]


def _parsed(model: str) -> tuple[str, int, int] | None:
    match = _NAME.match(model)
    return (match[1], int(match[2]), int(match[3] or 0)) if match else None


def context_window(model: str) -> int | None:
    """Tokens that `model` takes, or None when the name says nothing."""
    parsed = _parsed(model)
    if parsed is None:
        return None
    return 1_000_000 if parsed[1:] >= _MILLION_WINDOW_SINCE else 200_000


def takes_images(model: str) -> bool:
    """Every listed model sees pictures; of another server's model nothing is known."""
    return _parsed(model) is not None


def default_max_tokens(model: str) -> int:
    return UNKNOWN_MAX_TOKENS if _parsed(model) is None else DEFAULT_MAX_TOKENS


def thinking_support(model: str) -> ThinkingSupport:
    """How `model` thinks: `always` cannot be switched off, `on_by_default` can, `adaptive` must be asked for."""
    parsed = _parsed(model)
    if parsed is None:
        return "unknown"
    family, *version = parsed
    if tuple(version) < _ADAPTIVE_SINCE:
        return "none"
    if family in {"fable", "mythos"} or parsed in _ALWAYS_THINKS:
        return "always"
    return "on_by_default" if tuple(version) >= _THINKS_BY_DEFAULT_SINCE else "adaptive"
