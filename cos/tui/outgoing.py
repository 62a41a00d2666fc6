"""What the composer hands out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.attachments import Attachment

SendMode = Literal["queue", "steer", "now"]
"""What happens while a turn runs: wait for its end, go into it at its next step, or stop it and go first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A message that the user sent."""

    text: str
    """Whole: pastes unfolded, images by their labels."""
    draft: str = ""
    """As the composer held it, for the case that it comes back."""
    mode: SendMode = "queue"
    attachments: tuple[Attachment, ...] = ()
    replaces: UUID | None = None
    """The waiting message that this is the new text of."""

    @property
    def remembered(self) -> str:
        """As earlier messages keep it: the draft when pictures go along."""
        return self.draft if self.attachments else self.text
