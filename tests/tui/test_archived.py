"""Archived sessions: a key and a command show them, and both ways back are offered there."""

from __future__ import annotations

from pathlib import Path

import pytest

from cos.agent.providers.scripted import said
from cos.tui.widgets.key_hints import KeyHints
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in
from tests.tui.test_sessions_pane import lists, made


async def offers(chat: Chat, words: str) -> None:
    await chat.until(lambda: words in [hint.description for hint in chat.app.screen.query_one(KeyHints)._hints], words)


async def test_a_key_shows_the_archived_sessions_and_takes_one_back(core_home: CoreHome) -> None:
    await made(core_home, "one", "two")
    async with chat_in(core_home) as chat:
        await lists(chat, "two", "one")
        await chat.pilot.press("f2", "down")
        await offers(chat, "Archive")
        await chat.pilot.press("a")
        await chat.told("is archived; a takes it back, A shows all such")
        await chat.pilot.press("A")
        await lists(chat, "one")
        assert chat.main.sessions.filter.value == "state:archived"
        await offers(chat, "Take back")
        await chat.pilot.press("a")
        await chat.told("one is back in the list")
        await offers(chat, "Archive")
        await chat.pilot.press("A")
        await lists(chat, "two", "one")
        assert chat.main.sessions.filter.value == ""


async def test_the_words_of_the_filter_hold_for_archived_sessions_too(core_home: CoreHome) -> None:
    one, two = await made(core_home, "the one", "the other")
    async with chat_in(core_home) as chat:
        for session_id in (one, two):
            await chat.control.actions.editing.archive(session_id)
        await lists(chat)
        await chat.pilot.press("f2", "slash", *"other state:failed", "enter", "A")
        await lists(chat, "the other")
        assert chat.main.sessions.filter.value == "other state:archived"


async def test_commands_archive_the_open_session_show_it_and_bring_it_back(core_home: CoreHome) -> None:
    core_home.script(said("yes"))
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await chat.say("/archive")
        await chat.until(lambda: "/unarchive brings it back" in chat.text())
        await chat.say("/archived")
        await lists(chat, "first")
        await chat.shows("archived")
        assert chat.main.sessions.has_focus_within
        await chat.pilot.press("escape")
        await chat.say("/unarchive")
        await chat.until(lambda: "The session is in the lists." in chat.text())
        await chat.pilot.press("f2")
        await lists(chat, "first")


async def test_when_nothing_is_archived_that_is_said(core_home: CoreHome) -> None:
    await made(core_home, "one")
    async with chat_in(core_home) as chat:
        await chat.say("/archived")
        await chat.shows("Nothing is archived. A")
        await chat.shows("shows the others again.")


async def test_an_export_over_a_file_says_what_to_type_here(
    core_home: CoreHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core_home.script(said("yes"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.md").write_text("mine")
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        await chat.say("/export x.md")
        await chat.told("exists and stays; give another name: /export markdown FILE")
        assert "--force" not in chat.notices() and (tmp_path / "x.md").read_text() == "mine"
        await chat.say("/export")
        await chat.until(lambda: f"2 messages are in {tmp_path}/cos-{chat.control.current}.md" in chat.text())
        assert any("where cos was started" in command.summary for command in chat.core.dispatcher.commands.all())
