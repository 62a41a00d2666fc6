"""Every case of the bug reports that cos was designed against has a test that names it."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
CASES = {
    "history validity": (1, 9, 11),
    "approvals": (17, 18, 19, 21, 22, 23, 24, 26),
    "cost and usage": (29, 30, 31, 32, 37),
    "TUI": (42, 43, 49, 50, 51, 52),
    "sessions and storage": (53, 55, 56, 57, 58, 59, 61, 62),
    "delegate and children": (64, 67, 72),
    "streaming and provider": (73, 74, 78, 79),
    "memory and skills": (84, 87, 88, 89, 90, 93, 94),
    "config, plugins, profile": (96, 98, 99, 100, 103, 104),
    "loopback web dashboard": (105, 106, 108, 110, 111, 114, 115, 117),
    "shell and file tools": (118, 119, 120, 121, 124, 126),
}
NAMED = re.compile(r"(?<![0-9a-z])h[-_]?(\d{3})(?![0-9])", re.IGNORECASE)


def test_each_case_is_named_by_a_test() -> None:
    """By its number in the name of a test (`..._H_055`, `..._h103`) or in its docstring (`H-001`)."""
    texts = [file.read_text() for file in TESTS.rglob("test_*.py") if file.name != Path(__file__).name]
    named = {int(number) for text in texts for number in NAMED.findall(text.replace("_", "-"))}
    wanted = {number for numbers in CASES.values() for number in numbers}
    assert len(wanted) == 64
    assert not sorted(wanted - named)
