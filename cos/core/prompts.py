"""A message that a person sent, as the history of a profile hands it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """`id` is the message's: ids sort by creation, and a page goes on before the last one of the page above."""

    id: UUID
    text: str
