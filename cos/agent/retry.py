"""When a failed model call is tried again, and after how long."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """At most `max_attempts` attempts per model call; waits grow and are jittered, so that children spread out."""

    max_attempts: int = 5
    base_seconds: float = 1.0
    cap_seconds: float = 30.0
    retry_after_cap_seconds: float = 120.0
    """A provider that asks for more than this is asked again after this."""
    silence_seconds: float = 300.0
    """A stream that brings no content for this long is cut, even if it sends signs of life."""

    def delay_seconds(self, attempt: int, retry_after_seconds: float | None) -> float:
        """The wait after failed attempt number `attempt` (from 1): never shorter than the provider asked for."""
        grown: float = min(self.cap_seconds, self.base_seconds * 2 ** (attempt - 1))
        jittered = grown * random.uniform(0.75, 1.25)
        wanted = min(retry_after_seconds or 0.0, self.retry_after_cap_seconds)
        return max(jittered, wanted * random.uniform(1.0, 1.1))
