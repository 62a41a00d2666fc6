"""Messages while a turn runs: into the turn, in its place, or behind it; and the queue that its user edits."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio

from cos.agent.errors import NotWaitingError
from cos.agent.events import MessageAdded, MessageDelta, TurnCompleted
from cos.agent.identity import TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import Script, called, said
from cos.agent.records import TurnStatus
from cos.agent.tools import Tool
from cos.core.errors import DatabaseError, SessionError
from cos.core.inbound import Inbound
from cos.core.live import QueueChanged, SessionUpdated
from cos.core.neighbours import CHANNEL
from cos.core.plugin_api import Registrations
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.listener import Listener
from cos.core.postgres.sessions import Sessions, enqueue_in
from cos.core.postgres.sweep import sweep_orphans
from cos.core.sessions import QueuedMessage
from tests.agent_bench import tool
from tests.core_bench import CoreBench, core_bench

ROOT = Path(__file__).parents[2]
WAITS: Script = [StreamStarted("m"), TextChunk("so far"), "hang"]


@dataclass
class Gate:
    """A tool that runs until it is let go."""

    entered: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def tool(self) -> Tool:
        async def waits(*arguments: Any) -> Any:
            self.entered.set()
            await self.opened.wait()
            return await tool("t").run({}, *arguments[1:])

        return tool("t", waits)


async def at_the_tool(core: CoreBench, gate: Gate) -> UUID:
    """A session whose turn runs the gate's tool."""
    session = (await core.send("first")).session_id
    await gate.entered.wait()
    assert session is not None
    return session


async def in_a_reply(core: CoreBench) -> UUID:
    """A session whose turn waits in its first model call."""
    session = (await core.send("first")).session_id
    await core.when(1, MessageDelta)
    assert session is not None
    return session


async def words(core: CoreBench, session: UUID) -> list[str]:
    return [text for text in await core.texts(session) if text]


async def ended(core: CoreBench, session: UUID, turns: int) -> list[TurnStatus]:
    events = await core.when(turns, TurnCompleted)
    await core.idle(session)
    return [event.status for event in events]


