"""What tells forks apart stands first where titles are cut."""

from __future__ import annotations

import pytest

from cos.core.fork_titles import marker_first


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("the retry (fork)", "fork · the retry"),
        ("the retry (fork 12)", "fork 12 · the retry"),
        ("the retry", "the retry"),
        ("(fork 2) of the road", "(fork 2) of the road"),
        ("a (fork 02)", "a (fork 02)"),
    ],
)
def test_the_marker_of_a_fork_comes_first(title: str, shown: str) -> None:
    assert marker_first(title) == shown
