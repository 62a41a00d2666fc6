"""Searching all conversations on screen: hits, the way to them, and that typing never waits."""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets import Input, OptionList

from cos.core.errors import DatabaseError
from cos.core.searching import SearchHit, SearchResult
from cos.tui.screens.find_sessions import FindSessions
from tests.fix_home import CoreHome
from tests.postgres.test_session_search import CJK, talk
from tests.tui.chat import Chat, chat_in
from tests.tui.long_session import long_session


async def opened(chat: Chat, typed: str = "") -> FindSessions:
    await chat.pilot.press("f8")
    await chat.until(lambda: isinstance(chat.app.screen, FindSessions))
    screen = chat.app.screen
    assert isinstance(screen, FindSessions)
    if typed:
        screen.query_one(Input).value = typed
    return screen


def rows(screen: FindSessions) -> int:
    return screen.query_one(OptionList).option_count


async def hits(chat: Chat, screen: FindSessions, count: int) -> None:
    await chat.until(lambda: screen._searched == screen._text and rows(screen) == count, f"{count} rows")


async def test_a_hit_shows_its_session_and_enter_opens_it_there(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        long = await long_session(chat.core.database, 120, "Ducks and geese")
        await talk(chat.core.database, "of something else", title="other", profile="work")
        screen = await opened(chat, '"question 3"')
        await hits(chat, screen, 1)
        shown = chat.screen_text()
        assert "Ducks and geese" in shown and "you: question 3" in shown and "1 session" in shown
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.control.current == long and chat.app.screen is chat.main, "the session is open")
        view = chat.main.conversation
        await chat.until(lambda: view.cursor_key is not None, "the cursor is at the hit")
        assert view.entry(view.cursor_key or "").plain() == "question 3"
        await chat.until(lambda: view.has_focus and "question 3" in chat.screen_text(), "it takes the keys")
        await chat.pilot.press("n")
        await chat.until(lambda: view.entry(view.cursor_key or "").plain() == "question 30", "the next match")


async def test_a_hit_in_a_child_session_opens_the_child(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        root = await talk(chat.core.database, "nothing", title="the root")
        child = await talk(chat.core.database, "a duck", title="the child", parent=root)
        screen = await opened(chat, "duck")
        await hits(chat, screen, 1)
        await chat.shows("the root ↳ the child")
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.control.current == child)


async def test_the_arrows_choose_and_esc_leaves_everything_as_it_was(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        first = await talk(chat.core.database, "a duck", title="first")
        await talk(chat.core.database, "a duck", title="second", profile="work")
        screen = await opened(chat, "duck")
        await hits(chat, screen, 2)
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.main)
        assert chat.control.current is None and chat.main.composer.has_focus
        screen = await opened(chat, "duck")
        await hits(chat, screen, 2)
        await chat.pilot.press("down", "enter")
        await chat.until(lambda: chat.control.current == first)


@pytest.mark.parametrize("typed", ["部署脚本", "手順", "스크립트"])
async def test_scripts_without_spaces_are_found_in_the_box_H_055(core_home: CoreHome, typed: str) -> None:
    async with chat_in(core_home) as chat:
        await talk(chat.core.database, *CJK, title="cjk")
        screen = await opened(chat, typed)
        await hits(chat, screen, 1)
        await chat.shows(typed)


async def test_no_text_is_an_error_in_the_box_H_056(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await talk(chat.core.database, "a test-run", title="hyphen")
        screen = await opened(chat)
        tried = {"部署 OR test-run OR errors": 1, "AND AND": 0, '"unclosed': 0, "a & | b": 0, "OR": 0}
        for typed, count in tried.items():
            screen.query_one(Input).value = typed
            await hits(chat, screen, count)
            assert "session" in chat.screen_text() if count else "Nothing found" in chat.screen_text()


async def test_what_others_wrote_reaches_the_screen_as_text_only(core_home: CoreHome) -> None:
    async with chat_in(core_home, size=(80, 24)) as chat:
        await talk(chat.core.database, "duck [red]\x1b[31m and \u202eback", title="[bold]title\x1b[0m")
        screen = await opened(chat, "duck")
        await hits(chat, screen, 1)
        shown = chat.screen_text()
        assert "[bold]title" in shown and "duck [red]" in shown and "⟨U+202E⟩back" in shown
        assert "\x1b" not in shown
        assert all(len(line) <= 80 for line in shown.splitlines())


class Answers:
    """A search that answers when the test wants it to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}

    async def find(self, text: str) -> SearchResult:
        self.asked.append(text)
        gate = self.gates.setdefault(text, asyncio.Event())
        await gate.wait()
        if text == "fails":
            raise DatabaseError("the database does not answer")
        return SearchResult(left_out=len(text))


async def test_typing_never_waits_and_the_last_query_counts(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        answers, chosen = Answers(), list[SearchHit | None]()
        screen = FindSessions(answers.find, debounce_seconds=0.001)
        chat.app.push_screen(screen, chosen.append)
        await chat.until(lambda: chat.app.screen is screen and screen.query("Input"))
        box = screen.query_one(Input)
        box.value = "first"
        await chat.until(lambda: answers.asked == ["first"])
        await chat.pilot.press("x")
        assert box.value == "firstx"
        await chat.until(lambda: answers.asked[-1] == "firstx")
        answers.gates["firstx"].set()
        await chat.until(lambda: "the last 6 words" in chat.screen_text() or screen._searched == "firstx")
        answers.gates["first"].set()
        await chat.pilot.pause()
        assert screen._searched == "firstx"
        answers.gates["fails"] = asyncio.Event()
        answers.gates["fails"].set()
        box.value = "fails"
        await chat.shows("the database does not answer")
        await chat.pilot.press("enter")
        assert chat.app.screen is screen, "there is nothing to open"
        await chat.pilot.press("escape")
        await chat.until(lambda: chosen == [None])


async def test_the_command_begins_with_its_text(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await talk(chat.core.database, "a duck", title="found")
        await chat.say("/search duck")
        await chat.until(lambda: isinstance(chat.app.screen, FindSessions))
        screen = chat.app.screen
        assert isinstance(screen, FindSessions)
        await hits(chat, screen, 1)
        assert screen.query_one(Input).value == "duck"
