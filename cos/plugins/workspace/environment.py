"""The environment of a command: the user's own, without secrets, and with pagers and terminal tricks turned off."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET_NAMES = re.compile(
    r"SECRET|PASSW(OR)?D|PASSPHRASE|CREDENTIAL|TOKENS?(_|$)|(API|PRIVATE|ACCESS)_?KEY|CONNECTION_STRING"
    r"|(^|_)(KEYS?|PAT|PASS|AUTH|COOKIE|DSN)$|_PWD$|DATABASE_URL$|^(AWS|ANTHROPIC|AZURE|OPENAI)_|^PG",
    re.IGNORECASE,
)
_URL_WITH_PASSWORD = re.compile(r"\b[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)
_GIT_SETTINGS = {"safe.bareRepository": "explicit", "core.fsmonitor": "false"}
"""A folder that looks like a repository must not make a reading git command run the programs that it names."""
_FIXED = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like a key, token, password or login, by its name or by a password in a URL."""
    return bool(_SECRET_NAMES.search(name) or _URL_WITH_PASSWORD.search(value))


def command_environment(own: Mapping[str, str]) -> dict[str, str]:
    """What a command gets to see of `own`."""
    kept = {name: value for name, value in own.items() if not is_secret(name, value)}
    return kept | _FIXED | _git_settings(own)


def _git_settings(own: Mapping[str, str]) -> dict[str, str]:
    """Git's settings by environment, after those that the user has set that way (git-config(1), GIT_CONFIG_COUNT)."""
    count = own.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    settings = {"GIT_CONFIG_COUNT": str(first + len(_GIT_SETTINGS))}
    for number, (key, value) in enumerate(_GIT_SETTINGS.items(), first):
        settings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return settings
