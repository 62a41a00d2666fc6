"""The line above a turn: time of work and time of waiting apart, the same live and loaded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from cos.agent.events import Usage
from cos.agent.providers.scripted import called, said
from cos.agent.records import TurnStatus
from cos.tui.turn_time import TurnClock, ended_header
from tests.fix_home import CoreHome
from tests.tui.chat import chat_in
from tests.tui.test_history import assert_same

START = datetime(2020, 1, 1, 12, 0, tzinfo=UTC)
ONE, TWO = UUID(int=1), UUID(int=2)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def words(text: str) -> str:
    """Without the moment, which depends on the time zone."""
    return text.partition(" · ")[2]


def test_a_running_turn_counts_work_and_waiting_apart() -> None:
    clock = TurnClock(UUID(int=9), START)
    assert words(clock.header(after(42))) == "running for 42s"
    clock.asked(ONE, after(50))
    assert words(clock.header(after(62))) == "waiting for you 12s · worked 50s"
    clock.answered(ONE, after(110))
    assert words(clock.header(after(120))) == "running for 1m 0s · waited 1m 0s for you"


def test_requests_that_are_open_together_are_one_wait() -> None:
    clock = TurnClock(UUID(int=9), START)
    clock.asked(ONE, after(10))
    clock.asked(TWO, after(20))
    clock.answered(ONE, after(30))
    assert words(clock.header(after(35))) == "waiting for you 25s · worked 10s"
    clock.answered(TWO, after(40))
    assert words(clock.header(after(45))) == "running for 15s · waited 30s for you"


def test_an_ended_turn_says_what_it_waited_for_the_user_only_if_it_did() -> None:
    minute, used = timedelta(seconds=252), Usage(input_tokens=950, output_tokens=3)
    whole = ended_header(START, minute, 180.4, TurnStatus.FAILED, used, more=["$0.04"])
    assert words(whole) == "1m 11s · waited 3m 0s for you · failed · 950 in · 3 out tokens · $0.04"
    assert words(ended_header(START, minute, 0.3, TurnStatus.COMPLETED, used)) == "4m 11s · 950 in · 3 out tokens"


def test_a_moment_of_today_has_no_date() -> None:
    now = datetime.now(UTC)
    assert TurnClock(ONE, now).header(now).startswith(now.astimezone().strftime("%H:%M · "))
    assert TurnClock(ONE, START).header(now).startswith(START.astimezone().strftime("%Y-%m-%d %H:%M · "))


async def test_a_turn_that_waited_says_so_while_it_waits_and_when_it_is_loaded(core_home: CoreHome) -> None:
    core_home.script(called(("c1", "terminal", {"command": "touch one"})), said("done"))
    async with chat_in(core_home) as chat:
        await chat.say("one")
        await chat.requests(1)
        await chat.until(lambda: "waiting for you" in chat.text().splitlines()[0])
        await chat.core.database.fetch("UPDATE turns SET started_at = started_at - interval '1 hour'")
        await chat.core.database.fetch("UPDATE approvals SET requested_at = requested_at - interval '3 minutes'")
        await chat.answer("y")
        await chat.rests()
        assert "· waited 3m " in chat.text().splitlines()[0]
        assert chat.control.current is not None
        (turn,) = (await chat.core.sessions.transcript(chat.control.current)).turns.values()
        assert 180 <= turn.waited_seconds < 200


async def test_a_turn_that_still_waits_is_loaded_with_its_wait(core_home: CoreHome) -> None:
    core_home.script(called(("c1", "terminal", {"command": "touch one"})), said("done"))
    async with chat_in(core_home) as chat:
        await chat.say("one")
        await chat.requests(1)
        assert chat.control.current is not None
        (turn,) = (await chat.core.sessions.transcript(chat.control.current)).turns.values()
        assert turn.waits_since is not None and len(turn.open_requests) == 1
        await chat.answer("y")
        await chat.rests()
        await assert_same(chat)
