"""Ids: UUID v7, so they sort by creation, also for two made in the same millisecond of one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import uuid_utils.compat

if TYPE_CHECKING:
    from uuid import UUID


def new_id() -> UUID:
    """A fresh UUID v7 (RFC 9562, section 5.7) with a counter that keeps ids of one millisecond in order."""
    return uuid_utils.compat.uuid7()
