"""The Dispatcher on a real database: the order of its way, the queue, and who may send what where."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from cos.agent.errors import CosError, TagError
from cos.agent.events import MessageDelta, TurnCompleted
from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import Script, called, said
from cos.agent.records import ApprovalAnswer, TurnStatus
from cos.core.attachments import AttachmentError
from cos.core.commands import Command, CommandAnswer, CommandCall
from cos.core.config_errors import ProfileError
from cos.core.errors import CommandError, SessionError
from cos.core.inbound import Inbound
from cos.core.live import QueueChanged, SessionCreated
from cos.core.pictures import read_picture
from cos.core.plugin_api import Registrations
from cos.core.postgres.session_list import SessionList
from cos.core.session_query import SessionQuery
from tests.agent_bench import tool
from tests.core_bench import CoreBench, core_bench

WAITS: Script = [StreamStarted("m"), TextChunk("so far"), "hang"]


async def running(core: CoreBench, session: Any = None) -> Any:
    """Start a turn that waits in its first model call; return the session."""
    accepted = await core.send("first", session)
    await core.when(1, MessageDelta)
    return accepted.session_id


async def test_a_message_passes_the_hooks_in_order_and_gets_its_reply(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("hello")]) as core:
        fired = list[str]()
        for hook in (
            "pre_gateway_dispatch",
            "post_gateway_admission",
            "on_session_start",
            "pre_llm_call",
            "on_session_end",
        ):
            core.hooks.register(hook, lambda hook=hook: fired.append(hook), source="p")
        done = await core.ask("Do I need an umbrella?")
        assert (done.status, done.text) == (TurnStatus.COMPLETED, "hello")
        order = ["pre_gateway_dispatch", "post_gateway_admission", "on_session_start", "pre_llm_call", "on_session_end"]
        assert fired == order
        session = await core.sessions.get(done.turn.session_id)
        assert (session.title, session.profile_id, session.has_turns) == ("Do I need an umbrella?", "home", True)
        assert isinstance(core.events[0], SessionCreated)
        assert await core.texts(session.id) == ["Do I need an umbrella?", "hello"]


async def test_a_hook_may_drop_rewrite_or_take_a_message(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("ok")]) as core:
        actions: dict[str, Any] = {"drop me": {"action": "skip"}, "say a": {"action": "rewrite", "text": "say b"}}
        core.hooks.register("pre_gateway_dispatch", lambda event: actions.get(event.text), source="p")
        core.hooks.register(
            "post_gateway_admission",
            lambda text: {"action": "handled", "reply": "pong"} if text == "ping" else None,
            source="p",
        )
        dropped = await core.send("drop me")
        assert (dropped.session_id, dropped.handled) == (None, True)
        assert await core.rows("SELECT id FROM sessions") == []
        taken = await core.send("ping")
        assert (taken.handled, taken.reply, taken.turn_id) == (True, "pong", None)
        done = await core.ask("say a", taken.session_id)
        assert await core.texts(done.turn.session_id) == ["say b", "ok"]


async def test_tags_are_those_of_profile_and_session_and_stay(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("1"), said("2")]) as core:
        first = await core.ask("hi", profile="work", tags=("project:site", "area:work"))
        assert first.turn.tags == ("area:work", "project:site", "team:core")
        second = await core.ask("again", first.turn.session_id, profile="work")
        assert second.turn.tags == first.turn.tags
        rows = await core.rows("SELECT DISTINCT tags FROM turns")
        assert [row["tags"] for row in rows] == [list(first.turn.tags)]
        with pytest.raises(TagError, match="Client:x"):
            await core.send("hi", tags=("Client:x",))


async def test_what_does_not_belong_together_is_refused(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("1")]) as core:
        session = (await core.ask("hi")).turn.session_id
        with pytest.raises(SessionError, match="belongs to profile home, not to work"):
            await core.send("x", session, profile="work")
        with pytest.raises(SessionError, match="tags can only be given with its first message"):
            await core.send("x", session, tags=("a:b",))
        with pytest.raises(SessionError, match="there is no session"):
            await core.send("x", new_id())
        with pytest.raises(ProfileError, match="no profile 'hom'"):
            await core.send("x", profile="hom")
        assert await core.rows("SELECT id FROM queued_messages") == []


async def test_the_frozen_context_is_built_once_and_sent_again(core_url: str, tmp_path: Path) -> None:
    built = list[str]()

    def context(profile_id: str) -> str:
        built.append(profile_id)
        return f"Memory number {len(built)}"

    async with core_bench(core_url, tmp_path, [said("1")], tool("t")) as core:
        core.plugins.registrations["memory"] = Registrations(contexts=[context])
        session = (await core.ask("hi")).turn.session_id
        prompt = core.provider.requests[0].prompt
        assert "You are home." in prompt.system
        assert "Memory number 1" in prompt.system
    async with core_bench(core_url, tmp_path, [said("2")]) as later:
        await later.ask("again", session)
        assert later.provider.requests[0].prompt == prompt, "also after a restart, with other tools"
    assert built == ["home"]


async def test_messages_during_a_turn_wait_and_run_in_order(core_url: str, tmp_path: Path) -> None:
    meeting = asyncio.Event()

    async def waits(*_: Any) -> Any:
        await meeting.wait()
        return await tool("t").run({}, *_[1:])

    scripts = [called(("c", "t", {})), said("one"), said("two"), said("three")]
    async with core_bench(core_url, tmp_path, scripts, tool("t", waits)) as core:
        session = (await core.send("first")).session_id
        assert session is not None
        for text in ("second", "third"):
            accepted = await core.send(text, session)
            assert accepted.turn_id is None
        assert [waiting.message.text for waiting in await core.sessions.queue(session)] == ["second", "third"]
        assert [(event.waiting, event.paused) for event in await core.when(2, QueueChanged)] == [(1, False), (2, False)]
        meeting.set()
        await core.when(3, TurnCompleted)
        await core.idle(session)
        texts = [text for text in await core.texts(session) if text]
        assert texts == ["first", "one", "second", "two", "third", "three"]
        assert await core.sessions.queue(session) == []


async def test_cancel_pauses_the_queue_until_somebody_goes_on(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [WAITS, said("b"), said("c")]) as core:
        session = await running(core)
        await core.send("second", session)
        assert core.dispatcher.cancel(session)
        assert core.dispatcher.cancel(session, "again")
        (ended,) = await core.when(1, TurnCompleted)
        assert (ended.status, ended.text) == (TurnStatus.CANCELLED, "so far")
        await core.idle(session)
        assert not core.dispatcher.cancel(session), "cancelling nothing is no error"
        while not (await core.sessions.get(session)).queue_paused:
            await asyncio.sleep(0.002)
        assert len(await core.sessions.queue(session)) == 1
        await core.dispatcher.resume_queue(session)
        await core.when(2, TurnCompleted)
        await core.idle(session)
        await core.ask("third", session)
        assert await core.texts(session) == ["first", "so far", "second", "b", "third", "c"]


async def test_a_message_sent_while_the_turn_is_being_cancelled_works_at_once(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [WAITS, said("b")]) as core:
        session = await running(core)
        core.dispatcher.cancel(session)
        await core.send("second", session)
        await core.when(2, TurnCompleted)
        assert await core.texts(session) == ["first", "so far", "second", "b"]
        await core.idle(session)
        assert not (await core.sessions.get(session)).queue_paused


async def test_sending_a_paused_session_a_message_goes_on_with_its_queue_first(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [WAITS, said("b"), said("c")]) as core:
        session = await running(core)
        await core.send("second", session)
        core.dispatcher.cancel(session)
        while not (await core.sessions.get(session)).queue_paused:
            await asyncio.sleep(0.002)
        await core.send("third", session)
        await core.when(3, TurnCompleted)
        assert await core.texts(session) == ["first", "so far", "second", "b", "third", "c"]


@pytest.mark.parametrize("when", ["waiting", "running", "ended"])
async def test_the_same_client_message_runs_once(core_url: str, tmp_path: Path, when: str) -> None:
    async with core_bench(core_url, tmp_path, [said("0"), WAITS, said("2"), said("3")]) as core:
        session = (await core.ask("hello")).turn.session_id
        if when == "waiting":
            await running(core, session)
        first = await core.send("x", session, client_message_id="m1")
        if when == "ended":
            await core.when(1, MessageDelta)
            core.dispatcher.cancel(session)
            await core.when(2, TurnCompleted)
            await core.idle(session)
        again = await asyncio.gather(*(core.send("x", session, client_message_id="m1") for _ in range(3)))
        if when != "waiting":
            assert {accepted.turn_id for accepted in again} == {first.turn_id}
        core.dispatcher.cancel(session)
        await core.idle(session)
        await core.dispatcher.resume_queue(session)
        await core.idle(session)
        assert (await core.texts(session)).count("x") == 1
        assert await core.sessions.queue(session) == []


async def test_two_processes_on_one_database_run_one_turn_at_a_time_H_057(core_url: str, tmp_path: Path) -> None:
    replies = [said(f"r{n}") for n in range(12)]
    async with core_bench(core_url, tmp_path, replies) as one, core_bench(core_url, tmp_path, replies) as two:
        session = (await one.ask("hello")).turn.session_id
        await asyncio.gather(*(core.send(f"m{n}", session) for n in range(5) for core in (one, two)))
        while len(await one.rows("SELECT id FROM turns WHERE completed_at IS NOT NULL")) < 11:
            await asyncio.sleep(0.01)
            for core in (one, two):
                await core.idle(session)
        assert await one.rows("SELECT id FROM queued_messages") == []
        messages = await one.history(session)
        assert [message.role for message in messages] == ["user", "assistant"] * 11
        overlaps = """SELECT a.id FROM turns a JOIN turns b ON a.id < b.id
            AND tstzrange(a.started_at, a.completed_at, '()') && tstzrange(b.started_at, b.completed_at, '()')"""
        assert await one.rows(overlaps) == []


async def test_an_approval_is_answered_at_the_desk_and_stored_with_the_call(core_url: str, tmp_path: Path) -> None:
    async with core_bench(
        core_url, tmp_path, [called(("c", "w", {"x": 1})), said("ok")], tool("w", risk="write")
    ) as core:
        core.hooks.register("pre_tool_call", lambda: {"action": "approve", "message": "it changes files"}, source="p")
        accepted = await core.send("go")
        (asked,) = await core.requested()
        assert (await SessionList(core.database).pressing(SessionQuery()))[0].waiting == 1
        answer = ApprovalAnswer(decision="denied", reason="not today", answered_by="tui")
        await core.desk.answer(asked.approval_id, answer)
        ended = await core.ended(accepted.turn_id)
        assert (ended.text, ended.denied_calls) == ("ok", 1)
        transcript = await core.sessions.transcript(ended.turn.session_id)
        assert transcript.calls["c"].approval == answer
        assert "not today" in (transcript.calls["c"].result or "")


async def test_closing_ends_running_turns_and_their_requests(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [WAITS, called(("c", "w", {}))], tool("w", risk="write")) as core:
        core.hooks.register("pre_tool_call", lambda: {"action": "approve"}, source="p")
        first = await running(core)
        second = (await core.send("other")).session_id
        await core.requested()
        await core.dispatcher.close()
        assert {event.status for event in await core.when(2, TurnCompleted)} == {TurnStatus.CANCELLED}
        assert [row["status"] for row in await core.rows("SELECT status FROM approvals")] == ["cancelled"]
        for session in (first, second):
            assert session is not None
            await core.history(session)
        late = await core.send("late", first)
        assert (late.turn_id, len(await core.sessions.queue(first))) == (None, 1)


async def test_a_context_that_fails_is_said_and_the_message_waits(core_url: str, tmp_path: Path) -> None:
    def broken(profile_id: str) -> str:
        raise OSError("no memory")

    async with core_bench(core_url, tmp_path, [said("ok")]) as core:
        core.plugins.registrations["memory"] = Registrations(contexts=[broken])
        accepted = await core.send("hi")
        assert accepted.turn_id is None
        assert "plugin memory could not give its context: no memory" in accepted.trouble
        core.plugins.registrations.clear()
        (row,) = await core.rows("SELECT id FROM sessions")
        await core.dispatcher.go_on()
        await core.when(1, TurnCompleted)
        assert await core.texts(row["id"]) == ["hi", "ok"]


async def test_a_caller_that_gives_up_leaves_no_turn_without_a_runner(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said(str(n)) for n in range(60)]) as core:
        session = (await core.ask("hello")).turn.session_id
        for beats in range(0, 120, 6):
            sending = asyncio.ensure_future(core.send(f"m{beats}", session))
            for _ in range(beats):
                await asyncio.sleep(0)
            sending.cancel()
            await asyncio.wait({sending})
            await core.idle(session)
        done = await core.ask("last", session) if not await core.sessions.queue(session) else None
        if done is None:
            await core.dispatcher.resume_queue(session)
            await core.idle(session)
        assert await core.rows("SELECT id FROM turns WHERE completed_at IS NULL") == []
        await core.history(session)


async def test_a_turn_whose_end_could_not_be_stored_is_closed_when_the_journal_answers(
    core_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [CosError("gone"), CosError("still gone")]
    async with core_bench(core_url, tmp_path, [said("one"), said("two")]) as core:
        finish = core.journal.finish_turn

        async def failing(*args: Any, **more: Any) -> None:
            if failures:
                raise failures.pop()
            await finish(*args, **more)

        monkeypatch.setattr(core.journal, "finish_turn", failing)
        monkeypatch.setattr("cos.core.running_turns._CLOSE_LOST_SECONDS", 0.001)
        lost = await core.ask("hi")
        assert (lost.status, "could not be stored" in (lost.error or "")) == (TurnStatus.FAILED, True)
        session = lost.turn.session_id
        await core.send("next", session)
        while not await core.rows("SELECT id FROM turns WHERE status = 'failed'"):
            await asyncio.sleep(0.002)
        await core.idle(session)
        await core.dispatcher.resume_queue(session)
        await core.when(2, TurnCompleted)
        assert await core.texts(session) == ["hi", "one", "next", "two"]


async def test_a_queued_message_that_has_its_turn_already_leaves_the_queue(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("0"), said("1"), said("2")]) as core:
        session = (await core.ask("hello")).turn.session_id
        await core.ask("x", session, client_message_id="m1")
        await core.idle(session)
        row = await core.sessions.get(session)
        await core.sessions.enqueue(row, new_id(), UserMessage(text="x"), "cli", "m1")
        await core.ask("y", session)
        await core.idle(session)
        assert await core.texts(session) == ["hello", "0", "x", "1", "y", "2"]
        assert await core.sessions.queue(session) == []


async def test_a_slash_command_answers_without_a_turn_and_without_a_session(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("ok")]) as core:

        async def run(call: CommandCall) -> CommandAnswer:
            where = call.session.title if call.session else None
            return CommandAnswer(text=f"{call.argument} in {where}", draft=(UserMessage(text="d"),))

        core.dispatcher.commands.add(Command(name="where", summary="", run=run, needs_session=False))
        outside = await core.send("/where x")
        assert (outside.session_id, outside.handled) == (None, True)
        assert outside.command == CommandAnswer(text="x in None", draft=(UserMessage(text="d"),))
        assert await core.rows("SELECT id FROM sessions") == []
        done = await core.ask("hi")
        inside = await core.send("/where y", done.turn.session_id)
        assert inside.session_id == done.turn.session_id
        assert inside.command == CommandAnswer(text="y in hi", draft=(UserMessage(text="d"),))
        assert await core.texts(done.turn.session_id) == ["hi", "ok"]
        with pytest.raises(CommandError, match="did you mean /where"):
            await core.send("/wehre")


async def test_a_slash_command_that_comes_again_runs_once_unless_it_failed(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, []) as core:
        calls: list[str] = []

        async def run(call: CommandCall) -> CommandAnswer:
            calls.append(call.argument)
            await asyncio.sleep(0)
            if len(calls) == 1:
                raise CommandError("not now")
            return CommandAnswer(text=f"number {len(calls)}")

        core.dispatcher.commands.add(Command(name="count", summary="", run=run, needs_session=False))
        with pytest.raises(CommandError, match="not now"):
            await core.send("/count", client_message_id="m1")
        both = await asyncio.gather(*(core.send("/count", client_message_id="m1") for _ in range(2)))
        later = await core.send("/count", client_message_id="m1")
        assert [accepted.command for accepted in (*both, later)] == [CommandAnswer(text="number 2")] * 3
        assert [(await core.send("/count", client_message_id=id_)).said for id_ in ("m2", None)] == [
            "number 3", "number 4",
        ]  # fmt: skip


async def test_a_picture_is_stored_once_and_reaches_the_model_with_every_request(core_url: str, tmp_path: Path) -> None:
    data = b"\x89PNG\r\n\x1a\nbytes"
    file = tmp_path / "shot.png"
    file.write_bytes(data)
    async with core_bench(core_url, tmp_path, [said("a cat"), said("the same")]) as core:
        picture = read_picture(file)
        first = await core.dispatcher.dispatch(
            Inbound(text="what is this?", profile_id="home", source="cli", pictures=(picture, picture))
        )
        await core.ended(first.turn_id)
        await core.ask("sure?", first.session_id)
        assert [row["media_type"] for row in await core.rows("SELECT media_type FROM blobs")] == ["image/png"]
        for request in core.provider.requests:
            assert list(request.images.values()) == [b64encode(data).decode()]
        prompt = core.provider.requests[-1].messages[0]
        assert isinstance(prompt, UserMessage)
        assert [(part.type, part.text) for part in prompt.parts] == [("image", "shot.png")] * 2


@pytest.mark.parametrize(("name", "data"), [("notes.png", b"text"), ("big.png", b"\x89PNG\r\n\x1a\n" + bytes(6 << 20))])
def test_what_is_no_picture_for_a_model_is_refused_by_name(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(AttachmentError, match=name):
        read_picture(tmp_path / name)
    with pytest.raises(AttachmentError, match="is not there, or is no picture"):
        read_picture(tmp_path)
