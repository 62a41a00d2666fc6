"""A conversation looks the same from the live feed and from the database; long and foreign sessions can be opened."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cos.agent.events import MessageAdded, MessageDelta, ThinkingDelta, TurnCompleted, TurnStarted, Usage
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, UserMessage
from cos.agent.provider import ModelReply, ProviderUnavailable, StreamStarted, TextChunk, ThinkingChunk
from cos.agent.providers.scripted import MODEL, Script, called, said
from cos.agent.records import TurnStatus
from cos.core.call_titles import title_of_call
from cos.core.sessions import TurnRow
from cos.tui import wording
from cos.tui.conversation import Conversation
from cos.tui.conversations import KEPT_UNUSED, Conversations
from cos.tui.history import entries_of
from cos.tui.live_events import apply_event
from cos.tui.transcript import AssistantText, Entry, Notice, Thinking, ToolCall, TurnHeader
from cos.tui.transcript import UserMessage as UserEntry
from cos.tui.transcript.compacted import Compacted
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in
from tests.tui.long_session import long_session

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.events import AgentEvent


def seen(entries: list[Entry]) -> list[tuple[str, ...]]:
    """Kind, text and state of what a reader finds in both."""
    found: list[tuple[str, ...]] = []
    for entry in entries:
        kind = type(entry).__name__
        if isinstance(entry, ToolCall):
            found.append((kind, entry.name, entry.title, entry.state, entry.detail, entry.note, entry.result))
        elif isinstance(entry, Notice) and entry.key.startswith(("retry:", "notice:")):
            continue  # Said once, while it happened.
        elif isinstance(entry, TurnHeader):
            found.append((kind, entry.text))  # What it cost is read when it is drawn.
        elif isinstance(entry, AssistantText | Compacted | Thinking | Notice | UserEntry):
            found.append((kind, entry.plain()))
    return found


async def loaded(chat: Chat, session_id: UUID) -> list[Entry]:
    return entries_of(await chat.core.sessions.transcript(session_id))


async def assert_same(chat: Chat) -> None:
    current = chat.control.current
    assert current is not None
    live = [row.entry for row in chat.main.conversation._page.rows]
    assert seen(live) == seen(await loaded(chat, current))


def thought(thinking: str, reply: ModelReply) -> Script:
    block = {"type": "thinking", "thinking": thinking, "signature": "s"}
    text = [{"type": "text", "text": reply.text}] if reply.text else []
    calls = [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.args} for c in reply.calls]
    whole = replace(reply, blocks=(block, *text, *calls), usage=Usage(input_tokens=3, output_tokens=4))
    return [StreamStarted(MODEL), ThinkingChunk(thinking), *([TextChunk(reply.text)] if reply.text else []), whole]


def full(call_id: str) -> ModelReply:
    """A call that fills the context."""
    return replace(called((call_id, "read_file", {"path": "none"})), usage=Usage(input_tokens=170_000))


def turn(kind: str, number: int) -> tuple[list[Script], str]:
    """The model's scripts for a turn of a kind, and the key that answers its request, if it has one."""
    command = {"command": f"touch {number}\necho more"}
    kinds: dict[str, tuple[list[Script], str]] = {
        "said": ([said(f"answer **{number}**")], ""),
        "thought": ([thought(f"let me see {number}", said("thought through"))], ""),
        "allowed": ([called((f"c{number}", "terminal", command), text="I run it."), said("ran")], "y"),
        "denied": ([called((f"c{number}", "terminal", command)), said("not ran")], "n"),
        "failed call": ([called((f"c{number}", "read_file", {"path": f"none{number}"})), said("no file")], ""),
        "no such tool": ([called((f"c{number}", "nothing", {})), said("no tool")], ""),
        "retried": (
            [[StreamStarted(MODEL), TextChunk(f"one {number} way"), ProviderUnavailable("gone")], said("another way")],
            "",
        ),
        "repeated": ([[StreamStarted(MODEL), TextChunk("same "), ProviderUnavailable("gone")], said("same again")], ""),
        "cut": ([[StreamStarted(MODEL), TextChunk(f"half a {number}"), "hang"]], "escape"),
        "stopped call": ([called((f"c{number}", "terminal", command))], "escape"),
        "given up": ([ProviderUnavailable("still down")] * 5, ""),
        "silent": ([said(""), said("")], ""),
        "compacted": ([full(f"c{number}"), said(f"in short {number}"), said("after")], ""),
    }
    return kinds[kind]


