"""What depends on how fast keys come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cos.tui.burst import BURST_SECONDS
from cos.tui.widgets.arming import ARM_SECONDS

GATHER_SECONDS: Final = 0.03
"""Between what happens and its drawing, which takes about as long: a turn that begins sends its request meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds between keys that mean something."""

    arm_seconds: float = ARM_SECONDS
    burst_seconds: float = BURST_SECONDS
