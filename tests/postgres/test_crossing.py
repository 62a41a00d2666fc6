"""Several processes on one database: any of them stops, hastens and sees what another one runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio

from cos.agent.events import MessageDelta, TurnCompleted
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import Script, called, said
from cos.agent.records import ApprovalAnswer, TurnStatus
from cos.agent.tags import merge_tags
from cos.agent.tools import Tool
from cos.core.live import QueueChanged, ReplyGrew, Resync, SessionEvent, SessionTouched, SessionUpdated
from cos.core.neighbours import Neighbours
from cos.core.plugin_events import event_from, event_text
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.plugins.bill.events import CallRecorded
from tests.agent_bench import tool
from tests.core_bench import CoreBench, core_bench, listening
from tests.outage import Outage

WAITS: Script = [StreamStarted("m"), TextChunk("so far"), "hang"]


@pytest_asyncio.fixture
async def process(core_url: str, tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Makes the core of one more process on the database, which hears the others."""
    opened: list[Any] = []

    async def make(scripts: list[Script], *tools: Tool, **more: Any) -> CoreBench:
        opened.append(listening(core_url, tmp_path, scripts, *tools, **more))
        core: CoreBench = await opened[-1].__aenter__()
        return core

    yield make
    for context in opened:
        await context.__aexit__(None, None, None)


async def in_a_reply(core: CoreBench) -> tuple[UUID, UUID]:
    """A session and its turn, which waits in its first model call."""
    accepted = await core.send("first")
    await core.when(1, MessageDelta)
    assert accepted.session_id is not None
    assert accepted.turn_id is not None
    return accepted.session_id, accepted.turn_id


async def until(holds: Callable[[], Any]) -> Any:
    """What `holds` answers once that is true; it may be a coroutine function."""
    async with asyncio.timeout(20):
        while not (answer := await found if asyncio.iscoroutine(found := holds()) else found):
            await asyncio.sleep(0.005)
    return answer


async def test_any_process_stops_a_turn_once_and_no_other_turn(process: Callable[..., Any]) -> None:
    one, other = await process([WAITS, WAITS]), await process([])
    session, turn = await in_a_reply(one)
    assert not await other.dispatcher.stop(session, new_id()), "another turn than the one that was seen"
    assert not other.dispatcher.cancel(session), "it does not run here"
    answers = await asyncio.gather(*(other.dispatcher.stop(session, turn, "by Ann") for _ in range(5)))
    assert any(answers)
    end = await one.ended(turn)
    assert (end.status, end.stop_reason) == (TurnStatus.CANCELLED, "cancelled")
    assert await one.rows("SELECT cancel_reason, cancel_requested_by FROM turns") == [
        {"cancel_reason": "by Ann", "cancel_requested_by": other.database.boot_id}
    ]
    assert not await other.dispatcher.stop(session), "it has ended"
    assert not await other.dispatcher.stop(new_id()), "there is no such session"

    second = (await one.send("again", session)).turn_id
    assert not await other.dispatcher.stop(session, turn), "its successor is left alone"
    await one.when(2, MessageDelta)
    assert one.dispatcher.running(session) == second
    assert [event.status for event in await one.when(1, TurnCompleted)] == [TurnStatus.CANCELLED]


async def test_a_stop_ends_a_request_for_approval_and_cancels_it(process: Callable[..., Any]) -> None:
    one, other = await process([called(("c", "t", {})), said("never")], tool("t", risk="write")), await process([])
    one.hooks.register("pre_tool_call", lambda: {"action": "approve"}, source="p")
    accepted = await one.send("go")
    await one.requested()
    assert await other.dispatcher.stop(accepted.session_id, accepted.turn_id)
    assert (await one.ended(accepted.turn_id)).status is TurnStatus.CANCELLED
    assert [row["status"] for row in await one.rows("SELECT status FROM approvals")] == ["cancelled"]
    await one.history(accepted.session_id)


async def test_a_wish_that_was_not_heard_is_found(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [WAITS]) as one, core_bench(core_url, tmp_path, []) as other:
        session, turn = await in_a_reply(one)
        assert await other.dispatcher.stop(session, turn)
        await one.dispatcher.cancelling.hear(f"{new_id()} {turn}")
        assert one.dispatcher.running(session) == turn, "that was for another process"
        await one.dispatcher.cancelling.look()
        assert (await one.ended(turn)).status is TurnStatus.CANCELLED


async def test_the_turn_of_a_dead_process_is_closed_by_whoever_stops_it(
    core_url: str, process: Callable[..., Any]
) -> None:
    gone, other = await Database(core_url).open(), await process([said("fine")])
    session, turn = await orphan(gone)
    await gone.close()
    await until(lambda: stopped(other, session))
    rows = await other.rows("SELECT status FROM turns")
    assert [row["status"] for row in rows] == ["interrupted"]
    assert any(isinstance(event, SessionTouched) for event in other.events), "its own surfaces are told, too"
    assert (await other.ask("go on", session)).text == "fine"
    assert turn


