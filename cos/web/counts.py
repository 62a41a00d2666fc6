"""What a server has done since its start, for `/metrics`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    frames: int = 0
    """Notifications made, however many clients receive each."""
    sent: int = 0
    resyncs: int = 0
    """Sessions that were given up for clients that were too slow."""
