"""Drafts, history and waiting messages in the app on a real core."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pytest
from textual import events

from cos.agent.errors import CosError
from cos.agent.messages import UserMessage
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import MODEL, Script, said
from cos.core.inbound import Inbound
from cos.core.pictures import Picture
from cos.tui.outgoing import SendMode
from cos.tui.queue_control import QueueControl
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in

HANG: Script = [StreamStarted(MODEL), TextChunk("under way "), "hang"]


async def stored(chat: Chat) -> dict[tuple[str, UUID | None], str]:
    rows = await chat.core.database.fetch("SELECT profile_id, session_id, body FROM drafts")
    return {(row["profile_id"], row["session_id"]): row["body"] for row in rows}


async def until_stored(chat: Chat, drafts: dict[tuple[str, UUID | None], str]) -> None:
    async with asyncio.timeout(10):
        while await stored(chat) != drafts:
            await chat.pilot.pause(0.01)


async def test_a_draft_is_stored_while_it_is_written_and_is_there_in_the_next_run(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.pilot.press(*"half a thought")
        await until_stored(chat, {("home", None): "half a thought"})
    async with chat_in(core_home) as chat:
        assert chat.main.composer.text == "half a thought"
        await chat.pilot.press("ctrl+c")
        await until_stored(chat, {})


async def test_a_draft_is_stored_when_the_app_is_left_at_once(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.pilot.press(*"last words", "ctrl+q")
        await chat.until(lambda: not chat.app.is_running)
    async with chat_in(core_home) as chat:
        assert chat.main.composer.text == "last words"


async def test_sending_removes_the_draft_and_what_is_written_next_belongs_to_the_session(core_home: CoreHome) -> None:
    core_home.script(said("a"))
    async with chat_in(core_home) as chat:
        await chat.pilot.press(*"one")
        await until_stored(chat, {("home", None): "one"})
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.control.current)
        await chat.rests()
        session = chat.control.current
        await until_stored(chat, {})
        await chat.pilot.press(*"next")
        await until_stored(chat, {("home", session): "next"})
        await chat.pilot.press("ctrl+n", *"new")
        await until_stored(chat, {("home", session): "next", ("home", None): "new"})
    async with chat_in(core_home, session=str(session)) as chat:
        assert chat.main.composer.text == "next"
        await chat.pilot.press("ctrl+n")
        assert chat.main.composer.text == "new"


async def test_a_draft_goes_along_to_a_profile_that_has_none(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.pilot.press(*"text", "f6")
        assert chat.control.place.profile_id == "work" and chat.main.composer.text == "text"
        await until_stored(chat, {("work", None): "text"})
        await chat.pilot.press("ctrl+c", *"work", "f6")
        await chat.pilot.press("ctrl+c", *"home")
        await until_stored(chat, {("home", None): "home"})
        await chat.pilot.press("ctrl+c", *"home", "f6")
        assert chat.main.composer.text == "home"


async def test_a_draft_that_cannot_be_stored_is_said_and_stored_later(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.core.database.fetch("ALTER TABLE drafts RENAME TO elsewhere")
        await chat.pilot.press("x")
        await chat.shows("the draft is not stored")
        await chat.core.database.fetch("ALTER TABLE elsewhere RENAME TO drafts")
        assert await chat.control.drafts.flush()
        await chat.until(lambda: "the draft is not stored" not in chat.screen_text())
        assert await stored(chat) == {("home", None): "x"}


async def test_what_is_typed_before_the_session_is_there_comes_after_its_draft(core_home: CoreHome) -> None:
    core_home.script(said("a"))
    async with chat_in(core_home) as chat:
        await chat.ask("one")
        session = chat.control.current
        assert session is not None
        await chat.pilot.press(*"stored")
        await until_stored(chat, {("home", session): "stored"})
    async with chat_in(core_home) as chat:
        chat.main.composer.load("early")
        chat.control._has_arrived = False
        await chat.control.open(session)
        assert chat.main.composer.text == "stored\nearly"


async def test_history_comes_from_earlier_runs_and_other_sessions_of_the_profile_only(core_home: CoreHome) -> None:
    core_home.script(said("a"), said("b"))
    core_home.script(said("c"), profile="work")
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await chat.pilot.press("ctrl+n")
        await chat.ask("second")
        await chat.pilot.press("ctrl+n", "f6")
        await chat.ask("of work")
    async with chat_in(core_home) as chat:
        await chat.until(lambda: chat.main.composer.prompts.is_read)
        await chat.pilot.press("up")
        assert chat.main.composer.text == "second"
        await chat.pilot.press("up", "up")
        assert chat.main.composer.text == "first"
        await chat.pilot.press("ctrl+c", "f6")
        await chat.until(lambda: chat.main.composer.prompts.is_read)
        await chat.pilot.press("up")
        assert chat.main.composer.text == "of work"


class Queue:
    """Stands in for the queue of the core: notes what is wanted, refuses what has begun."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.has_begun = False

    async def edit(self, message_id: UUID, text: str, pictures: Sequence[Picture] | None = None) -> None:
        if self.has_begun:
            raise CosError("that message has begun")
        self.calls.append(("edit", message_id, text))

    async def remove(self, message_id: UUID) -> None:
        self.calls.append(("remove", message_id))

    async def change_mode(self, message_id: UUID, mode: SendMode) -> None:
        self.calls.append((mode, message_id))