async def orphan(database: Database) -> tuple[UUID, UUID]:
    """A session with an open turn that no Dispatcher runs."""
    journal = PostgresJournal(database)
    session = await journal.create_session(NewSession(profile_id="home", source="cli"))
    turn = TurnInfo(profile_id="home", session_id=session, turn_id=new_id())
    await journal.start_turn(turn, UserMessage(text="go"))
    return session, turn.turn_id


async def stopped(core: CoreBench, session: UUID) -> bool:
    await core.dispatcher.stop(session)
    return not await core.rows("SELECT 1 FROM turns WHERE completed_at IS NULL")


async def test_a_message_does_not_wait_for_a_process_that_is_gone(core_url: str, process: Callable[..., Any]) -> None:
    gone, other = await Database(core_url).open(), await process([said("fine")])
    session, _ = await orphan(gone)
    await gone.close()
    await other.send("are you there?", session)
    await until(lambda: started(other, session))
    assert (await other.when(1, TurnCompleted))[0].text == "fine"


async def started(core: CoreBench, session: UUID) -> bool:
    await core.dispatcher.start_waiting(session, new_id())
    return not await core.sessions.queue(session)


@pytest.mark.parametrize("how", ["a message", "a stop", "the sweep"])
async def test_a_turn_that_this_process_lost_when_it_began_is_closed(core_url: str, tmp_path: Path, how: str) -> None:
    """Kept by the database, but the answer was lost: it is open, its owner lives, and nobody runs it."""
    async with core_bench(core_url, tmp_path, [said("fine")]) as core:
        session, turn = await orphan(core.database)
        if how == "a message":
            assert (await core.ask("hello?", session)).text == "fine"
        elif how == "a stop":
            assert await core.dispatcher.stop(session, turn)
        else:
            await core.dispatcher.cancelling.close_lost()
        (row,) = await core.rows(f"SELECT status FROM turns WHERE id = '{turn}'")
        assert row["status"] == "interrupted"


async def test_now_stops_the_turn_of_another_process_and_is_next_before_what_waits(process: Callable[..., Any]) -> None:
    one, other = await process([WAITS, said("2"), said("3")]), await process([])
    session, turn = await in_a_reply(one)
    await other.send("later", session)
    now = await other.send("urgent", session, mode="now")
    assert now.turn_id is None
    assert (await one.ended(turn)).status is TurnStatus.CANCELLED
    await one.when(3, TurnCompleted)
    assert [text for text in await one.texts(session) if text] == ["first", "so far", "urgent", "2", "later", "3"]
    await one.idle(session)
    assert not (await other.sessions.get(session)).queue_paused


async def test_a_stop_pauses_the_queue(process: Callable[..., Any]) -> None:
    one, other = await process([WAITS, said("2")]), await process([])
    session, turn = await in_a_reply(one)
    await other.send("later", session)
    assert await other.dispatcher.stop(session, turn)
    await one.ended(turn)
    await until(lambda: paused(other, session))
    assert [message.text for message in await other.sessions.queue(session)] == ["later"]
    await one.dispatcher.resume_queue(session)
    await one.when(2, TurnCompleted)
    assert [text for text in await one.texts(session) if text] == ["first", "so far", "later", "2"]


@pytest.mark.parametrize("waits", [[], ["later"]])
async def test_a_message_sent_while_a_turn_is_being_stopped_goes_on(
    core_url: str, tmp_path: Path, waits: list[str]
) -> None:
    replies = [said("2"), said("3")][: len(waits) + 1]
    async with core_bench(core_url, tmp_path, [WAITS, *replies]) as one, core_bench(core_url, tmp_path, []) as other:
        session, turn = await in_a_reply(one)
        for text in waits:
            await other.send(text, session)
        assert await other.dispatcher.stop(session, turn)
        await other.send("new", session)
        await one.dispatcher.cancelling.look()
        await one.when(2 + len(waits), TurnCompleted)
        said_by_user = [text for text in await one.texts(session) if text in {"first", "later", "new"}]
        assert said_by_user == ["first", *waits, "new"]


async def test_what_a_process_leaves_when_it_ends_is_taken_by_whoever_sent_it(process: Callable[..., Any]) -> None:
    """As `cos ask` does, which runs one turn and would cancel the next."""
    one, other = await process([WAITS]), await process([said("2")])
    one.dispatcher.goes_on_alone = False
    session, turn = await in_a_reply(one)
    await other.send("mine", session)
    await other.dispatcher.go_on()
    assert not [event for event in other.events if isinstance(event, TurnCompleted)]
    one.dispatcher.turns.of(session).state.cancel.cancel()
    await one.ended(turn)
    await one.idle(session)
    await other.dispatcher.go_on()
    assert await other.sessions.queue(session), "it is paused: somebody has stopped the turn"
    await other.dispatcher.resume_queue(session)
    await other.when(1, TurnCompleted)


