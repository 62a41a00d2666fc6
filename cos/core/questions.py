"""Questions to the user as text: how their choices are numbered, and what a typed answer means. One rule everywhere."""

from __future__ import annotations

from collections.abc import Sequence


def numbered(question: str, choices: Sequence[str]) -> str:
    """The question, and below it its choices with the numbers by which they are chosen."""
    return "\n".join([question, *(f"  {number}. {choice}" for number, choice in enumerate(choices, 1))])


def meant_answer(typed: str, choices: Sequence[str]) -> str:
    """What the user says: the choice whose number was typed, or the typed words; empty when there are none."""
    words = typed.strip()
    by_number = {str(number): choice for number, choice in enumerate(choices, 1)}
    return by_number.get(words, words)
