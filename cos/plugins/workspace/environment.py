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
_FIXED = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like a key, token, password or login, by its name or by a password in a URL."""
    return bool(_SECRET_NAMES.search(name) or _URL_WITH_PASSWORD.search(value))


def command_environment(own: Mapping[str, str]) -> dict[str, str]:
    """What a command gets to see of `own`."""
    return {name: value for name, value in own.items() if not is_secret(name, value)} | _FIXED
