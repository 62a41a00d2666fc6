"""Which of the installed tools a profile's `tools` list means."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path

from cos.core.config_errors import UnknownToolError, nearest
from cos.core.toml_source import read_toml


def match_tools(patterns: Sequence[str], installed: Sequence[str], *, file: Path | None = None) -> list[str]:
    """The installed names that any of the names or globs in `patterns` matches, in the order of `installed`.

    `file` is the profile's config.toml: the error then says on which line the bad entry stands.

    Raises:
        UnknownToolError: an entry matches nothing. An agent that lacks a tool it was meant to have makes up results.
    """
    unknown = [pattern for pattern in patterns if not any(fnmatch.fnmatchcase(name, pattern) for name in installed)]
    if unknown:
        nears = {pattern: nearest(pattern, installed) for pattern in unknown}
        named = ", ".join(
            f"{pattern!r}" + (f" (did you mean {near}?)" if near else "") for pattern, near in nears.items()
        )
        raise UnknownToolError(
            f"no installed tool is called {named}. Installed tools: {', '.join(installed) or 'none'}",
            file=file,
            line=None if file is None else read_toml(file).line_of(("tools", list(patterns).index(unknown[0]))),
            key="tools",
            allowed=installed,
        )
    return [name for name in installed if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