async def test_waiting_messages_are_edited_removed_and_steered_with(core_home: CoreHome) -> None:
    core_home.script(HANG)
    async with chat_in(core_home) as chat:
        queue = Queue()
        chat.control.queue = QueueControl(
            queue, chat.main, chat.control.sending, chat.control.unsent, lambda: chat.control.place
        )
        await chat.say("one")
        await chat.until(lambda: "under way" in chat.text())
        await chat.say("two")
        await chat.until(lambda: chat.main.queue.can_change)
        (waiting,) = await chat.core.sessions.queue(chat.control.current or UUID(int=0))
        await chat.pilot.press("f5", "s", "d", "e")
        await chat.until(lambda: chat.main.composer.editing)
        await chat.pilot.press("!", "enter")
        await chat.until(lambda: len(queue.calls) == 3)
        assert queue.calls == [("steer", waiting.id), ("remove", waiting.id), ("edit", waiting.id, "two!")]
        queue.has_begun = True
        await chat.pilot.press("f5", "e")
        await chat.until(lambda: chat.main.composer.editing)
        await chat.pilot.press("?", "enter")
        await chat.told("has begun")
        assert chat.main.composer.text == "two?"


async def test_the_mode_of_a_message_reaches_the_dispatcher(core_home: CoreHome) -> None:
    core_home.script(HANG)
    async with chat_in(core_home) as chat:
        await chat.say("one")
        await chat.until(lambda: chat.main.composer.turn_runs)
        seen: list[str] = []
        dispatch = chat.core.dispatcher.dispatch

        async def watched(inbound: Inbound) -> object:
            seen.append(inbound.mode)
            return await dispatch(inbound)

        chat.core.dispatcher.dispatch = watched  # type: ignore[method-assign,assignment]
        await chat.pilot.press("a", "ctrl+s", "b", "ctrl+t", "c", "enter")
        await chat.until(lambda: seen == ["steer", "now", "queue"])


async def test_a_draft_stays_in_memory_when_the_database_went_away(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.pilot.press(*"text")
        await chat.core.database.close()
        await chat.pilot.press("f6", "f6")
        assert chat.main.composer.text == "text"


PNG = b"\x89PNG\r\n\x1a\n"


async def parts(chat: Chat) -> list[list[str | None]]:
    """The names of the pictures of each message that waits."""
    waiting = await chat.core.sessions.queue(chat.control.current or UUID(int=0))
    return [[part.text for part in message.message.parts] for message in waiting]


async def test_pictures_stay_when_a_waiting_message_is_changed(core_home: CoreHome, tmp_path: Path) -> None:
    core_home.script(HANG)
    for name in ("one.png", "two.png", "three.png"):
        (tmp_path / name).write_bytes(PNG + name.encode())
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.until(lambda: "under way" in chat.text())
        chat.app.post_message(events.Paste(f"{tmp_path / 'one.png'} {tmp_path / 'two.png'}"))
        await chat.until(lambda: len(chat.main.composer.attachments) == 2)
        await chat.pilot.press(*"both", "enter")
        await chat.until(lambda: chat.main.queue.can_change)
        (tmp_path / "one.png").unlink()
        await chat.pilot.press("f5", "e")
        await chat.until(lambda: chat.main.composer.editing)
        assert [one.path.name for one in chat.main.composer.attachments] == ["one.png", "two.png"]
        # The mark of the second one goes with one key, and another picture comes.
        await chat.pilot.press(*["backspace"] * 6)
        chat.app.post_message(events.Paste(str(tmp_path / "three.png")))
        await chat.until(lambda: len(chat.main.composer.attachments) == 2)
        await chat.pilot.press("enter")
        await chat.shows("three.png")
        assert await parts(chat) == [["one.png", "three.png"]]
        await chat.pilot.press("f5", "d")
        await chat.until(lambda: not chat.main.queue.display)
        await chat.pilot.press("up")
        assert [one.path.name for one in chat.main.composer.attachments] == ["one.png", "three.png"]


@pytest.mark.parametrize("how", ["command", "key"])
async def test_pictures_come_back_with_the_prompt_that_is_taken_back(
    core_home: CoreHome, tmp_path: Path, how: str
) -> None:
    provider = core_home.script(said("nice"), said("again"))
    file = tmp_path / "one.png"
    file.write_bytes(PNG)
    async with chat_in(core_home) as chat:
        chat.app.post_message(events.Paste(str(file)))
        await chat.until(lambda: chat.main.composer.attachments)
        await chat.pilot.press(*"look", "enter")
        await chat.until(lambda: "nice" in chat.text())
        await chat.rests()
        file.unlink()
        if how == "command":
            await chat.say("/undo")
        else:
            await chat.pilot.press("f3", "up", "u", "u")
        await chat.until(lambda: chat.main.composer.attachments)
        await chat.pilot.press("f2", "escape", "end", "!", "enter")
        await chat.until(lambda: "again" in chat.text())
        sent = provider.requests[-1].messages[-1]
        assert isinstance(sent, UserMessage)
        assert sent.text == "[image 1: one.png] look!"
        assert [part.text for part in sent.parts] == ["one.png"]
        assert len(provider.requests[-1].images) == 1
