"""The app on a real core: sending, streaming, waiting, stopping, and leaving."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import ModuleType

import pytest
from textual.widgets._toast import Toast

from cos.agent.provider import ProviderRefused, StreamStarted, TextChunk
from cos.agent.providers.scripted import MODEL, Script, called, said
from cos.agent.providers.unavailable import UnavailableProvider
from cos.cli.running_core import Core
from cos.core.live import Live, Resync
from cos.core.session_query import SessionQuery
from cos.tui.app import CosApp, Opening
from cos.tui.screens import main
from cos.tui.widgets.search_bar import SearchBar
from tests.fix_home import PROFILES, CoreHome
from tests.tui.chat import QUICK, Chat, chat_in

HANG: Script = [StreamStarted(MODEL), TextChunk("under way "), "hang"]


async def test_a_message_is_sent_and_its_answer_shown(core_home: CoreHome) -> None:
    core_home.script(said("the answer"))
    async with chat_in(core_home) as chat:
        await chat.ask("a question")
        assert "a question" in chat.text()
        assert "the answer" in chat.text()
        assert chat.main.composer.text == ""


async def test_what_is_typed_before_the_core_is_there_is_sent_once_it_is(core_home: CoreHome) -> None:
    core_home.script(said("one answer"), said("two answers"))
    may_start = asyncio.Event()

    async def open_late(say: Callable[[str], None]) -> Core:
        say("starting the database")
        await may_start.wait()
        return await core_home.open(say)

    app = CosApp(Opening(open_core=open_late, timing=QUICK))
    async with app.run_test(size=(120, 40)) as pilot:
        chat = Chat(app, pilot, core_home)
        await chat.until(lambda: app.main_screen is not None)
        await chat.say("early")
        await chat.say("early too")
        await pilot.press(*"half")
        await chat.shows("starting the database")
        await chat.shows("early")
        may_start.set()
        await chat.until(lambda: "two answers" in chat.text())
        assert chat.main.composer.text == "half"
        assert len((await chat.core.session_list.page(SessionQuery())).rows) == 1


async def test_what_is_typed_into_the_first_picture_goes_on_in_the_main_screen(
    core_home: CoreHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    core_home.script(said("one answer"))
    may_import = threading.Event()
    real = importlib.import_module

    def held(name: str) -> ModuleType:
        if name == "cos.tui.screens.chat":
            assert may_import.wait(20)
        return real(name)

    monkeypatch.setattr("cos.tui.app.importlib.import_module", held)
    app = CosApp(Opening(open_core=core_home.open, timing=QUICK))
    async with app.run_test(size=(120, 40)) as pilot:
        chat = Chat(app, pilot, core_home)
        await pilot.press(*"early", "enter", *"ha")
        assert app.main_screen is None and app.ground.not_stored() == ["early", "ha"]
        await chat.shows("» early")
        may_import.set()
        # Some of these keys come before the main screen is there, some while it takes over, some after.
        for key in "lf, more":
            await pilot.press("space" if key == " " else "comma" if key == "," else key)
        await chat.until(lambda: "one answer" in chat.text())
        assert chat.main.composer.text == "half, more"
        assert chat.main.composer.has_focus


async def test_a_second_message_waits_in_the_queue_and_then_runs(core_home: CoreHome) -> None:
    core_home.script(called(("c1", "terminal", {"command": "touch one"})), said("first answer"), said("second answer"))
    async with chat_in(core_home) as chat:
        await chat.say("one")
        await chat.requests(1)
        await chat.say("two")
        await chat.shows("» two")
        await chat.answer("y")
        await chat.until(lambda: "second answer" in chat.text())
        assert not chat.main.queue.display
        assert chat.text().index("first answer") < chat.text().index("two") < chat.text().index("second answer")


async def test_escape_stops_the_open_turn_and_keeps_draft_and_queue_H_049(core_home: CoreHome) -> None:
    core_home.script(called(("c1", "terminal", {"command": "sleep 60"})), said("after"), said("last"))
    async with chat_in(core_home) as chat:
        await chat.say("one")
        await chat.requests(1)
        await chat.say("two")
        await chat.until(lambda: chat.main.queue.display)
        await chat.pilot.press(*"draft", "escape", "escape")
        await chat.rests()
        await chat.requests(0)
        await chat.shows("paused")
        assert chat.main.composer.text == "draft"
        assert chat.calls()[0].state == "cancelled"
        assert "stopping" not in chat.screen_text()
        assert "cancelled" in chat.text().splitlines()[0]
        await chat.say("three")
        await chat.until(lambda: "last" in chat.text())


async def test_escape_leaves_other_sessions_alone_and_closes_one_layer_at_a_time(core_home: CoreHome) -> None:
    core_home.script(HANG, HANG)
    async with chat_in(core_home, size=(80, 24)) as chat:
        await chat.say("one")
        await chat.until(lambda: "under way" in chat.text())
        first = chat.control.current
        await chat.pilot.press("ctrl+n")
        await chat.say("two")
        await chat.until(lambda: "two" in chat.text() and "under way" in chat.text())
        await chat.pilot.press("f2", "escape")
        assert chat.main.composer.has_focus and chat.control.is_running
        await chat.pilot.press("f1", "escape")
        assert chat.control.is_running
        await chat.pilot.press("escape", "escape")
        await chat.rests()
        assert first is not None and chat.core.dispatcher.running(first) is not None


@pytest.mark.parametrize("keys", [["f4"], ["f2"], ["f2", "slash", "x", "escape"], ["ctrl+r"], ["f8"]], ids=" ".join)
async def test_escape_that_leaves_a_pane_or_a_field_does_not_stop_the_turn_when_it_is_pressed_twice(
    core_home: CoreHome, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    monkeypatch.setattr(main, "STOP_AGAIN_SECONDS", 60.0)
    core_home.script(called(("c1", "terminal", {"command": "sleep 60"})))
    async with chat_in(core_home) as chat:
        await chat.say("one")
        await chat.requests(1)
        await chat.pilot.press(*keys, "escape", "escape")
        if keys[-1] == "escape":
            await chat.pilot.press("escape")
        assert chat.control.is_running and chat.main.composer.has_focus
        await chat.told("Esc once more stops the turn.")
        await chat.pilot.press("escape")
        await chat.rests()


async def test_escape_in_the_conversation_goes_back_and_once_more_stops(core_home: CoreHome) -> None:
    core_home.script(HANG)
    async with chat_in(core_home) as chat:
        await chat.say("one")
        await chat.until(lambda: "under way" in chat.text())
        await chat.pilot.press("f3", "escape", "escape")
        await chat.rests()


async def test_a_notice_never_lies_over_what_is_written(core_home: CoreHome) -> None:
    async with chat_in(core_home, notifications=True) as chat:
        chat.app.notify("A sentence that is longer than one line of a notice, and stays on screen.", timeout=600)
        for keys in ("ab", [*(["ctrl+j"] * 6)]):
            await chat.pilot.press(*keys)
            await chat.until(lambda: chat.main.query(Toast) and chat.main.query_one(Toast).region.height)
            await chat.until(
                lambda: chat.main.query_one(Toast).region.bottom <= chat.main.composer.region.y,
                f"{chat.main.query_one(Toast).region} {chat.main.composer.region}",
            )
        assert chat.main.composer.region.height == 9


async def test_a_notice_covers_no_screen_that_opens_after_it(core_home: CoreHome) -> None:
    async with chat_in(core_home, notifications=True) as chat:
        chat.app.notify("said below", timeout=600)
        await chat.shows("said below")
        await chat.pilot.press("f1")
        await chat.shows("this help")
        chat.app.notify("said on top", timeout=600)
        await chat.shows("said on top")
        assert "said below" not in chat.screen_text()
        await chat.pilot.press("escape")
        await chat.shows("said below")
        await chat.shows("said on top")


async def test_ctrl_c_clears_then_quits_on_the_second_press(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.pilot.press(*"text", "ctrl+c")
        assert chat.main.composer.text == "" and "once more" not in chat.notices()
        await chat.pilot.press("up")
        assert chat.main.composer.text == "text", "one Up away"
        await chat.pilot.press("down", "ctrl+c")
        await chat.told("once more")
        assert chat.app.is_running
        await chat.pilot.press("ctrl+c")
        await chat.until(lambda: not chat.app.is_running)


async def test_ctrl_c_copies_a_selection(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.pilot.press(*"text", "shift+home", "ctrl+c")
        assert chat.app.clipboard == "text" and chat.main.composer.text == "text"


@asynccontextmanager
async def waiting_chat(core_home: CoreHome) -> AsyncIterator[Chat]:
    """A request waits; when it is answered, the turn runs until it is stopped."""
    core_home.script(called(("c1", "terminal", {"command": "touch one"})), HANG)
    async with chat_in(core_home) as chat:
        await chat.say("one")
        await chat.requests(1)
        yield chat


async def test_ctrl_d_quits_only_when_nothing_waits_and_nothing_runs_H_049(core_home: CoreHome) -> None:
    async with waiting_chat(core_home) as chat:
        await chat.pilot.press("ctrl+d")
        await chat.told("1 request waits for you")
        await chat.answer("n")
        await chat.until(lambda: "under way" in chat.text())
        await chat.pilot.press("ctrl+d")
        await chat.told("1 turn runs")
        # Right after the last answer the first Esc is taken for the pane that has just closed.
        await chat.pilot.press("escape", "escape")
        await chat.rests()
        await chat.pilot.press("a", "left", "ctrl+d")
        assert chat.main.composer.text == "" and chat.app.is_running
        await chat.pilot.press("ctrl+d")
        await chat.until(lambda: not chat.app.is_running)
        assert chat.app.farewell is not None


async def test_ctrl_q_says_first_what_would_be_lost_and_quits_on_the_second_press(core_home: CoreHome) -> None:
    async with waiting_chat(core_home) as chat:
        await chat.pilot.press("ctrl+q")
        await chat.told("1 request waits for you (F4). Ctrl+Q once more quits anyway.")
        chat.app._quit_pressed = 0.0
        await chat.answer("n")
        await chat.until(lambda: "under way" in chat.text())
        await chat.pilot.press("ctrl+c")
        await chat.told("1 turn runs. Ctrl+C once more stops and quits.")
        chat.app._quit_pressed = 0.0
        await chat.pilot.press("ctrl+q")
        await chat.told("1 turn runs. Ctrl+Q once more stops and quits.")
        assert not chat.app.is_leaving
        await chat.pilot.press("ctrl+q")
        await chat.until(lambda: not chat.app.is_running)


@pytest.mark.parametrize("begun", [False, True])
async def test_the_command_quits_and_does_not_count_itself_as_lost(core_home: CoreHome, begun: bool) -> None:
    core_home.script(said("one"))
    async with chat_in(core_home) as chat:
        if begun:
            await chat.ask("hello")
        await chat.say("/quit")
        await chat.until(lambda: not chat.app.is_running)
        assert chat.app.not_stored == []


async def test_drafts_stay_with_their_sessions(core_home: CoreHome) -> None:
    core_home.script(said("a"), said("b"))
    async with chat_in(core_home) as chat:
        await chat.ask("one")
        first = chat.control.current
        await chat.pilot.press(*"first draft", "ctrl+n")
        assert chat.main.composer.text == ""
        await chat.ask("two")
        await chat.pilot.press(*"second draft")
        assert first is not None
        await chat.control.open(first)
        assert chat.main.composer.text == "first draft"
        await chat.pilot.press("ctrl+n")
        assert chat.main.composer.text == ""


async def test_two_messages_sent_at_once_begin_one_session(core_home: CoreHome) -> None:
    core_home.script(said("a"), said("b"))
    async with chat_in(core_home) as chat:
        chat.main.composer.load("one")
        chat.main.composer.action_submit()
        chat.main.composer.load("two")
        chat.main.composer.action_submit()
        await chat.until(lambda: "b" in chat.text().splitlines()[-1])
        assert len((await chat.core.session_list.page(SessionQuery())).rows) == 1


async def test_f6_begins_a_session_of_the_next_profile_while_the_composer_has_the_focus(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        assert chat.main.composer.has_focus
        await chat.pilot.press("f6")
        assert chat.control.place.profile_id == "work"
        await chat.shows("client:acme")


async def test_the_status_line_says_the_tags_that_the_next_session_gets(core_home: CoreHome) -> None:
    async with chat_in(core_home, tags=("client:acme",)) as chat:
        assert "area:home client:acme" in str(chat.main.status_line.content)
        await chat.say("/tag task:x")
        await chat.shows("New session #client:acme #task:x")
        assert "area:home client:acme task:x" in str(chat.main.status_line.content)
        await chat.ask("hello")
        assert chat.control.current is not None
        (turn,) = (await chat.core.sessions.transcript(chat.control.current)).turns.values()
        assert turn.tags == ("area:home", "client:acme", "task:x")


async def test_tags_of_the_next_session_go_along_to_another_profile(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        chat.control.place.tags = ("task:x",)
        await chat.pilot.press("f6")
        await chat.until(lambda: "New session #task:x" in chat.screen_text())
        await chat.ask("hello")
        await chat.until(lambda: (row := chat.control.monitor.row(chat.control.current)) and row.tags)
        row = chat.control.monitor.row(chat.control.current)
        assert row is not None and (row.profile_id, list(row.tags)) == ("work", ["task:x"])
        await chat.pilot.press("ctrl+n")
        assert not chat.control.place.tags


async def test_f6_goes_past_a_profile_without_a_key_and_lists_mark_it(core_home: CoreHome) -> None:
    core_home.write_profile("demo", PROFILES["home"])
    core_home.providers |= {
        name: UnavailableProvider(name="anthropic", sentence="No key.") for name in ("home", "work")
    }
    async with chat_in(core_home) as chat:
        seen = [chat.control.place.profile_id]
        assert "another profile: demo, home (no key), work (no key)" in chat.text()
        for _ in range(3):
            await chat.pilot.press("f6")
            seen.append(chat.control.place.profile_id)
        assert seen == ["home", "demo", "home", "demo"]
        await chat.say("/profile")
        await chat.until(lambda: "› demo" in chat.text() and "  work (no key)" in chat.text())


async def test_after_a_fork_in_the_conversation_typing_goes_on_in_the_composer(core_home: CoreHome) -> None:
    core_home.script(said("the answer"))
    async with chat_in(core_home) as chat:
        await chat.ask("a question")
        before = chat.control.current
        await chat.pilot.press("f3", "slash", *"question", "enter", "f")
        await chat.until(lambda: chat.control.current != before and chat.main.composer.has_focus)
        assert not chat.main.query_one(SearchBar).is_open
        await chat.pilot.press(*"/undo")
        assert chat.main.composer.text == "/undo"


async def test_what_a_rewind_says_before_and_after_is_the_same_and_true(core_home: CoreHome) -> None:
    core_home.script(said("1"), said("2"))
    async with chat_in(core_home) as chat:
        await chat.ask("one")
        await chat.ask("two")
        await chat.pilot.press("f3", "up", "up", "up", "up", "u")
        await chat.told('u once more takes back 2 turns, from "one" on. They stay in the database, but nothing brings')
        await chat.pilot.press("u")
        await chat.told("Took back 2 turns. They stay in the database, but nothing brings them back")
        assert "once more" not in chat.notices()
        await chat.until(lambda: "one" not in chat.text())
        assert len(await chat.core.database.fetch("SELECT 1 FROM messages WHERE NOT active")) == 4
        core_home.script(said("3"))
        await chat.pilot.press("ctrl+c")
        await chat.ask("three")
        await chat.say("/undo")
        await chat.until(lambda: "Took back the last turn. It stays in the database, but nothing brings" in chat.text())


async def test_a_message_that_is_not_accepted_comes_back_with_the_reason(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.core.database.close()
        await chat.say("do not lose me")
        await chat.until(lambda: chat.notices())
        assert chat.main.composer.text == "do not lose me"
        await chat.told("database")


async def test_without_a_key_nothing_is_begun_and_the_text_comes_back(core_home: CoreHome) -> None:
    core_home.providers["home"] = UnavailableProvider(name="anthropic", sentence="NO_KEY is not set; demo needs none.")
    async with chat_in(core_home) as chat:
        await chat.say("a question")
        await chat.told("NO_KEY is not set")
        await chat.until(lambda: chat.main.composer.text == "a question")
        assert not (await chat.core.session_list.page(SessionQuery())).rows
        await chat.say("/help")
        await chat.until(lambda: chat.app.screen is not chat.main, "a command needs no model")


async def test_a_failed_turn_says_so_in_its_header_and_why(core_home: CoreHome) -> None:
    core_home.script(ProviderRefused("the model x does not exist"))
    async with chat_in(core_home) as chat:
        await chat.ask("one")
        assert "failed" in chat.text().splitlines()[0]
        assert "the model x does not exist" in chat.text()


async def test_a_core_that_does_not_start_ends_the_app_with_a_sentence(core_home: CoreHome) -> None:
    core_home.write_profile("home", 'provider = "mook"\n')
    app = CosApp(Opening(open_core=core_home.open, timing=QUICK))
    async with app.run_test() as pilot:
        chat = Chat(app, pilot, core_home)
        await chat.until(lambda: not app.is_running)
        assert app.failure is not None and "mook" in app.failure


async def test_after_missed_events_the_tables_are_read_again(core_home: CoreHome) -> None:
    core_home.script(said("the answer"))
    async with chat_in(core_home) as chat:
        await chat.ask("a question")
        before = chat.text()
        await chat.control.feed.take(Live(0, Resync()))
        await chat.pilot.press(*"still here")
        assert chat.text() == before
        assert chat.main.composer.text == "still here"
