"""The database goes away under the app: what is on screen stays true, and nothing that was sent is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from cos.agent.providers.scripted import said
from cos.cli.running_core import Core
from cos.core.errors import DatabaseError
from cos.core.live import Live, SessionDeleted
from cos.core.sessions import Transcript
from cos.tui.app import CosApp, Opening
from tests.fix_home import CoreHome
from tests.outage import Outage, filled, small_disk
from tests.tui.chat import QUICK, Chat, chat_in

__all__ = ["small_disk"]


async def goes(chat: Chat, outage: Outage) -> None:
    outage.begin()
    await chat.database_goes()


async def test_the_status_line_says_it_before_anything_is_sent_and_when_it_is_over(
    core_home: CoreHome, outage: Outage
) -> None:
    async with chat_in(core_home) as chat:
        assert "db ok" in str(chat.main.status_line.content)
        await goes(chat, outage)
        assert "the database does not answer" in str(chat.main.status_line.content)
        outage.end()
        await chat.until(lambda: "db ok" in str(chat.main.status_line.content))


async def test_a_full_disk_is_said_in_the_status_line_and_what_is_sent_is_stored_when_there_is_room(
    small_disk: Path, core_home: CoreHome
) -> None:
    del core_home.env["COS_DATABASE_URL"]
    (core_home.folder / "commonos.toml").write_text(f'[database]\ndata_dir = "{small_disk / "pg"}"\n')
    core_home.script(said("one"), said("two"))
    async with chat_in(core_home) as chat:
        await chat.ask("before")
        ballast = filled(small_disk / "ballast")
        large = "".join(f"{number:08}" for number in range(200_000))
        await chat.say(f"large {large}")
        await chat.told("This is long")
        await chat.pilot.press("enter")
        await chat.until(lambda: "the disk of the database is full" in str(chat.main.status_line.content))
        ballast.unlink()
        await chat.until(lambda: "db ok" in str(chat.main.status_line.content))
        await chat.until(lambda: "two" in chat.text())
        bodies = await chat.core.database.fetch(b"SELECT body FROM messages WHERE role = 'user' ORDER BY ordinal")
        assert [f"large {large}" in str(row["body"]) for row in bodies] == [False, True]


@pytest.mark.parametrize("begins", [True, False], ids=["new session", "open session"])
async def test_what_is_sent_meanwhile_is_shown_at_once_and_sent_once_it_answers_again(
    core_home: CoreHome, outage: Outage, begins: bool
) -> None:
    core_home.script(*(said(f"answer {number}") for number in range(3)))
    async with chat_in(core_home) as chat:
        if not begins:
            await chat.ask("before")
        await goes(chat, outage)
        await chat.say("first of all")
        await chat.say("then this")
        await chat.pilot.press(*"a draft")
        await chat.shows("not stored yet · then this")
        await chat.shows("2 waiting: for the database")
        await chat.shows("not stored yet · first of all")
        await chat.pilot.press("left", "right", "ctrl+d")
        outage.end()
        await chat.until(lambda: f"answer {1 if begins else 2}" in chat.text())
        assert chat.text().index("first of all") < chat.text().index("then this")
        assert chat.text().count("first of all") == 1
        assert chat.main.composer.text == "a draft"
        await chat.until(lambda: not chat.main.queue.display)
        assert len(await chat.core.database.fetch(b"SELECT id FROM sessions")) == 1


async def test_a_conversation_that_is_forgotten_while_it_is_read_is_read_once_more(
    core_home: CoreHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when word of the outage's end comes between: nothing that was sent may be missing on screen."""
    core_home.script(said("answer one"), said("answer two"))
    async with chat_in(core_home) as chat:
        read, reads = chat.core.sessions.transcript, list[UUID]()

        async def reads_late(session_id: UUID, **options: Any) -> Transcript:
            page = await read(session_id, **options)
            reads.append(session_id)
            if len(reads) == 1:
                chat.control._conversations.forget(session_id)
            return page

        monkeypatch.setattr(chat.core.sessions, "transcript", reads_late)
        await chat.ask("first")
        await chat.shows("answer one")
        await chat.ask("second")
        await chat.shows("answer two")
        assert len(reads) == 2


