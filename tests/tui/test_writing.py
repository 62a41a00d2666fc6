"""The composer with what belongs to it: marks, completion, earlier messages, waiting messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from textual import events
from textual.app import App, ComposeResult

from cos.agent.ids import new_id
from cos.core.attachments import Attachment
from cos.core.prompts import Prompt
from cos.tui.completion import CommandHint
from cos.tui.outgoing import Outgoing
from cos.tui.widgets.completion_list import CompletionList
from cos.tui.widgets.composer import Composer
from cos.tui.widgets.history_search import HistorySearch
from cos.tui.widgets.queue_strip import QueueStrip, Waiting
from cos.tui.widgets.writing import Writing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from textual.pilot import Pilot

LONG = "".join(f"line {number}\n" for number in range(40))


class Commands:
    def commands(self) -> Sequence[CommandHint]:
        return [
            CommandHint(name="new", summary="begin a session"),
            CommandHint(name="resume", arguments="<session>", summary="open a session"),
            CommandHint(name="retry", summary="ask again"),
        ]


class Earlier:
    """Prompts as the database would give them, `count` of them."""

    def __init__(self, count: int) -> None:
        self.prompts = [Prompt(id=new_id(), text=f"prompt {number}") for number in range(count)]

    async def page(self, profile_id: str, *, before: UUID | None = None, limit: int = 50) -> list[Prompt]:
        older = [prompt for prompt in reversed(self.prompts) if before is None or prompt.id < before]
        return older[:limit]

    async def search(self, profile_id: str, words: Iterable[str], *, limit: int = 50) -> list[Prompt]:
        wanted = list(words)
        return [prompt for prompt in reversed(self.prompts) if all(word in prompt.text for word in wanted)][:limit]


class Desk(App[None]):
    def __init__(self, workspace: Path, earlier: int = 0) -> None:
        super().__init__()
        self._workspace = workspace
        self._earlier = earlier
        self.sent: list[Outgoing] = []
        self.changes: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        yield Writing(burst_seconds=0.0)

    def on_mount(self) -> None:
        writing = self.query_one(Writing)
        writing.connect(Earlier(self._earlier), Commands())
        writing.at("home", self._workspace)
        writing.composer.focus()

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        self.sent.append(event.outgoing)

    def on_queue_strip_change(self, event: QueueStrip.Change) -> None:
        self.changes.append((event.row.text, event.what))

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    @property
    def choices(self) -> list[str]:
        shown = self.query_one(CompletionList) if self.focused is self.composer else self._search_list
        return [choice.value for choice in shown._choices] if shown.is_open else []

    @property
    def _search_list(self) -> CompletionList:
        return self.query_one(HistorySearch).query_one(CompletionList)


@asynccontextmanager
async def desk(
    workspace: Path, earlier: int = 0, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Desk, Pilot[None]]]:
    app = Desk(workspace, earlier)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


async def until(pilot: Pilot[None], holds: Callable[[], object]) -> None:
    for _ in range(2_000):
        if holds():
            return
        await pilot.pause(0.005)
    raise AssertionError("not reached")


def screen_of(app: App[None]) -> list[str]:
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


async def paste(app: Desk, pilot: Pilot[None], text: str) -> None:
    app.post_message(events.Paste(text))
    await pilot.pause()


async def test_a_long_paste_is_one_unit_and_is_sent_in_full(tmp_path: Path) -> None:
    async with desk(tmp_path) as (app, pilot):
        await pilot.press("a")
        await paste(app, pilot, LONG.replace("\n", "\r"))
        await pilot.press("z")
        assert any("a[paste 1: 310 characters, 40 lines]z" in line for line in screen_of(app))
        await pilot.press("left", "left", "b", "right", "c", "enter")
        assert app.sent[0].text == f"ab{LONG}cz"


async def test_deleting_into_a_mark_takes_all_of_it_and_undo_brings_it_back(tmp_path: Path) -> None:
    async with desk(tmp_path) as (app, pilot):
        await pilot.press("a")
        await paste(app, pilot, LONG)
        marked = app.composer.text
        for keys in (("backspace",), ("ctrl+w",), ("home", "right", "delete"), ("shift+left", "delete")):
            await pilot.press("end", *keys)
            assert app.composer.text == "a", keys
            await pilot.press("ctrl+z")
            assert app.composer.text == marked, keys
        assert app.composer.full_text == f"a{LONG}"


@pytest.mark.parametrize("unfold", ["again", "ctrl+o"])
async def test_a_mark_unfolds(tmp_path: Path, unfold: str) -> None:
    async with desk(tmp_path) as (app, pilot):
        await paste(app, pilot, LONG)
        if unfold == "again":
            await paste(app, pilot, LONG)
        else:
            await pilot.press("ctrl+o")
        assert app.composer.text == LONG == app.composer.full_text


async def test_a_selected_mark_is_copied_as_its_text(tmp_path: Path) -> None:
    async with desk(tmp_path) as (app, pilot):
        await paste(app, pilot, LONG)
        await pilot.press("shift+home", "ctrl+x")
        assert app.clipboard == LONG and app.composer.text == ""
        await pilot.press("ctrl+v", "enter")
        assert app.sent[0].text == LONG


async def test_typing_after_a_paste_of_a_megabyte_does_not_read_it_again(tmp_path: Path) -> None:
    text = ("x" * 79 + "\n") * 13_000
    async with desk(tmp_path) as (app, pilot):
        await paste(app, pilot, text)
        await paste(app, pilot, text)
        await pilot.press("ctrl+o")
        assert len(app.composer.text) < 100
        assert "too long to be shown" in "".join(notice.message for notice in app._notifications)
        # The first Enter is answered with the size.
        await pilot.press(*"tail", "enter", "enter")
        assert app.sent[0].text == text + "tail"


async def test_a_dropped_image_goes_along_and_one_that_is_too_large_stays_a_path(tmp_path: Path) -> None:
    small, large = tmp_path / "my shot.png", tmp_path / "large.png"
    small.write_bytes(b"\x89PNG\r\n\x1a\n")
    large.write_bytes(b"\x89PNG\r\n\x1a\n" + b"0" * 5_000_000)
    async with desk(tmp_path, size=(120, 40)) as (app, pilot):
        app.post_message(events.Paste(f"'{small}'"))
        await until(pilot, lambda: app.composer.attachments)
        app.post_message(events.Paste(str(large)))
        await until(pilot, lambda: str(large) in app.composer.text)
        assert "5.0 MB" in "".join(notice.message for notice in app._notifications)
        await pilot.press("enter")
        assert app.sent[0].text == f"[image 1: my shot.png] {large}"
        assert app.sent[0].attachments == (Attachment(path=small, media_type="image/png", size=8),)


async def test_commands_are_completed_and_a_whole_one_is_sent(tmp_path: Path) -> None:
    async with desk(tmp_path) as (app, pilot):
        await pilot.press(*"/re")
        assert app.choices == ["/resume ", "/retry"]
        await pilot.press("down", "enter")
        assert app.composer.text == "/retry" and not app.sent
        await pilot.press("enter")
        assert app.sent[0].text == "/retry"
        await pilot.press(*"/re", "tab", *"01a")
        assert app.composer.text == "/resume 01a" and not app.choices


async def test_escape_closes_the_list_until_another_word_begins(tmp_path: Path) -> None:
    async with desk(tmp_path) as (app, pilot):
        await pilot.press("/", "escape", "n")
        assert not app.choices
        await pilot.press("enter")
        assert app.sent[0].text == "/n"
        await pilot.press("/")
        assert app.choices


async def test_files_are_completed_with_quotes_where_they_are_needed(tmp_path: Path) -> None:
    for name in ("client.py", "read me.md", "bad\x1bname"):
        (tmp_path / name).touch()
    async with desk(tmp_path) as (app, pilot):
        await pilot.press(*"see @")
        await until(pilot, lambda: len(app.choices) == 3)
        assert any("bad␛name" in line for line in screen_of(app)) and "\x1b" not in "".join(screen_of(app))
        await pilot.press(*"rdme")
        await until(pilot, lambda: len(app.choices) == 1)
        await pilot.press("tab", *"@cl")
        await until(pilot, lambda: app.choices == ["client.py"])
        await pilot.press("enter")
        assert app.composer.text == 'see "read me.md" client.py ' and not app.sent


async def test_a_file_that_is_new_is_found_when_the_list_opens_again(tmp_path: Path) -> None:
    (tmp_path / "one").touch()
    async with desk(tmp_path) as (app, pilot):
        await pilot.press("@")
        await until(pilot, lambda: app.choices == ["one"])
        await pilot.press("backspace")
        (tmp_path / "two").touch()
        await pilot.press("@")
        await until(pilot, lambda: app.choices == ["one", "two"])


async def test_history_is_read_by_pages_and_the_text_is_kept(tmp_path: Path) -> None:
    async with desk(tmp_path, earlier=70) as (app, pilot):
        await until(pilot, lambda: app.composer.prompts.is_read)
        await pilot.press(*"draft", *["up"] * 50)
        assert app.composer.text == "prompt 20"
        await pilot.press("up")
        await until(pilot, lambda: app.composer.text == "prompt 19")
        await pilot.press(*["up"] * 30)
        assert app.composer.text == "prompt 0"
        await pilot.press(*["down"] * 71)
        assert app.composer.text == "draft"


async def test_search_in_what_was_sent(tmp_path: Path) -> None:
    async with desk(tmp_path, earlier=12) as (app, pilot):
        await pilot.press(*"draft", "ctrl+r", *"1")
        await until(pilot, lambda: app.choices == ["prompt 11", "prompt 10", "prompt 1"])
        await pilot.press("escape")
        await until(pilot, lambda: app.composer.has_focus)
        assert app.composer.text == "draft"
        await pilot.press("ctrl+r")
        await until(pilot, lambda: len(app.choices) == 12)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.composer.has_focus)
        assert app.composer.text == "prompt 10"
        await pilot.press("ctrl+z")
        assert app.composer.text == "draft"


async def test_two_ups_at_once_are_two_steps(tmp_path: Path) -> None:
    """Keys that come together are not judged by where the cursor was before the first one."""
    async with desk(tmp_path) as (app, pilot):
        await pilot.press(*"one", "enter", "t", "ctrl+j", "w", "enter", "up")
        for _ in range(2):
            app.post_message(events.Key("up", None))
        await until(pilot, lambda: app.composer.text == "one")


async def test_keys_past_the_queue_are_there_only_while_a_turn_runs(tmp_path: Path) -> None:
    async with desk(tmp_path) as (app, pilot):
        await pilot.press("a", "ctrl+s", "ctrl+t")
        assert not app.sent
        app.composer.turn_runs = True
        await pilot.press("ctrl+s", "b", "ctrl+t", "c", "enter")
        assert [(one.text, one.mode) for one in app.sent] == [("a", "steer"), ("b", "now"), ("c", "queue")]


async def test_waiting_messages_are_reached_by_up_and_changed_by_keys(tmp_path: Path) -> None:
    async with desk(tmp_path, earlier=1) as (app, pilot):
        await until(pilot, lambda: app.composer.prompts.is_read)
        queue = app.query_one(QueueStrip)
        queue.show([Waiting(id=new_id(), text="one"), Waiting(id=new_id(), text="two", mode="steer")], "for the turn")
        await pilot.press("up", "s", "up", "n", "d", "enter")
        assert app.changes == [("two", "steer"), ("one", "now"), ("one", "remove"), ("one", "edit")]
        await pilot.press("up")
        await until(pilot, lambda: app.composer.has_focus)
        assert app.composer.text == "prompt 0"
        await pilot.press("ctrl+z", "down")
        queue.choose_last()
        queue.show([], "")
        await until(pilot, lambda: app.composer.has_focus)


async def test_a_waiting_message_is_changed_in_the_composer_and_the_text_before_comes_back(tmp_path: Path) -> None:
    async with desk(tmp_path) as (app, pilot):
        message = new_id()
        await pilot.press(*"half")
        app.composer.edit_waiting(message, "old")
        assert app.composer.draft == "half"
        await pilot.press("!", "enter")
        assert app.sent[0].text == "old!" and app.sent[0].replaces == message
        assert app.composer.text == "half" and app.composer.border_title == ""
        app.composer.edit_waiting(message, "old")
        await pilot.press("escape")
        assert app.composer.text == "half" and app.composer.editing is None


@pytest.mark.parametrize("text", ["かな漢", "👩‍👩‍👧‍👦", "e\u0301", "שלום abc 123", "ก็", "a\u2060b", "\x1b[31mred\x07"])
async def test_wide_characters_leave_the_border_straight_and_no_control_reaches_the_terminal_H_050(
    tmp_path: Path, text: str
) -> None:
    async with desk(tmp_path, size=(20, 10)) as (app, pilot):
        await paste(app, pilot, text * 9)
        await pilot.press("left", "right")
        strips = list(app.screen._compositor.render_strips())
        assert {sum(segment.cell_length for segment in strip) for strip in strips} == {20}
        assert not any(ord(letter) < 32 for line in screen_of(app) for letter in line)
        await pilot.press("enter")
        assert app.sent[0].text == text * 9


@pytest.mark.parametrize(("text", "cells"), [("かな", 4), ("ab", 2), ("e\u0301x", 2), ("a\u2060b", 2)])
async def test_the_cursor_stands_after_the_cells_of_the_text_H_050(tmp_path: Path, text: str, cells: int) -> None:
    async with desk(tmp_path) as (app, pilot):
        await paste(app, pilot, text)
        await paste(app, pilot, LONG)
        mark = len("[paste 1: 310 characters, 40 lines]")
        left = app.composer.content_region.x
        assert app.composer.cursor_screen_offset.x == left + cells + mark


async def test_a_hundred_thousand_files_are_looked_through_while_keys_come(tmp_path: Path) -> None:
    (tmp_path / "f9").touch()
    async with desk(tmp_path) as (app, pilot):
        await pilot.press("@")
        await until(pilot, lambda: app.choices == ["f9"])
        files = app.query_one(Writing).completing._files
        assert files is not None
        files.paths = [f"folder{number % 97}/sub/file{number}.py" for number in range(100_000)]
        await pilot.press(*"file9999")
        assert app.composer.text == "@file9999"
        await until(pilot, lambda: app.choices and app.choices[0].endswith("/file9999.py"))
