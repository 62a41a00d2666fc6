"""The line of keys: what is shown is whole, on every screen and in every pane, at every width."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets._footer import FooterKey

from cos.tui.screens.edit_args import EditArgs
from cos.tui.screens.free_answer import FreeAnswer
from cos.tui.screens.help import Help
from cos.tui.screens.save_as import SaveAs
from cos.tui.screens.whole_text import WholeText
from cos.tui.widgets.key_hints import KeyHints, whole
from tests.fix_home import CoreHome
from tests.tui.chat import chat_in
from tests.tui.picture import CARDS, Picture
from tests.tui.test_question_snapshots import QUESTION
from tests.tui.test_sessions_snapshots import DIALOGS

if TYPE_CHECKING:
    from textual.app import App
    from textual.screen import Screen

SCREENS: dict[str, Callable[[], Screen[Any]]] = {
    **DIALOGS,
    "help": lambda: Help([]),
    "edit": lambda: EditArgs(CARDS[1], {"command": "ls"}, arm_seconds=3600.0),
    "whole": lambda: WholeText(CARDS[1]),
    "answer": lambda: FreeAnswer(QUESTION, ""),
    "save": lambda: SaveAs("text", "the answer", Path("/"), "x.md"),
}


def shown(app: App[None]) -> list[str]:
    """The words of the keys; each of them is drawn whole, or this fails."""
    keys = [key for key in app.screen.query_one(KeyHints).query(FooterKey) if key.display]
    for key in keys:
        assert key.region.right <= app.size.width and key.region.width == key.render().cell_len
    return [key.description for key in keys]


def key(name: str, words: str) -> FooterKey:
    return FooterKey(name, name, words, "act")


def test_the_way_out_and_the_help_stay_longest_then_what_is_nearest_to_the_focus() -> None:
    keys = [key("enter", "Open"), key("r", "Rename"), key("f2", "Sessions"), key("escape", "Back"), key("f1", "Help")]
    assert [one.description for one in whole(keys, 43, "f2")] == ["Back", "Help", "Sessions"]
    kept = {width: [one.description for one in whole(keys, width)] for width in (57, 56, 44, 43, 22, 21, 12)}
    assert kept == {
        57: ["Back", "Help", "Open", "Rename", "Sessions"],
        56: ["Back", "Help", "Open", "Rename"],
        44: ["Back", "Help", "Open", "Rename"],
        43: ["Back", "Help", "Open"],
        22: ["Back", "Help"],
        21: ["Back"],
        12: [],
    }


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("name", SCREENS)
async def test_no_key_of_a_dialog_is_cut(name: str, width: int) -> None:
    app = Picture()
    async with app.run_test(size=(width, 24)) as pilot:
        await app.push_screen(SCREENS[name]())
        await pilot.pause()
        await pilot.pause()
        assert shown(app)


async def test_no_key_of_a_pane_is_cut_when_the_window_gets_narrow_and_wide_again(core_home: CoreHome) -> None:
    async with chat_in(core_home, size=(120, 40)) as chat:
        for pane in ("f2", "f3", "f4", "ctrl+f", "escape"):
            await chat.pilot.press(pane)
            for width in (50, 80, 200):
                await chat.pilot.resize_terminal(width, 40)
                await chat.pilot.pause()
                words = shown(chat.app)
                assert "Help" in words, (pane, width)
        assert "New" in shown(chat.app)


async def test_a_text_box_offers_what_works_in_it_and_no_letter_that_would_be_typed() -> None:
    app = Picture()
    async with app.run_test(size=(120, 24)) as pilot:
        for keys, words in (
            (("f3", "slash"), ["Previous", "Next", "To the hit", "Leave the box", "Sessions", "Approvals"]),
            (("f2", "slash"), ["To the list", "Clear", "Sessions", "Approvals"]),
        ):
            await pilot.press(*keys)
            await pilot.pause()
            await pilot.pause()
            assert shown(app) == words
