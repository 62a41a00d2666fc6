"""An estimate of how many tokens a text is, for figures that nobody has counted. Never for cost."""

from __future__ import annotations

from typing import Final

_CHARACTERS_PER_TOKEN: Final = 4


def estimated_tokens(text: str) -> int:
    """A token for each four characters of alphabetic scripts, and for each character of the East Asian ones."""
    wide = 0 if text.isascii() else sum("\u2e80" <= character <= "\ud7ff" for character in text)
    return wide + -(-(len(text) - wide) // _CHARACTERS_PER_TOKEN)