KINDS = [
    "said", "thought", "allowed", "denied", "failed call", "no such tool", "retried", "repeated", "cut",
    "stopped call", "given up", "silent", "compacted",
]  # fmt: skip


async def play(chat: Chat, home_scripts: list[Script], key: str, number: int) -> None:
    await chat.say(f"message {number}")
    await chat.until(lambda: f"message {number}" in chat.text())
    if key == "escape":
        await chat.until(lambda: f"half a {number}" in chat.text() or chat.main.approvals.count)
        await chat.pilot.press("escape", "escape")  # One alone does not count right after an answer.
    elif key:
        await chat.requests(1)
        await chat.answer(key)
    await chat.rests()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_turn_is_the_same_live_and_loaded(core_home: CoreHome, kind: str) -> None:
    scripts, key = turn(kind, 1)
    core_home.script(*scripts)
    async with chat_in(core_home) as chat:
        await play(chat, scripts, key, 1)
        await assert_same(chat)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.lists(st.sampled_from(KINDS), min_size=2, max_size=5))
async def test_any_conversation_is_the_same_live_and_loaded_H_061(core_home: CoreHome, kinds: list[str]) -> None:
    plan = [turn(kind, number) for number, kind in enumerate(kinds, 1)]
    core_home.script(*[script for scripts, _ in plan for script in scripts])
    async with chat_in(core_home) as chat:
        for number, (scripts, key) in enumerate(plan, 1):
            await play(chat, scripts, key, number)
        await assert_same(chat)
    await core_home.opened.pop().close()


async def test_switching_to_a_running_session_shows_what_has_streamed_so_far(core_home: CoreHome) -> None:
    core_home.script([StreamStarted(MODEL), TextChunk("streamed "), TextChunk("so far"), "hang"])
    async with chat_in(core_home) as chat:
        await chat.say("one")
        await chat.until(lambda: "so far" in chat.text())
        running = chat.control.current
        await chat.pilot.press("ctrl+n")
        assert running is not None and "streamed" not in chat.text()
        await chat.control.open(running)
        assert "streamed so far" in chat.text()
        assert chat.control.is_running


async def test_a_reopened_session_shows_its_history(core_home: CoreHome) -> None:
    core_home.script(said("the first answer"))
    async with chat_in(core_home) as chat:
        await chat.ask("the first question")
        session = str(chat.control.current)
    await core_home.opened.pop().close()
    core_home.script(said("the second answer"))
    async with chat_in(core_home, session=session) as chat:
        assert "the first answer" in chat.text()
        await chat.ask("the second question")
        assert chat.text().index("the first answer") < chat.text().index("the second answer")
        await assert_same(chat)


async def test_older_history_comes_in_pages_when_the_reader_scrolls_up(core_home: CoreHome) -> None:
    core_home.script(*[said(f"answer {number}.") for number in range(120)])
    core = await core_home.open()
    session_id = await turns(core_home, 120)
    await core.close()
    core_home.opened.clear()
    async with chat_in(core_home, session=str(session_id)) as chat:
        assert "answer 119." in chat.text() and "answer 10." not in chat.text()
        chat.main.conversation.focus()
        for _ in range(6):
            await chat.pilot.press("ctrl+home")
            await chat.pilot.press("home")
            chat.main.conversation.scroll_home(animate=False)
            await chat.pilot.pause()
        await chat.until(lambda: "answer 0." in chat.text())
        keys = [row.entry.key for row in chat.main.conversation._page.rows]
        assert len(keys) == len(set(keys))
        answers = [row.entry.plain() for row in chat.main.conversation._page.rows if type(row.entry) is AssistantText]
        assert answers == [f"answer {number}." for number in range(120)]