async def test_a_message_left_behind_a_turn_that_ended_is_started(process: Callable[..., Any]) -> None:
    gate = asyncio.Event()

    async def waits(*arguments: Any) -> Any:
        await gate.wait()
        return await tool("t").run({}, *arguments[1:])

    one, other = await process([called(("c", "t", {})), said("1")], tool("t", waits)), await process([said("2")])
    one.dispatcher.goes_on_alone = False
    accepted = await one.send("first")
    await other.send("mine", accepted.session_id)
    gate.set()
    await one.ended(accepted.turn_id)
    await one.idle(accepted.session_id)
    assert await other.sessions.queue(accepted.session_id)
    await other.dispatcher.go_on()
    told = [event for event in other.events if isinstance(event, QueueChanged)]
    assert told[-1].waiting == 0, "the surfaces of the process that took it hear of it"
    assert (await other.when(1, TurnCompleted))[0].text == "2"
    await other.dispatcher.go_on()


async def paused(core: CoreBench, session: UUID) -> bool:
    return (await core.sessions.get(session)).queue_paused


async def test_a_reply_is_read_elsewhere_as_it_grows_with_few_words(process: Callable[..., Any], core_url: str) -> None:
    chunks = [TextChunk(f"{number} ") for number in range(300)]
    one, other = await process([[StreamStarted("m"), *chunks, "hang"]]), await process([])
    heard: list[str] = []
    async with await psycopg.AsyncConnection.connect(core_url, autocommit=True) as connection:
        await connection.execute("LISTEN cos_sessions")
        session, turn = await in_a_reply(one)
        whole = "".join(chunk.text for chunk in chunks)
        reply = await until(lambda: whole_reply(other, session, whole))
        assert (reply.turn_id, reply.message.partial) == (turn, True)
        await other.when(1, ReplyGrew)
        await other.dispatcher.stop(session, turn)
        await one.ended(turn)
        async for notify in connection.notifies(timeout=0.5):
            heard.append(notify.payload)
    assert len(heard) < 20, "not one for each of 300 chunks"
    assert max(len(payload) for payload in heard) < 8000
    assert await other.sessions.open_reply(session) is None


async def whole_reply(core: CoreBench, session: UUID, text: str) -> Any:
    reply = await core.sessions.open_reply(session)
    return reply if reply is not None and reply.message.text == text else None


async def test_a_busy_turn_is_told_at_most_ten_times_a_second(core_url: str, database: Database) -> None:
    journal = PostgresJournal(database)
    session, _ = await orphan(database)
    async with await psycopg.AsyncConnection.connect(core_url, autocommit=True) as connection:
        await connection.execute("LISTEN cos_sessions")
        telling = asyncio.ensure_future(database.teller.run())
        began, turn = asyncio.get_running_loop().time(), TurnInfo(profile_id="home", session_id=session, turn_id=_)
        for number in range(200):
            await journal.append_message(turn, UserMessage(text=str(number)))
        took = asyncio.get_running_loop().time() - began
        heard = [notify async for notify in connection.notifies(timeout=0.5)]
        telling.cancel()
        await asyncio.wait({telling})
    assert 1 <= len(heard) <= 10 * took + 3


async def test_what_happens_is_heard_within_a_second(process: Callable[..., Any]) -> None:
    one, other = await process([called(("c", "t", {})), said("done")], tool("t", risk="write")), await process([])
    one.hooks.register("pre_tool_call", lambda: {"action": "approve"}, source="p")

    async def heard(session: UUID, what: Callable[[], Any]) -> Any:
        other.events.clear()
        async with asyncio.timeout(1.5):
            answer = await what()
            while not any(isinstance(it, SessionEvent) and it.session_id == session for it in other.events):
                await asyncio.sleep(0.002)
        return answer

    accepted = await one.send("go")
    session = accepted.session_id
    await one.requested()
    (pending,) = await until(other.desk.pending)
    answer = ApprovalAnswer(decision="allowed", answered_by="there")
    one.events.clear()
    await other.desk.answer(pending.id, answer)
    await until(lambda: [event for event in one.events if isinstance(event, TurnCompleted)])
    await one.idle(session)
    assert not await one.desk.pending()
    await heard(session, lambda: one.sessions.pause_queue(session, paused=True))
    await heard(session, lambda: one.options.set_model(session, "claude-opus-5-5"))
    await heard(session, lambda: one.sessions.pause_queue(session, paused=False))


