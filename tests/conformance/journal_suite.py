"""What every `Journal` promises, whatever it stores in. Each test receives a `JournalUnderTest`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from cos.agent.errors import AlreadyAcceptedError, CosError, IdentityError, NotWaitingError, TurnBusyError
from cos.agent.events import Usage
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import (
    AssistantMessage,
    Compaction,
    Message,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    message_from_json,
    message_json,
    partial_reply,
)
from cos.agent.records import ApprovalAnswer, ContextMeter, ReplyPiece, ToolCallRecord, ToolCallStatus, TurnStatus
from cos.agent.tags import merge_tags
from tests.agent_bench import assert_answered

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.journal import Journal
    from cos.agent.steering import DeliveryMode, SteerSource


class JournalUnderTest(Protocol):
    """A fresh journal, a look at what it keeps, and the queue of its sessions."""

    journal: Journal
    steers: SteerSource

    async def record(self, session_id: UUID, call_id: str) -> ToolCallRecord: ...

    async def status(self, session_id: UUID, turn_id: UUID) -> TurnStatus: ...

    async def meter(self, session_id: UUID) -> ContextMeter | None: ...

    async def all_messages(self, session_id: UUID) -> list[tuple[Message, bool]]:
        """Also those that are not active."""
        ...

    async def enqueue(self, session_id: UUID, text: str, mode: DeliveryMode) -> UUID: ...

    async def waiting(self, session_id: UUID) -> list[tuple[str, DeliveryMode]]: ...


def assistant(*calls: str, text: str | None = None) -> AssistantMessage:
    return AssistantMessage(text=text, tool_calls=[ToolCall(id=id_, name="t", args={"n": id_}) for id_ in calls])


def answer(call_id: str, content: str = "done") -> ToolResultMessage:
    return ToolResultMessage(call_id=call_id, content=content, is_error=False)


def record(call_id: str, status: ToolCallStatus, **more: Any) -> ToolCallRecord:
    return ToolCallRecord(call_id=call_id, name="t", args={"n": call_id}, status=status, **more)


async def opened(journal: Journal, prompt: str = "go") -> TurnInfo:
    session_id = await journal.create_session(NewSession(profile_id="home", source="cli", tags=merge_tags(["a:b"])))
    turn = TurnInfo(profile_id="home", session_id=session_id, turn_id=new_id(), tags=merge_tags(["a:b"]))
    await journal.start_turn(turn, UserMessage(text=prompt))
    return turn


def next_turn(turn: TurnInfo) -> TurnInfo:
    return replace(turn, turn_id=new_id())


async def a_session_is_begun_once_by_the_same_message(it: JournalUnderTest) -> None:
    first = NewSession(profile_id="home", source="web", title="one", client_message_id=str(new_id()))
    session_id = await it.journal.create_session(first)
    assert await it.journal.create_session(first) == session_id
    assert await it.journal.create_session(replace(first, client_message_id=str(new_id()))) != session_id
    assert await it.journal.create_session(replace(first, client_message_id=None)) != session_id


async def messages_come_back_as_they_went_in(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    block = {"type": "thinking", "thinking": "", "signature": "x/+=", "z": 1, "a": 1.0}
    sent: list[Message] = [
        AssistantMessage(text="t", blocks=[block, {"type": "text", "text": "t"}], tool_calls=assistant("c").tool_calls),
        answer("c"),
        AssistantMessage(text="half", partial=True),
    ]
    for message in sent:
        await it.journal.append_message(turn, message)
    assert await it.journal.load_history(turn.session_id) == [UserMessage(text="go"), *sent]


async def order_of_keys_and_spelling_of_numbers_are_kept(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    text = '{"role": "assistant", "text": "ü🔑", "later": {"z": 1.0, "a": 1e-07, "m": [9007199254740993, -0.0, 1]}}'
    await it.journal.append_message(turn, message_from_json(text))
    assert message_json((await it.journal.load_history(turn.session_id))[-1]) == text


async def only_what_cannot_be_stored_is_replaced(it: JournalUnderTest) -> None:
    """H-009."""
    typed = "keep \\u0000 and \\\\u0000 and C:\\u0000dir as typed"
    turn = await opened(it.journal, typed)
    await it.journal.append_message(turn, assistant("c"))
    await it.journal.record_tool_call(turn, record("c", ToolCallStatus.OK, result="real \x00 and \ud800"))
    await it.journal.append_message(turn, answer("c", "real \x00 and \ud800"))
    await it.journal.append_message(turn, AssistantMessage(text="n", blocks=[{"type": "x", "v": float("nan")}]))
    prompt, _, result, odd = await it.journal.load_history(turn.session_id)
    assert prompt == UserMessage(text=typed)
    assert result == answer("c", "real \ufffd and \ufffd")
    assert odd.model_dump()["blocks"] == [{"type": "x", "v": None}]
    await it.journal.finish_turn(turn, TurnStatus.FAILED, error="bad \x00 \ud800 end", stop_reason="x\x00")
    assert await it.status(turn.session_id, turn.turn_id) is TurnStatus.FAILED


async def a_session_has_one_open_turn(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    with pytest.raises(TurnBusyError):
        await it.journal.start_turn(next_turn(turn), UserMessage(text="second"))
    await it.journal.finish_turn(turn, TurnStatus.COMPLETED)
    await it.journal.start_turn(next_turn(turn), UserMessage(text="third"))
    history = await it.journal.load_history(turn.session_id)
    assert history == [UserMessage(text="go"), UserMessage(text="third")]


async def a_message_gets_one_turn(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    await it.journal.finish_turn(turn, TurnStatus.COMPLETED)
    second, message_id = next_turn(turn), new_id()
    await it.journal.start_turn(second, UserMessage(text="x"), message_id=message_id)
    await it.journal.finish_turn(second, TurnStatus.COMPLETED)
    with pytest.raises(AlreadyAcceptedError):
        await it.journal.start_turn(next_turn(turn), UserMessage(text="x"), message_id=message_id)
    assert len(await it.journal.load_history(turn.session_id)) == 2
    await it.journal.start_turn(next_turn(turn), UserMessage(text="the refused one left no open turn"))


async def a_prompt_of_the_queue_starts_only_as_it_waits(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    await it.journal.finish_turn(turn, TurnStatus.COMPLETED)
    second = next_turn(turn)
    message_id = await it.enqueue(turn.session_id, "as it is now", "queue")
    for text, id_ in (("as it was read", message_id), ("as it is now", new_id())):
        with pytest.raises(NotWaitingError):
            await it.journal.start_turn(second, UserMessage(text=text), message_id=id_, from_queue=True)
    assert await it.waiting(turn.session_id) == [("as it is now", "queue")]
    await it.journal.start_turn(second, UserMessage(text="as it is now"), message_id=message_id, from_queue=True)
    assert await it.waiting(turn.session_id) == []
    await it.journal.finish_turn(second, TurnStatus.COMPLETED)
    with pytest.raises(NotWaitingError):
        await it.journal.start_turn(
            next_turn(turn), UserMessage(text="as it is now"), message_id=message_id, from_queue=True
        )
    assert len(await it.journal.load_history(turn.session_id)) == 2


async def steers_go_into_the_open_turn_in_order_and_once(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    assert await it.steers.take_steers(turn) == []
    await it.journal.append_message(turn, assistant("c"))
    await it.journal.append_message(turn, answer("c"))
    ids = [await it.enqueue(turn.session_id, text, "steer") for text in ("one", "two")]
    await it.enqueue(turn.session_id, "later", "queue")
    taken = await it.steers.take_steers(turn)
    assert [(steer.message_id, steer.message.text, steer.message.origin) for steer in taken] == [
        (ids[0], "one", "steered"), (ids[1], "two", "steered"),
    ]  # fmt: skip
    assert await it.steers.take_steers(turn) == []
    assert (await it.journal.load_history(turn.session_id))[3:] == [steer.message for steer in taken]
    assert await it.waiting(turn.session_id) == [("later", "queue")]


async def a_steer_that_its_turn_left_waits_like_the_rest(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    await it.enqueue(turn.session_id, "first", "queue")
    await it.enqueue(turn.session_id, "meant for the turn before", "steer")
    await it.journal.finish_turn(turn, TurnStatus.CANCELLED)
    with pytest.raises(CosError):
        await it.steers.take_steers(turn)
    assert await it.waiting(turn.session_id) == [("first", "queue"), ("meant for the turn before", "steer")]
    second = next_turn(turn)
    await it.journal.start_turn(second, UserMessage(text="go"))
    assert await it.steers.take_steers(second) == []
    assert await it.waiting(turn.session_id) == [("first", "queue"), ("meant for the turn before", "queue")]


async def ids_of_calls_are_known_for_the_whole_session(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    assert await it.journal.call_ids(turn.session_id) == set()
    await it.journal.append_message(turn, assistant("a", "b"))
    await it.journal.finish_turn(turn, TurnStatus.CANCELLED)
    assert await it.journal.call_ids(turn.session_id) == {"a", "b"}


async def the_first_to_close_a_turn_decides(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    await it.journal.append_message(turn, assistant("c"))
    ended_at = await it.journal.finish_turn(turn, TurnStatus.CANCELLED, usage=Usage(input_tokens=1))
    before = await it.journal.load_history(turn.session_id)
    assert await it.journal.finish_turn(turn, TurnStatus.COMPLETED) == ended_at
    assert await it.status(turn.session_id, turn.turn_id) is TurnStatus.CANCELLED
    assert await it.journal.load_history(turn.session_id) == before


async def a_closed_turn_takes_nothing_more(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    await it.journal.finish_turn(turn, TurnStatus.COMPLETED)
    with pytest.raises(CosError):
        await it.journal.append_message(turn, assistant(text="late"))
    with pytest.raises(CosError):
        await it.journal.record_tool_call(turn, record("late", ToolCallStatus.RUNNING))
    with pytest.raises(CosError):
        await it.journal.annotate_prompt(turn, new_id(), "late")
    assert len(await it.journal.load_history(turn.session_id)) == 1


async def the_end_answers_every_call_that_has_no_result(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    await it.journal.append_message(turn, assistant("a", "b", "c", "d", "e"))
    await it.journal.append_message(turn, answer("a"))
    await it.journal.record_tool_call(turn, record("b", ToolCallStatus.OK, result="kept"))
    await it.journal.record_tool_call(turn, record("c", ToolCallStatus.RUNNING))
    await it.journal.record_tool_call(turn, record("d", ToolCallStatus.OK, result=""))
    await it.journal.finish_turn(turn, TurnStatus.FAILED)
    history = await it.journal.load_history(turn.session_id)
    assert_answered(history)
    b, c, d, e = history[3:]
    assert (b, d) == (answer("b", "kept"), answer("d", "(no output)"))
    assert isinstance(c, ToolResultMessage)
    assert isinstance(e, ToolResultMessage)
    assert (c.is_error, "outcome unknown" in c.content) == (True, True)
    assert e.content == "Not run: the turn was failed before this call started."
    assert (await it.record(turn.session_id, "b")).status is ToolCallStatus.OK
    unknown = await it.record(turn.session_id, "c")
    assert (unknown.status, unknown.is_error, unknown.result) == (ToolCallStatus.UNKNOWN, True, c.content)
    assert (await it.record(turn.session_id, "e")).status is ToolCallStatus.CANCELLED


async def a_record_lives_until_its_final_status(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    await it.journal.append_message(turn, assistant("c"))
    assert await it.record(turn.session_id, "c") == record("c", ToolCallStatus.PROPOSED)
    for status in (ToolCallStatus.WAITING, ToolCallStatus.RUNNING):
        await it.journal.record_tool_call(turn, record("c", status))
        assert (await it.record(turn.session_id, "c")).status is status
    final = record(
        "c", ToolCallStatus.DENIED, result="no", is_error=True, risk="network", duration_ms=7,
        approval=ApprovalAnswer(decision="denied", reason='use "rg" [not grep]', answered_by="tui"),
    )  # fmt: skip
    await it.journal.record_tool_call(turn, final)
    for late in (ToolCallStatus.RUNNING, ToolCallStatus.OK):
        await it.journal.record_tool_call(turn, record("c", late, result="late"))
    assert await it.record(turn.session_id, "c") == final
    await it.journal.append_message(turn, answer("c", "no"))
    await it.journal.finish_turn(turn, TurnStatus.COMPLETED)
    assert await it.record(turn.session_id, "c") == final


async def a_second_result_for_one_call_is_refused(it: JournalUnderTest) -> None:
    """H-011."""
    turn = await opened(it.journal)
    await it.journal.append_message(turn, assistant("c"))
    await it.journal.append_message(turn, answer("c"))
    with pytest.raises(IdentityError, match="tool call c already has its result"):
        await it.journal.append_message(turn, answer("c", "again"))
    await it.journal.append_message(turn, assistant(text="and the turn goes on"))
    assert len(await it.journal.load_history(turn.session_id)) == 4


async def an_inactive_message_is_no_part_of_the_history(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    await it.journal.append_message(turn, assistant("never", text="cut"), active=False)
    await it.journal.append_message(turn, assistant(text="whole"))
    await it.journal.finish_turn(turn, TurnStatus.COMPLETED)
    assert await it.journal.load_history(turn.session_id) == [UserMessage(text="go"), AssistantMessage(text="whole")]


async def what_was_shown_of_a_reply_outlives_its_process(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    reply = new_id()
    await it.journal.keep_reply(turn, [ReplyPiece(0, "hm", True), ReplyPiece(1, "Half", False)], message_id=reply)
    # Again, as after an error that came when it was kept already.
    await it.journal.keep_reply(turn, [ReplyPiece(1, "Half", False), ReplyPiece(2, " a s", False)], message_id=reply)
    await it.journal.keep_reply(turn, [ReplyPiece(3, "en\0", False)], message_id=reply)
    assert [message.role for message in await it.journal.load_history(turn.session_id)] == ["user"]
    await it.journal.finish_turn(turn, TurnStatus.INTERRUPTED)
    kept = (await it.journal.load_history(turn.session_id))[-1]
    assert kept == partial_reply("Half a sen\ufffd", "hm")
    await it.journal.keep_reply(turn, [ReplyPiece(4, "late", False)], message_id=new_id())
    assert len(await it.journal.load_history(turn.session_id)) == 2


async def a_reply_that_was_appended_is_not_kept_twice(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    reply = new_id()
    await it.journal.keep_reply(turn, [ReplyPiece(0, "Half", False)], message_id=reply)
    await it.journal.append_message(turn, AssistantMessage(text="Half and whole"), message_id=reply)
    await it.journal.finish_turn(turn, TurnStatus.INTERRUPTED)
    texts = [m.text for m in await it.journal.load_history(turn.session_id) if isinstance(m, AssistantMessage)]
    assert texts == ["Half and whole"]


async def of_two_replies_the_one_without_a_message_outlives_its_process(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    first, second = new_id(), new_id()
    await it.journal.keep_reply(turn, [ReplyPiece(0, "One.", False)], message_id=first)
    await it.journal.append_message(turn, AssistantMessage(text="One."), message_id=first)
    await it.journal.keep_reply(turn, [ReplyPiece(0, "Tw", False)], message_id=second)
    await it.journal.finish_turn(turn, TurnStatus.INTERRUPTED)
    texts = [m.text for m in await it.journal.load_history(turn.session_id) if isinstance(m, AssistantMessage)]
    assert texts == ["One.", "Tw"]


async def thinking_alone_is_kept_and_never_sent_back(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    await it.journal.keep_reply(turn, [ReplyPiece(0, "hm", True)], message_id=new_id())
    await it.journal.finish_turn(turn, TurnStatus.INTERRUPTED)
    assert [message.role for message in await it.journal.load_history(turn.session_id)] == ["user"]


async def context_of_hooks_joins_the_prompt(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    await it.journal.finish_turn(turn, TurnStatus.COMPLETED)
    second, message_id = next_turn(turn), new_id()
    await it.journal.start_turn(second, UserMessage(text="hi", origin="queued"), message_id=message_id)
    await it.journal.annotate_prompt(second, message_id, "remember \x00")
    assert (await it.journal.load_history(turn.session_id))[-1] == UserMessage(
        text="hi", origin="queued", context="remember \ufffd"
    )


def summary(text: str = "in short", messages: int = 4) -> UserMessage:
    return UserMessage(text=text, origin="compaction", compaction=Compaction(messages=messages, tokens=7))


async def a_summary_takes_the_place_of_the_conversation(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    before: list[Message] = [assistant("c", text="a"), answer("c"), assistant(text="b")]
    for message in before:
        await it.journal.append_message(turn, message)
    await it.journal.append_message(turn, assistant(text="cut"), active=False)
    await it.journal.compact(turn, summary(), message_id=new_id())
    await it.journal.append_message(turn, assistant(text="on"))
    await it.journal.finish_turn(turn, TurnStatus.COMPLETED)
    assert await it.journal.load_history(turn.session_id) == [summary(), assistant(text="on")]
    kept = await it.all_messages(turn.session_id)
    gone = [UserMessage(text="go"), *before, assistant(text="cut")]
    assert kept == [*((message, False) for message in gone), (summary(), True), (assistant(text="on"), True)]
    assert await it.journal.call_ids(turn.session_id) == {"c"}


async def a_compaction_is_all_or_nothing(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    reply = new_id()
    await it.journal.append_message(turn, assistant("c"), message_id=reply, meter=METER)
    with pytest.raises(IdentityError, match="tool call c has no result yet"):
        await it.journal.compact(turn, summary(), message_id=new_id())
    await it.journal.append_message(turn, answer("c"))
    with pytest.raises(AlreadyAcceptedError):
        await it.journal.compact(turn, summary(), message_id=reply)
    history = [UserMessage(text="go"), assistant("c"), answer("c")]
    assert await it.journal.load_history(turn.session_id) == history
    assert await it.meter(turn.session_id) == METER
    await it.journal.finish_turn(turn, TurnStatus.COMPLETED)
    with pytest.raises(CosError):
        await it.journal.compact(turn, summary(), message_id=new_id())
    assert await it.journal.load_history(turn.session_id) == history


METER = ContextMeter(model="m", used=150, window=200)


async def the_context_meter_is_that_of_the_newest_call(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    assert await it.meter(turn.session_id) is None
    await it.journal.append_message(turn, assistant("c"), meter=METER)
    await it.journal.append_message(turn, answer("c"))
    assert await it.meter(turn.session_id) == METER
    await it.journal.compact(turn, summary(), message_id=new_id())
    assert await it.meter(turn.session_id) is None
    await it.journal.finish_turn(turn, TurnStatus.COMPLETED, meter=replace(METER, window=None))
    assert await it.meter(turn.session_id) == replace(METER, window=None)
    second = next_turn(turn)
    await it.journal.start_turn(second, UserMessage(text="more"))
    await it.journal.finish_turn(second, TurnStatus.FAILED)
    assert await it.meter(turn.session_id) == replace(METER, window=None)


async def another_profile_is_refused(it: JournalUnderTest) -> None:
    turn = await opened(it.journal)
    await it.journal.finish_turn(turn, TurnStatus.COMPLETED)
    with pytest.raises(IdentityError, match="belongs to profile home"):
        await it.journal.start_turn(replace(next_turn(turn), profile_id="work"), UserMessage(text="x"))
    with pytest.raises(IdentityError, match="there is no session"):
        await it.journal.start_turn(replace(turn, session_id=new_id(), turn_id=new_id()), UserMessage(text="x"))


CHECKS = [
    a_session_is_begun_once_by_the_same_message,
    messages_come_back_as_they_went_in,
    order_of_keys_and_spelling_of_numbers_are_kept,
    only_what_cannot_be_stored_is_replaced,
    a_session_has_one_open_turn,
    a_message_gets_one_turn,
    a_prompt_of_the_queue_starts_only_as_it_waits,
    steers_go_into_the_open_turn_in_order_and_once,
    a_steer_that_its_turn_left_waits_like_the_rest,
    ids_of_calls_are_known_for_the_whole_session,
    the_first_to_close_a_turn_decides,
    a_closed_turn_takes_nothing_more,
    the_end_answers_every_call_that_has_no_result,
    a_record_lives_until_its_final_status,
    a_second_result_for_one_call_is_refused,
    what_was_shown_of_a_reply_outlives_its_process,
    a_reply_that_was_appended_is_not_kept_twice,
    thinking_alone_is_kept_and_never_sent_back,
    an_inactive_message_is_no_part_of_the_history,
    context_of_hooks_joins_the_prompt,
    a_summary_takes_the_place_of_the_conversation,
    a_compaction_is_all_or_nothing,
    the_context_meter_is_that_of_the_newest_call,
    another_profile_is_refused,
]
