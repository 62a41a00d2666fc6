"""The environment of a command: the user's own, with pagers and terminal tricks turned off."""

from __future__ import annotations

from collections.abc import Mapping

_GIT_SETTINGS = {"safe.bareRepository": "explicit", "core.fsmonitor": "false"}
"""A folder that looks like a repository must not make a reading git command run the programs that it names."""
_FIXED = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}


def command_environment(own: Mapping[str, str]) -> dict[str, str]:
    """What a command gets to see; `own` holds no secrets any more."""
    return {**own, **_FIXED, **_git_settings(own)}


def _git_settings(own: Mapping[str, str]) -> dict[str, str]:
    """Git's settings by environment, after those that the user has set that way (git-config(1), GIT_CONFIG_COUNT)."""
    count = own.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    settings = {"GIT_CONFIG_COUNT": str(first + len(_GIT_SETTINGS))}
    for number, (key, value) in enumerate(_GIT_SETTINGS.items(), first):
        settings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return settings