async def turns(home: CoreHome, count: int) -> UUID:
    """A session with this many turns."""
    from cos.agent.events import TurnCompleted
    from cos.core.inbound import Inbound

    core = home.opened[-1]
    session_id = None
    with core.feed.subscribe() as events:
        for number in range(count):
            inbound = Inbound(text=f"question {number}", profile_id="home", source="cli", session_id=session_id)
            session_id = (await core.dispatcher.dispatch(inbound)).session_id
            async for live in events:
                if isinstance(live.event, TurnCompleted):
                    break
    assert session_id is not None
    return session_id


def test_live_entries_win_over_stored_ones_that_were_read_before_them() -> None:
    from uuid import uuid4

    conversation = Conversation(uuid4())
    conversation.add(ToolCall(key="call:c1", name="terminal"))
    conversation.change("call:c1", state="ok")
    conversation.load(
        [UserEntry(key="msg:1", text="go"), ToolCall(key="call:c1", name="terminal", state="running")], None
    )
    assert seen(conversation.entries) == [
        ("UserMessage", "go"),
        ("ToolCall", "terminal", "", "ok", "", "", ""),
    ]


async def test_two_hundred_sessions_are_listed_and_a_new_row_moves_no_highlight(core_home: CoreHome) -> None:
    core_home.script(said("x"), said("y"))
    core = await core_home.open()
    from cos.agent.tags import Tag
    from cos.core.postgres.journal import PostgresJournal

    journal = PostgresJournal(core.database)
    for number in range(200):
        title = f"session {number} [bold]" if number else "\x1b]0;pwn\x07 [/]"
        await journal.create_session(
            NewSession(profile_id="home", source="cli", title=title, tags=(Tag("client:acme"),))
        )
    async with chat_in(core_home) as chat:
        lines = chat.main.sessions.lines
        assert len(lines.rows.shown) == 100
        await chat.shows("session 199 [bold]")
        await chat.pilot.press("f2", *["down"] * 50, "end")
        await chat.until(lambda: len(lines.rows.shown) == 200)
        before = lines.cursor
        assert before is not None
        chat.main.composer.focus()
        await chat.ask("a new one")
        await chat.until(lambda: len(lines.rows.shown) == 201)
        assert lines.cursor == before
        await chat.pilot.press("f2", "enter")
        await chat.until(lambda: chat.control.current == before)
        await chat.pilot.press("f2", "end")
        await chat.shows("␛]0;pwn␇ [/]")


async def test_rows_say_how_their_session_is(core_home: CoreHome) -> None:
    core_home.script(called(("c1", "terminal", {"command": "touch one"})), [StreamStarted(MODEL), "hang"])
    async with chat_in(core_home, size=(200, 60)) as chat:
        await chat.say("one")
        await chat.requests(1)
        await chat.shows("waiting for approval")
        await chat.answer("n")
        await chat.until(lambda: "◐" in chat.screen_text() and "thinking" in chat.screen_text())
        await chat.pilot.press("escape", "escape")
        await chat.rests()
        await chat.until(lambda: "⊘ one" in chat.screen_text() and "cancelled · home" in chat.screen_text())


async def test_queued_messages_become_prompts_in_their_place(core_home: CoreHome) -> None:
    core_home.script(called(("c1", "terminal", {"command": "touch one"})), said("a1"), said("a2"))
    async with chat_in(core_home) as chat:
        await chat.say("one")
        await chat.requests(1)
        await chat.say("two")
        await chat.until(lambda: chat.main.queue.display)
        await chat.answer("y")
        await chat.until(lambda: "a2" in chat.text())
        await chat.rests()
        await assert_same(chat)


def test_user_messages_of_the_loop_are_notices() -> None:
    from uuid import uuid4

    from cos.tui.history import user_entries

    (entry,) = user_entries(uuid4(), "turn:1", UserMessage(text="go on", origin="loop"))
    assert isinstance(entry, Notice)


def test_a_stored_call_is_titled_by_the_first_line_of_what_it_is_about() -> None:
    assert title_of_call("write_file", {"content": "text", "path": "a.txt"}) == "a.txt"
    assert title_of_call("memory", {"action": "add", "content": "likes tea\nand more"}) == "likes tea"
    assert title_of_call("memory", {"action": "remove", "old_text": "tea"}) == "tea"
    assert title_of_call("memory", {"action": "list", "content": " \n"}) == "memory"


