"""Questions to the user as text: how their choices are numbered, and what a typed answer means. One rule everywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_lowercase

_DOLLARS = re.compile(r"\$\d")


def numbered(question: str, choices: Sequence[str]) -> str:
    """The question, and below it its choices with the marks by which they are chosen."""
    return "\n".join([question, *(f"  {mark}. {choice}" for mark, choice in _marked(choices).items())])


def mark_word(choices: Sequence[str]) -> str:
    """What a choice is chosen by: its number or its letter."""
    return "letter" if _name_dollars(choices) else "number"


def meant_answer(typed: str, choices: Sequence[str]) -> str:
    """What the user says: the choice whose mark was typed, or the typed words; empty when there are none."""
    words = typed.strip()
    return _marked(choices).get(words, words)


def _marked(choices: Sequence[str]) -> dict[str, str]:
    """Numbers from 1; letters where choices name dollars, because there a typed number is an amount."""
    marks = ascii_lowercase if _name_dollars(choices) else [str(number) for number in range(1, len(choices) + 1)]
    return dict(zip(marks, choices, strict=False))


def _name_dollars(choices: Sequence[str]) -> bool:
    return any(_DOLLARS.search(choice) for choice in choices)
