"""The filter of the list of sessions: what a person types, as what the database is asked for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, Literal, get_args

from cos.agent.errors import CosError, TagError
from cos.agent.tags import Tag
from cos.agent.text import storable

State = Literal[
    "waiting", "running", "queued", "failed", "interrupted", "cancelled", "idle", "unseen", "archived"
]  # fmt: skip
STATES: Final[tuple[str, ...]] = get_args(State)
KEYS: Final = ("profile", "state", "since", "cost")
LONGEST = 200
"""Characters of a filter."""

_PIECES = re.compile(r'"([^"]*)"|(\S+)')
_SPAN = re.compile(r"([0-9]{1,6})([mhdw])")
_BOUND = re.compile(r"([<>]=?)\$?([0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_OTHER_NAMES: Final = {"status": "state"}
_TAG_KEY = re.compile(r"[a-z0-9_-]+:?")


class SessionQueryError(CosError):
    """A piece of a filter that means nothing; the sentence names it and what could be meant."""


@dataclass(frozen=True, slots=True)
class CostBound:
    """What a session with its children has cost, so far as it is known."""

    operator: Literal[">", ">=", "<", "<="]
    usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuery:
    """All conditions hold together; the default lets every session through that is not archived."""

    words: tuple[str, ...] = ()
    """Each is somewhere in the title or the tags, in any case."""
    tags: tuple[str, ...] = ()
    """Whole tags of the session itself."""
    tag_keys: tuple[str, ...] = ()
    """The session has some tag with each of these keys."""
    profile_id: str | None = None
    state: State | None = None
    since: datetime | None = None
    """Its newest activity is no older."""
    cost: CostBound | None = None

    @property
    def is_empty(self) -> bool:
        return self == SessionQuery()


def parse_session_query(
    text: str, *, now: datetime, profiles: Collection[str], knows_cost: bool = False
) -> SessionQuery:
    """Free words, "a phrase", `#key:value`, `#key`, `profile:`, `state:`, `since:2h|3d|2026-11-01`, `cost:>1`.

    `knows_cost`: somebody keeps account of what sessions cost.

    Raises:
        SessionQueryError: one sentence about the first piece that means nothing.
    """
    if len(text) > LONGEST:
        raise SessionQueryError(f"the filter has {len(text):,} characters; it takes at most {LONGEST}")
    words: list[str] = []
    tags: list[str] = []
    tag_keys: list[str] = []
    named: dict[str, str] = {}
    for phrase, piece in _PIECES.findall(storable(text)):
        key, colon, value = piece.partition(":")
        if piece.startswith("#") and len(piece) > 1:
            is_key = _TAG_KEY.fullmatch(piece[1:])
            (tag_keys if is_key else tags).append(piece[1:].removesuffix(":") if is_key else _tag(piece[1:]))
        elif colon and _is_key(key, value):
            if key in named:
                raise SessionQueryError(f"{key}: stands twice; keep one of {named[key]!r} and {value!r}")
            named[key] = value
        elif phrase or (piece and piece != "#"):
            words.append(phrase or piece)
    if "cost" in named and not knows_cost:
        raise SessionQueryError("CommonBill is not enabled, so nobody knows what sessions cost; take cost: out")
    profile, state = named.get("profile"), named.get("state")
    return SessionQuery(
        words=tuple(words),
        tags=tuple(tags),
        tag_keys=tuple(tag_keys),
        profile_id=None if profile is None else _one_of("profile", profile, sorted(profiles)),
        state=None if state is None else _one_of("state", state, STATES),  # type: ignore[arg-type]  # one of `STATES`
        since=_since(named["since"], now) if "since" in named else None,
        cost=_cost(named["cost"]) if "cost" in named else None,
    )


def _is_key(key: str, value: str) -> bool:
    """Whether `key:value` is a condition; a text that only has a colon is a word.

    Raises:
        SessionQueryError: it is nearly a condition.
    """
    if key in KEYS:
        return True
    near = difflib.get_close_matches(_OTHER_NAMES.get(key, key), ("profile", "state", "since"), 1, 0.76)
    if near:
        raise SessionQueryError(f"{key}: is no condition; did you mean {near[0]}:{value}?")
    return False


def _tag(text: str) -> str:
    try:
        return Tag(text)
    except TagError as error:
        raise SessionQueryError(str(error)) from error


def _one_of(key: str, value: str, allowed: Collection[str]) -> str:
    if value in allowed:
        return value
    near = difflib.get_close_matches(value, allowed, 1, 0.5)
    begun = [name for name in allowed if value and name.startswith(value)]
    hint = f"did you mean {key}:{(begun or near)[0]}?" if begun or near else f"it takes {', '.join(allowed)}"
    raise SessionQueryError(f"{key}:{value} names no {key}; {hint}")


def _cost(value: str) -> CostBound:
    bound = _BOUND.fullmatch(value)
    if bound is None:
        raise SessionQueryError(
            f"cost:{value} is no bound in US dollars; write cost:>1, cost:>=0.50, cost:<2 or cost:<=2"
        )
    return CostBound(bound[1], Decimal(bound[2]))  # type: ignore[arg-type]  # the pattern allows no other


def _since(value: str, now: datetime) -> datetime:
    """How long ago, or a day in the user's time zone."""
    span = _SPAN.fullmatch(value)
    try:
        if span:
            return now - timedelta(**{_UNITS[span[2]]: int(span[1])})
        return datetime.strptime(value, "%Y-%m-%d").astimezone()
    except (ValueError, OverflowError):
        raise SessionQueryError(
            f"since:{value} is no time; write since:30m, since:2h, since:3d, since:1w or since:2026-11-01"
        ) from None