async def test_leaving_meanwhile_is_asked_about(core_home: CoreHome, outage: Outage) -> None:
    async with chat_in(core_home) as chat:
        await goes(chat, outage)
        await chat.say("keep me")
        await chat.shows("not stored yet")
        await chat.pilot.press("ctrl+d")
        await chat.told("1 message is not stored")
        assert chat.app.is_running
        chat.core.database._pool.timeout = 0.1
        await chat.pilot.press(*"and me", "ctrl+q")
        await chat.told("1 message is not stored. Ctrl+Q once more quits anyway.")
        await chat.pilot.press("ctrl+q")
        await chat.until(lambda: not chat.app.is_running)
        assert chat.app.not_stored == ["keep me", "and me"]


async def test_a_command_is_never_carried_out_later_and_comes_back(core_home: CoreHome, outage: Outage) -> None:
    core_home.script(said("one"))
    async with chat_in(core_home) as chat:
        await chat.ask("before")
        await chat.core.database._pool.close()
        await chat.say("/title changed")
        await chat.until(lambda: chat.notices())
        assert chat.main.composer.text == "/title changed"


async def test_what_is_not_taken_stands_above_a_composer_that_is_in_use_until_the_user_takes_it(
    core_home: CoreHome,
) -> None:
    async with chat_in(core_home) as chat:
        await chat.core.database._pool.close()
        composer = chat.main.composer
        composer.load("do not lose me")
        composer.action_submit()
        # Before anything had the time to fail.
        composer.load("something new")
        await chat.shows("not sent · do not lose me")
        assert chat.main.composer.text == "something new"
        await chat.pilot.press("f5", "e")
        await chat.until(lambda: chat.main.composer.editing)
        assert chat.main.composer.text == "do not lose me"
        await chat.pilot.press("!", "enter")
        await chat.shows("not sent · do not lose me!")
        assert chat.main.composer.text == "something new"
        await chat.pilot.press("f5", "d")
        await chat.until(lambda: not chat.main.queue.display)
        await chat.pilot.press("ctrl+c", "up")
        assert chat.main.composer.text == "something new"
        await chat.pilot.press("up")
        assert chat.main.composer.text == "do not lose me!"


async def test_what_a_deleted_session_did_not_take_goes_along_to_where_the_user_is(core_home: CoreHome) -> None:
    core_home.script(said("one"))
    async with chat_in(core_home) as chat:
        await chat.ask("before")
        session = chat.control.current
        assert session is not None
        await chat.core.database._pool.close()
        composer = chat.main.composer
        composer.load("do not lose me")
        composer.action_submit()
        composer.load("something new")
        await chat.shows("not sent · do not lose me")
        await chat.control.feed.take(Live(0, SessionDeleted(session_id=session, profile_id="home")))
        assert chat.control.current is None
        await chat.shows("not sent · do not lose me")
        assert composer.text == "something new"


async def test_what_was_written_to_a_core_that_never_came_is_said_at_the_end(core_home: CoreHome) -> None:
    may_fail = asyncio.Event()

    async def open_broken(say: Callable[[str], None]) -> Core:
        await may_fail.wait()
        raise DatabaseError("there is no room on the disk")

    app = CosApp(Opening(open_core=open_broken, timing=QUICK))
    async with app.run_test() as pilot:
        chat = Chat(app, pilot, core_home)
        await chat.until(lambda: app.main_screen is not None)
        await chat.say("early")
        await pilot.press(*"half")
        may_fail.set()
        await chat.until(lambda: not app.is_running)
        assert app.failure == "there is no room on the disk"
        assert app.not_stored == ["early", "half"]
