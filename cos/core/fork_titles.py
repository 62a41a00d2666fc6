"""Titles of forks: `x (fork)`, then `x (fork 2)`; the fork of a fork counts on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from cos.agent.text import TITLE_CHARACTERS, clusters

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORK: Final = re.compile(r"(?P<stem>.*) \(fork(?: (?P<number>[1-9][0-9]{0,5}))?\)", re.DOTALL)
_ROOM: Final = len(" (fork 999999)")


def fork_stem(title: str | None) -> str:
    """What all forks of a session with this title, and the forks of those, have in common."""
    found = _FORK.fullmatch(title or "")
    stem = found["stem"] if found else title or "Session"
    return "".join(clusters(stem)[: TITLE_CHARACTERS - _ROOM]).rstrip()


def marker_first(title: str) -> str:
    """For a line that may cut it: `fork 2 · x` where the title is `x (fork 2)`; any other title as it is."""
    found = _FORK.fullmatch(title)
    return f"fork {found['number'] or ''}".rstrip() + f" · {found['stem']}" if found else title


def fork_title(stem: str, taken: Iterable[str]) -> str:
    """The next title behind all of `taken` that are titles of forks with this stem."""
    forks = [found for title in taken if (found := _FORK.fullmatch(title)) and found["stem"] == stem]
    number = max((int(found["number"] or 1) for found in forks), default=0) + 1
    return f"{stem} (fork)" if number == 1 else f"{stem} (fork {number})"
