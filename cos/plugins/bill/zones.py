"""The time zone of this machine, by its IANA name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

FALLBACK = "UTC"


def local_timezone() -> str:
    """What TZ, /etc/localtime or /etc/timezone says; UTC when none of them names a zone."""
    for name in _candidates():
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
        return name
    return FALLBACK


def _candidates() -> Iterator[str]:
    yield os.environ.get("TZ", "").removeprefix(":")
    try:
        yield str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2]
        yield Path("/etc/timezone").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return