@pytest_asyncio.fixture
async def two(core_url: str, tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Makes cores of two processes on one database."""
    opened: list[Any] = []

    async def make(scripts: list[Script], *tools: Tool) -> CoreBench:
        context = core_bench(core_url, tmp_path, scripts, *tools)
        opened.append(context)
        return await context.__aenter__()

    yield make
    for context in opened:
        await context.__aexit__(None, None, None)


async def test_a_steer_goes_into_the_running_turn_and_out_of_the_queue(core_url: str, tmp_path: Path) -> None:
    gate = Gate()
    async with core_bench(core_url, tmp_path, [called(("c", "t", {})), said("ok"), said("2")], gate.tool) as core:
        session = await at_the_tool(core, gate)
        await core.send("later", session)
        accepted = await core.send("use the blue one", session, mode="steer")
        assert accepted.turn_id is None
        assert [(row.text, row.mode) for row in await core.sessions.queue(session)] == [
            ("later", "queue"), ("use the blue one", "steer"),
        ]  # fmt: skip
        gate.opened.set()
        assert await ended(core, session, 2) == [TurnStatus.COMPLETED] * 2
        assert await words(core, session) == ["first", "use the blue one", "ok", "later", "2"]
        added = [event for event in await core.when(1, MessageAdded) if event.message_id == accepted.message_id]
        assert [event.message for event in added] == [UserMessage(text="use the blue one", origin="steered")]
        assert [event.waiting for event in await core.when(3, QueueChanged)][:3] == [1, 2, 1]


async def test_any_process_can_steer_a_turn(two: Callable[..., Any]) -> None:
    gate = Gate()
    one, other = await two([called(("c", "t", {})), said("ok")], gate.tool), await two([])
    session = await at_the_tool(one, gate)
    accepted = await other.send("from the other", session, mode="steer")
    gate.opened.set()
    await ended(one, session, 1)
    assert await words(one, session) == ["first", "from the other", "ok"]
    end = await other.sessions.end_of_turn(accepted.message_id)
    assert end is not None
    assert end.status is TurnStatus.COMPLETED


@pytest.mark.parametrize("how", ["idle", "cancelled"])
async def test_a_steer_that_no_turn_takes_becomes_the_next_prompt(core_url: str, tmp_path: Path, how: str) -> None:
    gate = Gate()
    async with core_bench(core_url, tmp_path, [called(("c", "t", {})), said("1"), said("2")], gate.tool) as core:
        session = await at_the_tool(core, gate)
        if how == "cancelled":
            await core.send("steer", session, mode="steer")
            core.dispatcher.cancel(session)
            await ended(core, session, 1)
            await core.dispatcher.resume_queue(session)
        else:
            gate.opened.set()
            await ended(core, session, 1)
            await core.send("steer", session, mode="steer")
        await ended(core, session, 2)
        prompts = [message for message in await core.history(session) if message.role == "user"]
        assert prompts == [UserMessage(text="first"), UserMessage(text="steer")]
        assert await core.sessions.queue(session) == []
        assert len(await core.rows("SELECT id FROM turns")) == 2


async def test_a_steer_is_not_taken_by_a_later_turn_than_the_one_it_was_meant_for(
    core_url: str, tmp_path: Path
) -> None:
    scripts = [WAITS, called(("c", "t", {})), said("b"), said("c")]
    async with core_bench(core_url, tmp_path, scripts, tool("t")) as core:
        session = await in_a_reply(core)
        await core.send("second", session)
        await core.send("into the first", session, mode="steer")
        core.dispatcher.cancel(session)
        await ended(core, session, 1)
        await core.dispatcher.resume_queue(session)
        await ended(core, session, 3)
        assert await words(core, session) == ["first", "so far", "second", "b", "into the first", "c"]


async def test_the_same_steer_sent_twice_goes_in_once(core_url: str, tmp_path: Path) -> None:
    gate = Gate()
    async with core_bench(core_url, tmp_path, [called(("c", "t", {})), said("ok")], gate.tool) as core:
        session = await at_the_tool(core, gate)
        for _ in range(2):
            await core.send("x", session, mode="steer", client_message_id="m1")
        gate.opened.set()
        await ended(core, session, 1)
        again = await core.send("x", session, mode="steer", client_message_id="m1")
        assert again.turn_id == (await core.when(1, TurnCompleted))[0].turn.turn_id
        row = await core.sessions.get(session)
        assert not await core.sessions.enqueue(row, new_id(), UserMessage(text="x"), "cli", "m1")
        assert await words(core, session) == ["first", "x", "ok"]


async def test_now_stops_the_turn_and_runs_before_what_waits_which_then_goes_on(core_url: str, tmp_path: Path) -> None:
    gate = Gate()
    scripts = [called(("c", "t", {})), said("now!"), said("b"), said("c")]
    async with core_bench(core_url, tmp_path, scripts, gate.tool) as core:
        session = await at_the_tool(core, gate)
        await core.send("second", session)
        await core.send("third", session, mode="steer")
        await core.send("stop that", session, mode="now")
        statuses = await ended(core, session, 4)
        assert statuses == [TurnStatus.CANCELLED, *[TurnStatus.COMPLETED] * 3]
        texts = await words(core, session)
        assert texts == ["first", "stop that", "now!", "second", "b", "third", "c"]
        assert not (await core.sessions.get(session)).queue_paused
        (result,) = [message for message in await core.history(session) if message.role == "tool_result"]
        assert "by the user's new message" in result.model_dump()["content"]


async def test_what_steers_after_a_message_was_sent_now_goes_into_the_turn_of_that_one(
    core_url: str, tmp_path: Path
) -> None:
    gate = Gate()
    scripts = [called(("c", "t", {})), said("now!"), said("b")]
    async with core_bench(core_url, tmp_path, scripts, gate.tool) as core:
        session = await at_the_tool(core, gate)
        await core.send("second", session)
        row, now = await core.sessions.get(session), new_id()

        async def keep() -> None:
            await core.sessions.enqueue(row, now, UserMessage(text="stop that"), "cli", None, "now")
            await core.sessions.enqueue(row, new_id(), UserMessage(text="and be quick"), "cli", None, "steer")

        await core.dispatcher.send_now(session, now, keep)
        await ended(core, session, 3)
        assert await words(core, session) == ["first", "stop that", "and be quick", "now!", "second", "b"]


async def test_now_goes_before_a_paused_queue_and_lets_it_go_on(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [WAITS, said("now!"), said("b")]) as core:
        session = await in_a_reply(core)
        await core.send("second", session)
        core.dispatcher.cancel(session)
        await ended(core, session, 1)
        accepted = await core.send("first of all", session, mode="now")
        assert accepted.turn_id is not None
        await ended(core, session, 3)
        assert await words(core, session) == ["first", "so far", "first of all", "now!", "second", "b"]


async def test_now_sent_twice_by_one_client_does_not_stop_itself(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [WAITS, WAITS]) as core:
        session = await in_a_reply(core)
        first = await core.send("x", session, mode="now", client_message_id="m1")
        await core.when(2, MessageDelta)
        row = await core.sessions.get(session)

        async def again() -> bool:
            return await core.sessions.enqueue(row, new_id(), UserMessage(text="x"), "cli", "m1", "now")

        assert first.message_id is not None
        await core.dispatcher.send_now(session, first.message_id, again)
        running = core.dispatcher.running(session)
        core.dispatcher.cancel(session, "the end")
        await ended(core, session, 2)
        assert running == (await core.when(2, TurnCompleted))[1].turn.turn_id


async def test_what_waits_is_edited_removed_and_hastened(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [WAITS, said("c"), said("b")]) as core:
        session = await in_a_reply(core)
        ids = [(await core.send(text, session)).message_id for text in ("a", "b", "c")]
        a, b, c = (id_ for id_ in ids if id_ is not None)
        await core.queue.remove(a)
        await core.queue.edit(b, "b, better")
        with pytest.raises(SessionError, match="an empty message cannot be sent; remove it"):
            await core.queue.edit(b, " \n")
        await core.queue.change_mode(b, "steer")
        assert [(row.text, row.mode) for row in await core.sessions.queue(session)] == [
            ("b, better", "steer"), ("c", "queue"),
        ]  # fmt: skip
        assert [event.waiting for event in await core.when(6, QueueChanged)] == [1, 2, 3, 2, 2, 2]
        await core.queue.change_mode(c, "now")
        assert (await ended(core, session, 3))[0] is TurnStatus.CANCELLED
        assert await words(core, session) == ["first", "so far", "c", "c", "b, better", "b"]
        for change in (core.queue.remove(c), core.queue.edit(c, "x"), core.queue.change_mode(c, "now")):
            with pytest.raises(NotWaitingError, match="has been sent to the model already"):
                await change
        with pytest.raises(NotWaitingError, match="was removed from the queue"):
            await core.queue.edit(a, "x")
        assert core.dispatcher.running(session) is None


@pytest.mark.parametrize("how", ["edit", "remove"])
async def test_a_change_between_the_reading_of_a_message_and_its_start_holds(
    core_url: str, tmp_path: Path, how: str
) -> None:
    async with core_bench(core_url, tmp_path, [said("ok")]) as core:

        async def context(profile_id: str) -> str:
            """Called when the message is read and its turn is not open yet."""
            (row,) = await core.rows("SELECT id FROM queued_messages")
            await (core.queue.edit(row["id"], "new") if how == "edit" else core.queue.remove(row["id"]))
            return "context"

        core.plugins.registrations["memory"] = Registrations(contexts=[context])
        accepted = await core.send("old")
        assert accepted.session_id is not None
        if how == "edit":
            await core.ended(accepted.turn_id)
        assert (accepted.turn_id is not None) is (how == "edit")
        assert await words(core, accepted.session_id) == (["new", "ok"] if how == "edit" else [])


async def test_a_change_of_the_queue_is_told_to_other_processes(two: Callable[..., Any]) -> None:
    one, other = await two([WAITS]), await two([])
    session = await in_a_reply(one)
    waiting = (await one.send("x", session)).message_id
    assert waiting is not None
    await other.queue.edit(waiting, "y")
    assert [row.text for row in await one.sessions.queue(session)] == ["y"]
    heard, ready, listener = asyncio.Queue[str](), asyncio.Event(), Listener(one.database.conninfo)

    async def hear(payload: str) -> None:
        heard.put_nowait(payload)

    async def look() -> None:
        ready.set()

    listener.on(CHANNEL, hear, look=look)
    listening = asyncio.ensure_future(listener.listen())
    await ready.wait()
    await other.queue.remove(waiting)
    assert str(session) in await heard.get()
    listening.cancel()
    await asyncio.wait({listening})


async def test_retry_sends_the_last_prompt_again_in_place_of_its_turn(core_url: str, tmp_path: Path) -> None:
    scripts = [said("one"), called(("c", "t", {})), said("bad"), called(("c", "t", {})), said("good")]
    async with core_bench(core_url, tmp_path, scripts, tool("t")) as core:
        session = (await core.ask("hello")).turn.session_id
        await core.ask("do it", session)
        accepted = await core.dispatcher.retry(session)
        assert accepted.session_id == session
        await ended(core, session, 3)
        assert await words(core, session) == ["hello", "one", "do it", "good"]
        assert [row["undone"] for row in await core.rows(
            "SELECT undone_at IS NOT NULL AS undone FROM turns ORDER BY ordinal"
        )] == [False, True, False]  # fmt: skip


@pytest.mark.parametrize("how", ["cancelled", "failed"])
async def test_retry_after_a_turn_that_did_not_complete_goes_before_what_waits(
    core_url: str, tmp_path: Path, how: str
) -> None:
    first: Script = RuntimeError("broken") if how == "failed" else WAITS
    async with core_bench(core_url, tmp_path, [first, said("good"), said("2")]) as core:
        session = (await core.send("do it")).session_id
        assert session is not None
        if how == "cancelled":
            await core.when(1, MessageDelta)
            await core.send("second", session)
            core.dispatcher.cancel(session)
        await ended(core, session, 1)
        await core.dispatcher.retry(session)
        await ended(core, session, 3 if how == "cancelled" else 2)
        assert await words(core, session) == ["do it", "good", *(["second", "2"] if how == "cancelled" else [])]


async def test_retry_is_refused_in_a_sentence_while_a_turn_runs_anywhere_or_when_there_is_none(
    two: Callable[..., Any],
) -> None:
    one, other = await two([WAITS]), await two([])
    with pytest.raises(SessionError, match="there is no session"):
        await one.dispatcher.retry(new_id())
    session = await in_a_reply(one)
    for core in (one, other):
        with pytest.raises(SessionError, match="a turn runs in this session"):
            await core.dispatcher.retry(session)
    assert await one.sessions.queue(session) == []


@pytest.mark.parametrize("refused", ["BEFORE UPDATE OF undone_at ON turns", "BEFORE INSERT ON queued_messages"])
async def test_a_retry_that_the_database_refuses_in_part_changes_nothing(
    core_url: str, tmp_path: Path, refused: str
) -> None:
    async with core_bench(core_url, tmp_path, [said("one")]) as core:
        session = (await core.ask("hello")).turn.session_id
        await core.idle(session)
        await core.rows("CREATE FUNCTION no() RETURNS trigger AS 'BEGIN RAISE ''no''; END' LANGUAGE plpgsql")
        await core.rows(f"CREATE TRIGGER refuses {refused} FOR EACH ROW EXECUTE FUNCTION no()")
        with pytest.raises(DatabaseError, match="the database refused"):
            await core.dispatcher.retry(session)
        assert await core.sessions.queue(session) == []
        assert await words(core, session) == ["hello", "one"]


async def test_a_kill_in_the_middle_of_a_retry_leaves_the_prompt_once(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("one"), said("two")]) as core:
        session = (await core.ask("hello")).turn.session_id
        await core.idle(session)
        async with await psycopg.AsyncConnection.connect(core_url) as holds:
            await holds.execute("SELECT * FROM turns FOR UPDATE")
            retrying = asyncio.create_task(core.dispatcher.retry(session))
            while not await core.rows("SELECT 1 FROM pg_locks WHERE NOT granted"):
                await asyncio.sleep(0.002)
            # What a process that is killed here leaves is what others see now.
            assert await core.sessions.queue(session) == []
            assert await words(core, session) == ["hello", "one"]
        await retrying
        await ended(core, session, 2)
        assert await words(core, session) == ["hello", "two"]


async def test_a_retry_takes_back_no_other_turn_than_the_one_whose_prompt_it_sends(
    core_url: str, tmp_path: Path
) -> None:
    async with core_bench(core_url, tmp_path, [said("one"), said("two")]) as core:
        session = (await core.ask("hello")).turn.session_id
        hooked: list[str] = []

        async def meanwhile(event: Inbound) -> None:
            if not hooked:
                hooked.append(event.text)
                await core.ask("another", session)
                await core.idle(session)

        core.hooks.register("pre_gateway_dispatch", meanwhile, source="p")
        hooked.clear()
        with pytest.raises(SessionError, match="another turn was run in this session meanwhile"):
            await core.dispatcher.retry(session)
        assert await words(core, session) == ["hello", "one", "another", "two"]
        assert await core.sessions.queue(session) == []


async def test_a_retry_sends_what_steered_the_turn_again_in_order_and_into_the_turn(
    core_url: str, tmp_path: Path
) -> None:
    gate = Gate()
    scripts = [called(("c", "t", {})), said("bad"), said("good"), said("next")]
    async with core_bench(core_url, tmp_path, scripts, gate.tool) as core:
        session = await at_the_tool(core, gate)
        for text in ("left", "then right"):
            await core.send(text, session, mode="steer")
        gate.opened.set()
        await ended(core, session, 1)
        await core.dispatcher.retry(session)
        await ended(core, session, 2)
        assert await words(core, session) == ["first", "left", "then right", "good"]
        assert [message.model_dump().get("origin") for message in await core.history(session)] == [
            None, "steered", "steered", None,
        ]  # fmt: skip
        assert await core.sessions.queue(session) == []


async def test_what_steered_a_retried_turn_waits_for_its_prompt_and_is_free_without_it(
    core_url: str, tmp_path: Path
) -> None:
    async with core_bench(core_url, tmp_path, [said("0"), said("1"), said("2")]) as core:
        session = (await core.ask("hello")).turn.session_id
        row, prompt = await core.sessions.get(session), new_id()
        waits = QueuedMessage(id=prompt, message=UserMessage(text="again"), source="cli", mode="queue")
        steer = replace(waits, id=new_id(), message=UserMessage(text="left"), mode="steer")
        place = {"session_id": row.id, "profile_id": row.profile_id}

        async def put(connection: Any) -> None:
            await enqueue_in(connection, waits, place)
            await enqueue_in(connection, steer, place | {"goes_with_id": prompt})

        await core.database.transaction(put)
        turn = TurnInfo(profile_id="home", session_id=session, turn_id=new_id())
        await core.journal.start_turn(turn, UserMessage(text="of somebody else"))
        assert await core.journal.take_steers(turn) == []
        await core.queue.remove(prompt)
        assert [taken.message.text for taken in await core.journal.take_steers(turn)] == ["left"]
        await core.journal.finish_turn(turn, TurnStatus.COMPLETED)


async def test_a_retry_that_a_hook_takes_takes_nothing_back(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("one")]) as core:
        session = (await core.ask("hello")).turn.session_id
        core.hooks.register("pre_gateway_dispatch", lambda: {"action": "skip"}, source="p")
        assert (await core.dispatcher.retry(session)).handled
        assert await words(core, session) == ["hello", "one"]


async def test_a_sessions_model_holds_from_its_next_turn_on(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said(str(n)) for n in range(3)]) as core:
        session = (await core.ask("a")).turn.session_id
        for model in ("claude-opus-5-5", None):
            await core.options.set_model(session, model)
            assert (await core.sessions.get(session)).model == model
            await core.ask("b", session)
        assert [request.prompt.model for request in core.provider.requests] == ["mock-1", "claude-opus-5-5", "mock-1"]
        assert len(await core.when(2, SessionUpdated)) == 2
        for wrong in ("", "two words", "x\x1b[2J"):
            with pytest.raises(SessionError, match="is no name of a model"):
                await core.options.set_model(session, wrong)
        with pytest.raises(SessionError, match="there is no session"):
            await core.options.set_model(new_id(), "m")


TAKES_UNTIL_KILLED = """
import asyncio, sys
from uuid import UUID
from cos.agent.identity import TurnInfo
from cos.agent.identity import TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal

async def main():
    journal = PostgresJournal(await Database(sys.argv[1]).open())
    turn = TurnInfo(profile_id="home", session_id=UUID(sys.argv[2]), turn_id=new_id())
    await journal.start_turn(turn, UserMessage(text="go"))
    print("open", flush=True)
    while True:
        await journal.take_steers(turn)

asyncio.run(main())
"""


async def test_a_process_that_is_killed_while_it_takes_steers_loses_none_and_doubles_none(
    core_url: str, tmp_path: Path
) -> None:
    async with core_bench(core_url, tmp_path, [said("0")]) as core:
        session = (await core.ask("hello")).turn.session_id
        sessions = Sessions(core.database)
        row, sent = await sessions.get(session), 0
        for _ in range(2):
            waiting = len(await sessions.queue(session))
            taking = subprocess.Popen(
                [sys.executable, "-c", TAKES_UNTIL_KILLED, core_url, str(session)],
                cwd=ROOT, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            with taking:
                assert taking.stdout is not None
                assert await asyncio.to_thread(taking.stdout.readline) == "open\n"
                for _ in range(20):
                    await sessions.enqueue(row, new_id(), UserMessage(text=f"s{sent}"), "cli", None, "steer")
                    sent += 1
                    while sent % 20 == 1 and len(await sessions.queue(session)) > waiting:
                        await asyncio.sleep(0.001)
                taking.send_signal(signal.SIGKILL)
            while not await sweep_orphans(core.database, PostgresJournal(core.database)):
                await asyncio.sleep(0.01)
        left = [message.text for message in await sessions.queue(session)]
        taken = [text for text in await words(core, session) if text.startswith("s")]
        assert sorted([*taken, *left]) == sorted(f"s{number}" for number in range(sent))