async def test_what_the_demo_thought_is_there_when_its_turn_has_ended_and_is_read_again(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.ask("think")
        assert "The demo has no thoughts of its own" in chat.text()
        await assert_same(chat)


@pytest.mark.parametrize(
    "missed",
    [[ThinkingDelta], [ThinkingDelta, ThinkingDelta, MessageDelta], [ThinkingDelta, ThinkingDelta], []],
    ids=len,
)
def test_thinking_that_was_missed_in_part_is_whole_with_its_message(missed: list[type]) -> None:
    """Events that come too fast are left out, from any point on."""
    turn = TurnInfo(profile_id="home", session_id=new_id(), turn_id=new_id())
    message_id, conversation = new_id(), Conversation(turn.session_id)
    blocks = [{"type": "thinking", "thinking": "one two"}, {"type": "text", "text": "so it is"}]
    message = AssistantMessage(text="so it is", blocks=blocks)
    events: list[AgentEvent] = [
        ThinkingDelta(turn=turn, message_id=message_id, text="one "),
        ThinkingDelta(turn=turn, message_id=message_id, text="two"),
        MessageDelta(turn=turn, message_id=message_id, text="so it "),
        MessageDelta(turn=turn, message_id=message_id, text="is"),
        MessageAdded(turn=turn, message_id=message_id, message=message),
    ]
    for kind in missed:
        events.remove(next(event for event in events if isinstance(event, kind)))
    for event in events:
        apply_event(conversation, event)
    assert seen(conversation.entries) == [("Thinking", "one two"), ("AssistantText", "so it is")]


def test_of_conversations_that_nobody_looks_at_only_a_few_are_kept() -> None:
    conversations, ids = Conversations(), [new_id() for _ in range(KEPT_UNUSED + 3)]
    for number, session_id in enumerate(ids):
        conversations.of(session_id).notice("info", f"number {number}")
    conversations.take(
        TurnStarted(turn=TurnInfo(profile_id="home", session_id=ids[0], turn_id=new_id()), started_at=wording.now())
    )
    conversations.of(ids[1])
    conversations.forget_unused()
    kept = [session_id for session_id in ids if conversations.of(session_id).entries]
    assert kept == [ids[0], ids[1], *ids[4:]]


def test_a_page_read_before_a_turn_ended_and_loaded_after_it_lets_nothing_run() -> None:
    conversations, turn = Conversations(), TurnInfo(profile_id="home", session_id=new_id(), turn_id=new_id())
    began = wording.now()
    read = TurnRow(
        id=turn.turn_id, parent_turn_id=None, ordinal=1, tags=(), status=TurnStatus.RUNNING, started_at=began,
        completed_at=None, stop_reason=None, error=None, usage=None,
    )  # fmt: skip
    conversations.take(
        TurnCompleted(
            turn=turn, started_at=began, completed_at=began, status=TurnStatus.COMPLETED, had_output=True,
            stop_reason="end_turn", error=None, usage=Usage(), text="",
        )
    )  # fmt: skip
    conversations.begin(turn.session_id, [read])
    assert not conversations.is_running(turn.session_id)
    conversations.begin(turn.session_id, [replace(read, id=new_id())])
    assert conversations.is_running(turn.session_id)


async def test_a_conversation_that_has_grown_long_goes_on_with_its_newest_page(
    core_home: CoreHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cos.tui.conversation.MOST_CHARACTERS", 10_000)
    core_home.script(said("one answer"), said("another answer"))
    core = await core_home.open()
    session_id = await long_session(core.database, 200)
    await core.close()
    async with chat_in(core_home, session=str(session_id)) as chat:
        rows = chat.main.conversation._page.rows
        newest_page = len(rows)
        await chat.pilot.press("f3")
        while "question 0\n" not in chat.text():
            await chat.pilot.press("home")
        chat.main.composer.load("read on")
        chat.main.composer.action_submit()
        await chat.rests()
        await chat.until(lambda: len(rows) < newest_page + 5, "only the newest page is held")
        assert "another answer" not in chat.text() and "one answer" in chat.text()
        await chat.pilot.press("f3", "home")
        await chat.until(lambda: "question 170" in chat.text(), "what is older can be read again")
