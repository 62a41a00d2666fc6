"""What programs that cos starts may see of its environment: no key, token or password."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

_SECRET_NAMES: Final = re.compile(
    r"SECRET|PASSW(OR)?D|PASSPHRASE|CREDENTIAL|TOKENS?(_|$)|(API|PRIVATE|ACCESS)_?KEY|CONNECTION_STRING"
    r"|(^|_)(KEYS?|PAT|PASS|AUTH|COOKIE|DSN)$|_PWD$|DATABASE_URL$|^(AWS|ANTHROPIC|AZURE|OPENAI)_|^PG",
    re.IGNORECASE,
)
_KEY: Final = re.compile(r"\s*((sk|pk|ghp|xox\w)[-_]|github_pat_|glpat-|bearer\s)", re.IGNORECASE)
_LOGIN: Final = re.compile(r".*\b[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE | re.DOTALL)


def begins_as_key(value: str) -> bool:
    """Whether `value` begins as the keys of well-known services do."""
    return bool(_KEY.match(value))


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like a key, token, password or login, by its name or by its value."""
    return bool(_SECRET_NAMES.search(name) or begins_as_key(value) or _LOGIN.match(value))


def without_secrets(own: Mapping[str, str], named: Collection[str] = ()) -> dict[str, str]:
    """`own` without what looks like a secret, and without the variables `named`, which hold one."""
    return {name: value for name, value in own.items() if name not in named and not is_secret(name, value)}
