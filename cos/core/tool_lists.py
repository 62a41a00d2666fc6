"""Which of the installed tools a profile's `tools` list and its rules mean."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cos.core.config_errors import UnknownToolError, nearest
from cos.core.toml_source import read_toml

if TYPE_CHECKING:
    from cos.core.profiles import Profile
    from cos.core.toml_lines import KeyPath


def tools_of(profile: Profile, installed: Sequence[str]) -> list[str]:
    """The names of the tools that a profile has.

    Raises:
        UnknownToolError: its list names a tool that nobody provides, or a rule that asks or denies misspells one.
    """
    settings = profile.settings
    check_rules(profile, installed)
    return list(installed) if settings.tools is None else match_tools(settings.tools, installed, profile.config_file)


def check_rules(profile: Profile, installed: Sequence[str]) -> None:
    """Refuse a rule that would let through what it is there to stop: it asks or denies and misspells its tool.

    A rule about a tool of a plugin that is off is like none.

    Raises:
        UnknownToolError: there is one.
    """
    for index, rule in enumerate(profile.settings.approvals.rules):
        if rule.decision != "allow" and not _matches(rule.tool, installed) and nearest(rule.tool, installed):
            raise _unknown([rule.tool], installed, profile.config_file, ("approvals", "rules", index, "tool"))


def match_tools(patterns: Sequence[str], installed: Sequence[str], file: Path | None = None) -> list[str]:
    """The installed names that any of the names or globs in `patterns` matches, in the order of `installed`.

    `file` is the profile's config.toml: the error then says on which line the bad entry stands.

    Raises:
        UnknownToolError: an entry matches nothing. An agent that lacks a tool it was meant to have makes up results.
    """
    unknown = [pattern for pattern in patterns if not _matches(pattern, installed)]
    if unknown:
        raise _unknown(unknown, installed, file, ("tools", list(patterns).index(unknown[0])))
    return [name for name in installed if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def _matches(pattern: str, installed: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in installed)


def _unknown(patterns: Sequence[str], installed: Sequence[str], file: Path | None, key: KeyPath) -> UnknownToolError:
    nears = {pattern: nearest(pattern, installed) for pattern in patterns}
    named = ", ".join(f"{pattern!r}" + (f" (did you mean {near}?)" if near else "") for pattern, near in nears.items())
    return UnknownToolError(
        f"no installed tool is called {named}. Installed tools: {', '.join(installed) or 'none'}",
        file=file,
        line=None if file is None else read_toml(file).line_of(key),
        key=str(key[0]),
        allowed=installed,
    )
