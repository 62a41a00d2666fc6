"""The filter of the list of sessions: what each piece means, and the sentence for what means nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cos.core.session_query import LONGEST, CostBound, SessionQuery, SessionQueryError, parse_session_query

NOW = datetime(2026, 11, 30, 14, 2, tzinfo=UTC)
PROFILES = ("demo", "home", "work")


def parsed(text: str) -> SessionQuery:
    return parse_session_query(text, now=NOW, profiles=PROFILES)


def test_nothing_lets_everything_through() -> None:
    assert parsed("").is_empty
    assert parsed("  # ").is_empty


def test_every_piece_has_its_meaning_and_all_hold_together() -> None:
    query = parsed('retry "two words" #client:acme #ticket state:waiting profile:work since:2h fix: 12:30')
    assert query == SessionQuery(
        words=("retry", "two words", "fix:", "12:30"),
        tags=("client:acme",),
        tag_keys=("ticket",),
        profile_id="work",
        state="waiting",
        since=NOW - timedelta(hours=2),
    )


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("since:30m", NOW - timedelta(minutes=30)),
        ("since:3d", NOW - timedelta(days=3)),
        ("since:1w", NOW - timedelta(weeks=1)),
        ("since:2026-11-01", datetime(2026, 11, 1).astimezone()),
    ],
)
def test_a_time_is_a_span_or_a_day(text: str, since: datetime) -> None:
    assert parsed(text).since == since


def test_a_tag_that_is_being_typed_is_its_key_first() -> None:
    assert parsed("#client").tag_keys == parsed("#client:").tag_keys == ("client",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("state:wating", "state:wating names no state; did you mean state:waiting?"),
        ("state:w", "did you mean state:waiting?"),
        ("state:", "it takes waiting, running, queued, failed, interrupted, cancelled, idle, unseen, archived"),
        ("status:idle", "status: is no condition; did you mean state:idle?"),
        ("profle:work", "profle: is no condition; did you mean profile:work?"),
        ("profile:wrok", "profile:wrok names no profile; did you mean profile:work?"),
        ("profile:zzz", "it takes demo, home, work"),
        ("since:yesterday", "since:yesterday is no time; write since:30m"),
        ("since:2026-13-40", "is no time"),
        ("since:999999w", "is no time"),
        ("since:٣d", "is no time"),
        ("cost:>1", "CommonBill is not enabled, so nobody knows what sessions cost; take cost: out"),
        ("state:idle state:failed", "state: stands twice"),
        ("#a:b:c", "exactly one colon"),
        ("#Client:acme", "the key takes only lower-case letters"),
        ("x" * (LONGEST + 1), "it takes at most"),
    ],
)
def test_a_piece_that_means_nothing_is_said_with_what_could_be_meant(text: str, sentence: str) -> None:
    with pytest.raises(SessionQueryError) as caught:
        parsed(text)
    assert sentence in str(caught.value)


@given(st.text(max_size=250))
def test_no_text_breaks_it(text: str) -> None:
    try:
        query = parsed(text)
    except SessionQueryError:
        return
    assert "\x00" not in "".join(query.words)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("cost:>1", CostBound(">", Decimal(1))),
        ("cost:>=0.50", CostBound(">=", Decimal("0.50"))),
        ("cost:<$2", CostBound("<", Decimal(2))),
        ("cost:<=.25", CostBound("<=", Decimal("0.25"))),
    ],
)
def test_a_bound_of_cost_keeps_its_digits(text: str, bound: CostBound) -> None:
    query = parse_session_query(f"fix {text}", now=NOW, profiles=PROFILES, knows_cost=True)
    assert (query.cost, query.words) == (bound, ("fix",))
    assert not query.is_empty


@pytest.mark.parametrize(
    "text", ["cost:1", "cost:", "cost:>", "cost:>one", "cost:>-1", "cost:>1e9", "cost:>١", "cost:=1"]
)
def test_what_is_no_bound_of_cost_is_said(text: str) -> None:
    with pytest.raises(SessionQueryError, match=r"is no bound in US dollars; write cost:>1"):
        parse_session_query(text, now=NOW, profiles=PROFILES, knows_cost=True)
