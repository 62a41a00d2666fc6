"""Globs for paths: `*` and `?` stay within one part of a path, `**` stands for any number of parts."""

from __future__ import annotations

from fnmatch import fnmatchcase


def path_matches(pattern: str, path: str) -> bool:
    """Whether the relative POSIX path matches. `docs/**` is all below docs and docs itself."""
    parts = [] if path == "." else path.split("/")
    patterns = [part for part in pattern.removeprefix("./").split("/") if part]
    return _matches(patterns, parts)


def _matches(patterns: list[str], parts: list[str]) -> bool:
    """By a table instead of recursion: many `**` must not cost more than their number times the depth."""
    reachable = [True, *(False for _ in parts)]
    for pattern in patterns:
        if pattern == "**":
            first = reachable.index(True) if True in reachable else len(reachable)
            reachable = [index >= first for index in range(len(reachable))]
        else:
            stepped = (reachable[index] and fnmatchcase(part, pattern) for index, part in enumerate(parts))
            reachable = [False, *stepped]
    return reachable[-1]
