"""Who answered, in the words that every surface has."""

from __future__ import annotations

import pytest

from cos.core.answer_words import by_whom


@pytest.mark.parametrize(
    ("answered_by", "words"),
    [
        ("tui", "by you (app)"),
        ("web", "by you (browser)"),
        ("cli", "by you (shell)"),
        ("cos ask", "by cos ask"),
        ("a\x1b[2J\nb", "by a␛[2J b"),
        (None, ""),
        ("", ""),
    ],
)
def test_a_surface_of_the_user_is_you(answered_by: str | None, words: str) -> None:
    assert by_whom(answered_by) == words