async def test_what_means_nothing_is_said_once_and_passed_over(
    process: Callable[..., Any], core_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = await process([]), await process([])
    session = await one.journal.create_session(NewSession(profile_id="home", source="cli"))
    garbage = ["", "hello", "a b c d", f"{new_id()} {new_id()}", f"{new_id()} {new_id()} home", "x" * 7000, "{}",
               f"{new_id()} {session} home session.rewound x,y"]  # fmt: skip
    with caplog.at_level(logging.WARNING):
        async with await psycopg.AsyncConnection.connect(core_url, autocommit=True) as connection:
            for channel in ("cos_sessions", "cos_approvals", "cos_cancels"):
                for payload in garbage:
                    await connection.execute("SELECT pg_notify(%s, %s)", [channel, payload])
        for teller, hearer, paused in ((one, other, True), (other, one, False)):
            hearer.events.clear()
            await teller.sessions.pause_queue(session, paused=paused)
            await hearer.when(1, SessionTouched)
    warned = [record.getMessage() for record in caplog.records if "which means nothing here" in record.getMessage()]
    assert len(warned) == 2 * 3, "once for each channel and process"


async def test_whoever_was_cut_off_looks_at_what_others_do(
    process: Callable[..., Any], postgres_admin: psycopg.Connection
) -> None:
    one = await process([])
    postgres_admin.execute(
        "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity"
        " WHERE starts_with(application_name, %s) AND query LIKE 'LISTEN%%'",
        [f"cos {one.database.boot_id}"],
    )
    assert (await one.when(1, Resync)) == [Resync(of_others=True)]


async def test_living_processes_come_back_from_an_outage_and_keep_their_turns(
    process: Callable[..., Any], postgres_admin: psycopg.Connection, core_url: str
) -> None:
    """Turns that hang through it go on, nobody sweeps them, and any process still stops any turn."""
    one, other = await process([WAITS]), await process([WAITS])
    first, second = await in_a_reply(one), await in_a_reply(other)
    outage = Outage(postgres_admin, core_url)
    outage.begin()
    assert await one.database.pulse.ask()
    outage.end()
    sweeper = other.dispatcher._stored.sweeper
    await until(lambda: not other.database.pulse.trouble)
    assert await sweeper.sweep() == []
    assert await other.dispatcher.stop(*first)
    assert await one.dispatcher.stop(*second)
    assert (await one.ended(first[1])).status is TurnStatus.CANCELLED
    assert (await other.ended(second[1])).status is TurnStatus.CANCELLED


def recorded(**more: Any) -> CallRecorded:
    turn = TurnInfo(
        profile_id="home", session_id=new_id(), turn_id=new_id(), parent_turn_id=new_id(),
        tags=merge_tags(["client:acme"]), depth=1,
    )  # fmt: skip
    values: dict[str, Any] = {
        "ordinal": 1, "model": "mödel", "cause": "step", "status": "ok", "cost_usd": Decimal("0.000000012345678901"),
        "is_made_up": False, "input_tokens": 3, "output_tokens": None, "cache_read_tokens": 0,
        "cache_write_5m_tokens": 0, "cache_write_1h_tokens": 0, "ttft_ms": 7, "duration_ms": None,
    }  # fmt: skip
    return CallRecorded(turn=turn, **values | more)


async def test_a_plugins_event_reaches_other_processes_whole(core_url: str, database: Database) -> None:
    heard: list[Any] = []
    there = Neighbours(new_id(), heard.append, {CallRecorded.type: CallRecorded})
    without = Neighbours(new_id(), heard.append)
    event = recorded()
    async with await psycopg.AsyncConnection.connect(core_url, autocommit=True) as connection:
        await connection.execute("LISTEN cos_sessions")
        database.teller.happened(event)
        database.teller.happened(recorded(model="m" * 9000))
        await database.teller.flush()
        payloads = [notify.payload async for notify in connection.notifies(timeout=5, stop_after=2)]
    for payload in payloads:
        await there.hear(payload)
    await without.hear(payloads[1])
    assert event in heard
    assert [type(it) for it in heard] == [SessionTouched, CallRecorded, SessionTouched], "too long, whole, unknown here"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"turn_id": "x"}', '{"own": {"decimal": "x"}}',
     event_text(recorded()).replace('"model"', '"modell"'), event_text(recorded()).replace("client:acme", "bad tag")],
    ids=["empty", "list", "nothing in it", "null", "one key", "wrong amount", "unknown key", "bad tag"],
)  # fmt: skip
def test_what_is_no_event_of_the_plugin_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        event_from(CallRecorded, new_id(), "home", text)


async def test_a_session_that_changes_is_a_row_that_changed(process: Callable[..., Any]) -> None:
    one, other = await process([said("hi")]), await process([])
    await one.ask("hello")
    await until(lambda: [event for event in other.events if isinstance(event, SessionTouched)])
    assert not [event for event in other.events if isinstance(event, SessionUpdated)]
