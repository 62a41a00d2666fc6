"""What was sent before, newest first: stepping through it, and what was being written meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.prompts import Prompt


class PromptSource(Protocol):
    """Where earlier messages come from. Both raise `CosError` when they cannot be read."""

    async def page(self, profile_id: str, *, before: UUID | None = None, limit: int = 50) -> list[Prompt]:
        """The prompts older than message `before` (None = the newest), newest first."""
        ...

    async def search(self, profile_id: str, words: Iterable[str], *, limit: int = 50) -> list[Prompt]:
        """The newest prompts that contain all words."""
        ...


class PromptHistory:
    """Of one profile. Position 0 is what is being written, 1 the newest message."""

    def __init__(self) -> None:
        self._recent: list[str] = []
        """Sent from here since the first page was read."""
        self._stored: list[str] = []
        self._position = 0
        self._written = ""
        self.oldest: UUID | None = None
        """The message before which the next page begins."""
        self.has_more = False
        self.is_read = False

    def sent(self, text: str) -> None:
        self._recent = _distinct([text, *self._recent])
        self.rest()

    def rest(self) -> None:
        """Go back to what is being written, without showing it."""
        self._position = 0
        self._written = ""

    @property
    def is_browsing(self) -> bool:
        return self._position > 0

    def add(self, page: list[Prompt], limit: int) -> None:
        """The next older page; shorter than `limit` = there is no further one. The first one may be read again."""
        texts = [prompt.text for prompt in page]
        if self.oldest is None:
            self._recent = [text for text in self._recent if text not in texts]
        self._stored = _distinct([*self._stored, *texts])
        self.has_more = len(page) == limit
        self.is_read = True
        if page:
            self.oldest = page[-1].id

    def older(self, written: str) -> str | None:
        """The message before the shown one; None at the end of what is known. `written` is what the composer holds."""
        self._notice(written)
        texts = self._texts()
        if self._position >= len(texts):
            return None
        if self._position == 0:
            self._written = written
        self._position += 1
        return texts[self._position - 1]

    def newer(self, written: str) -> str | None:
        """The message after the shown one, in the end what was being written; None when that is shown."""
        self._notice(written)
        if self._position == 0:
            return None
        self._position -= 1
        return self._written if self._position == 0 else self._texts()[self._position - 1]

    def _notice(self, written: str) -> None:
        """A message that was changed since it was shown is what is being written now; what was joins the rest."""
        if self._position and written != self._texts()[self._position - 1]:
            if self._written.strip():
                self._recent = [self._written, *self._recent]
            self.rest()

    def _texts(self) -> list[str]:
        return _distinct([*self._recent, *self._stored])


def _distinct(texts: list[str]) -> list[str]:
    """Without those that only repeat the one before."""
    return [text for place, text in enumerate(texts) if place == 0 or text != texts[place - 1]]
