"""How settings are shown to a person: on one line, cut when long, and without anything that may be a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from cos.agent.text import visible
from cos.core.environment import begins_as_key

HIDDEN = "(hidden)"
_HIDDEN_KEYS = {"database.url", "COS_DATABASE_URL", "api_key_env"}
"""Settings whose wrong values are often a password or a pasted API key."""
_SECRET_KEY = re.compile(r"(^|[_.-])(api_?key|key|token|secret|pass|passw(or)?d|pwd|credentials?|dsn)$", re.IGNORECASE)
"""Narrower than for variables of the environment: `max_tokens` is a setting that is shown."""
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_+=-]{20,}\s*$")
_USER_INFO = re.compile(r"(?P<before>://[^:@/]*):.*@", re.DOTALL)
_SECRET_PARAMETER = re.compile(r"(?P<name>[?&](?:ssl)?password=)[^&]*", re.IGNORECASE)
_SHOWN_CHARACTERS = 80


def shown(key: str, value: object) -> str:
    """`value` as an error about `key` may show it: as in TOML, hidden when it may be a secret."""
    if isinstance(value, Mapping):
        return "(a table)"
    if key in _HIDDEN_KEYS or any(may_be_secret(key, text) for text in _texts(value)):
        return HIDDEN
    text = visible(json.dumps(masked_url(value) if isinstance(value, str) else value, ensure_ascii=False, default=str))
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def may_be_secret(key: str, value: object) -> bool:
    """Whether the name of a setting or its look says that `value` is better not shown."""
    return bool(_SECRET_KEY.search(key)) or (
        isinstance(value, str) and (begins_as_key(value) or bool(_RANDOM.match(value)))
    )


def masked_url(url: str) -> str:
    """`url` without its password. When it is unclear where a password ends, more is hidden, never less."""
    scheme, separator, rest = url.partition("://")
    host = re.sub(r"\[[^]]*]", "", rest.partition("/")[0])
    if separator and "@" not in rest and re.search(r":(?!\d*(,|\?|$))", host):
        return f"{scheme}://{HIDDEN}"
    without_password = _USER_INFO.sub(rf"\g<before>:{HIDDEN}@", url)
    return _SECRET_PARAMETER.sub(rf"\g<name>{HIDDEN}", without_password)


def _texts(value: object) -> Iterator[str]:
    """Every text in a value, and an empty one so that a number under a secret key is looked at too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    else:
        yield ""
