"""Slash commands of the app, the palette, and what the app remembers of how it looks."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from textual.command import CommandPalette

from cos.agent.errors import CosError
from cos.agent.providers.scripted import ScriptedProvider, said
from cos.tui.preferences import Preferences
from cos.tui.screens.help import Help
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in


async def test_a_command_is_carried_out_and_no_session_comes_of_it(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.say("/help")
        await chat.until(lambda: isinstance(chat.app.screen, Help))
        await chat.pilot.press("escape")
        await chat.say("/profile")
        await chat.until(lambda: "› home" in chat.text())
        await chat.say("/new work")
        await chat.until(lambda: chat.control.place.profile_id == "work")
        assert chat.control.current is None
        assert await chat.core.database.fetch(b"SELECT id FROM sessions") == []


async def test_an_unknown_command_comes_back_with_the_nearest_one(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.say("/thme light")
        await chat.told("did you mean /theme?")
        assert chat.main.composer.text == "/thme light"


async def test_a_theme_is_remembered(core_home: CoreHome, tmp_path: Path) -> None:
    file = tmp_path / "tui.json"
    async with chat_in(core_home, preferences=Preferences.load(file)) as chat:
        await chat.say("/theme light")
        await chat.until(lambda: chat.app.theme == "textual-light")
        await chat.say("/theme nonsense")
        await chat.told("there is no theme 'nonsense'")
    async with chat_in(core_home, preferences=Preferences.load(file)) as chat:
        assert chat.app.theme == "textual-light"


async def test_a_session_is_opened_by_the_beginning_of_its_id(core_home: CoreHome) -> None:
    core_home.script(said("one"))
    async with chat_in(core_home) as chat:
        await chat.ask("first")
        session_id = chat.control.current
        await chat.pilot.press("ctrl+n")
        await chat.say(f"/resume {session_id}")
        await chat.until(lambda: chat.control.current == session_id and "first" in chat.text())


async def test_the_palette_runs_a_command(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.pilot.press("ctrl+p")
        await chat.until(lambda: isinstance(chat.app.screen, CommandPalette))
        await chat.pilot.press(*"help")
        await chat.shows("/help")
        await chat.until(lambda: chat.app.screen.query_one("CommandList").option_count)  # type: ignore[attr-defined]
        await chat.pilot.press("enter")
        await chat.until(lambda: isinstance(chat.app.screen, Help))


async def test_side_panes_change_their_width_by_key_and_by_mouse_and_keep_it(
    core_home: CoreHome, tmp_path: Path
) -> None:
    file = tmp_path / "tui.json"
    async with chat_in(core_home, preferences=Preferences.load(file)) as chat:
        left, right = chat.main.query_one("#left"), chat.main.query_one("#right")
        before = left.size.width
        await chat.pilot.press("f2", "plus")
        await chat.until(lambda: left.size.width == before + 2)
        edge = right.region.x
        await chat.pilot.mouse_down(offset=(edge, 5))
        await chat.pilot.hover(offset=(edge + 3, 5))
        await chat.pilot.mouse_up(offset=(edge + 3, 5))
        await chat.until(lambda: right.region.x == edge + 3)
        chosen = left.size.width, right.size.width
    async with chat_in(core_home, preferences=Preferences.load(file)) as chat:
        await chat.until(
            lambda: (chat.main.query_one("#left").size.width, chat.main.query_one("#right").size.width) == chosen
        )


async def test_a_spoiled_file_of_preferences_counts_as_none(tmp_path: Path) -> None:
    file = tmp_path / "tui.json"
    for text in ("{", "[]", '{"left": "wide", "theme": 3}', '{"left": true}'):
        file.write_text(text)
        assert Preferences.load(file) == Preferences()
    file.write_text('{"left": 1, "right": 1000}')
    assert (Preferences.load(file).left, Preferences.load(file).right) == (18, 80)


async def test_work_that_fails_is_said_whoever_began_it(core_home: CoreHome, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise CosError("the list is on fire")

    async with chat_in(core_home) as chat:
        monkeypatch.setattr(chat.control.actions, "go", broken)
        await chat.pilot.press("ctrl+down")
        await chat.told("the list is on fire")


async def test_a_model_that_nobody_knows_is_taken_with_a_warning_and_near_ones(core_home: CoreHome) -> None:
    core_home.providers["home"] = ScriptedProvider([said("one")], known=("claude-sonnet-5-5", "claude-opus-5-5"))
    async with chat_in(core_home) as chat:
        await chat.ask("hello")
        for model, what in [
            ("claude-sonet-5-5", "Did you mean claude-sonnet-5-5"),
            ("zzz", "Known are claude-sonnet-5-5, claude-opus-5-5"),
        ]:
            await chat.say(f"/model {model}")
            await chat.until(partial(_says, chat, f"The next turns are answered by {model}."))
            assert f"not known to have a model {model}. {what}" in chat.text()
        before = chat.text().count("Warning")
        for model in ("claude-opus-5-5", "claude-opus-5-5-20261001"):
            await chat.say(f"/model {model}")
            await chat.until(partial(_says, chat, f"answered by {model}."))
        assert chat.text().count("Warning") == before


def _says(chat: Chat, words: str) -> bool:
    return words in chat.text()
