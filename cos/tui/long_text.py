"""A very long text costs: it is sent only once its size was said."""

from __future__ import annotations

from typing import Final

from cos.agent.tokens import estimated_tokens

LONG_CHARACTERS: Final = 100_000


class LongText:
    """Of one composer."""

    def __init__(self) -> None:
        self._said_of = ""

    def warning(self, text: str) -> str:
        """What must be said before `text` is sent; empty when nothing must, or when it was said of the same text."""
        if len(text) <= LONG_CHARACTERS or text == self._said_of:
            self._said_of = ""
            return ""
        self._said_of = text
        return f"This is long, about {estimated_tokens(text):,} tokens. The same key once more sends it."
