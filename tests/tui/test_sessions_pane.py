"""The sessions pane as a monitor: states, filter, nesting, keys, dialogs, and the look at a session not open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest
from textual.widgets import Input

from cos.agent.errors import CosError
from cos.agent.identity import NewSession
from cos.agent.ids import new_id
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import MODEL, Script, called, said
from cos.agent.tags import merge_tags
from cos.core.postgres.journal import PostgresJournal
from cos.core.session_edits import Doomed, DoomedSession, Undone
from cos.tui import seeing
from cos.tui.outgoing import Outgoing
from cos.tui.screens.peek import Peek
from cos.tui.screens.session_delete import SessionDelete
from cos.tui.screens.session_tags import SessionTags
from cos.tui.screens.session_title import SessionTitle
from tests.fix_home import CoreHome
from tests.tui.chat import SLOW_ARM, Chat, chat_in

HANG: Script = [StreamStarted(MODEL), TextChunk("under way "), "hang"]
ASKS: Script = called(("c1", "terminal", {"command": "touch one"}))


def doomed(title: str, parent: UUID | None = None) -> DoomedSession:
    return DoomedSession(
        id=uuid4(), profile_id="home", title=title, parent_session_id=parent, turns=3, messages=1, is_running=False
    )


DOOM = Doomed(named=(doomed("one"),), children=(doomed("its child"),), forks_kept=0)


@dataclass
class Edits:
    """Stands in for the core: keeps what it was asked for, and refuses on demand."""

    done: list[tuple[object, ...]] = field(default_factory=list)
    refusal: str = ""

    def _do(self, *what: object) -> None:
        if self.refusal:
            raise CosError(self.refusal)
        self.done.append(what)

    async def rename(self, session_id: UUID, title: str) -> None:
        self._do("rename", title)

    async def set_tags(self, session_id: UUID, tags: Sequence[str]) -> None:
        self._do("tags", *tags)

    async def archive(self, session_id: UUID, archived: bool = True) -> None:
        self._do("archive", archived)

    async def fork(
        self, session_id: UUID, *, before_turn: UUID | None = None, through_turn: UUID | None = None
    ) -> UUID:
        self._do("fork")
        return session_id

    async def what_goes(self, session_ids: Sequence[UUID]) -> Doomed:
        return DOOM

    async def undo(self, session_id: UUID, turns: int = 1) -> Undone:
        self._do("undo", turns)
        return Undone(turns=turns, prompts=())

    async def turns_from(self, session_id: UUID, turn_id: UUID) -> int:
        return 1

    async def delete(self, session_ids: Sequence[UUID]) -> None:
        self._do("delete", *session_ids)

    async def seen(self, session_id: UUID) -> None:
        self._do("seen", session_id)


def edited(chat: Chat) -> Edits:
    edits = Edits()
    chat.control.actions.editing = chat.control.seeing.editing = edits
    return edits


async def made(home: CoreHome, *titles: str, parent: UUID | None = None, tag: str = "client:acme") -> list[UUID]:
    """Sessions without a turn, the last one newest."""
    core = home.opened[-1] if home.opened else await home.open()
    journal = PostgresJournal(core.database)
    return [
        await journal.create_session(
            NewSession(profile_id="home", source="cli", title=title, tags=merge_tags([tag]), parent_session_id=parent)
        )
        for title in titles
    ]


def titles(chat: Chat) -> list[str]:
    return [f"{'  ' * one.depth}{one.row.title}" for one in chat.main.sessions.lines.rows.shown]


async def lists(chat: Chat, *expected: str) -> None:
    await chat.until(lambda: titles(chat) == list(expected), f"the list {expected}, not {titles(chat)}")


async def test_who_waits_for_the_user_comes_first_and_the_words_follow_the_turn(core_home: CoreHome) -> None:
    await made(core_home, "older")
    core_home.script(ASKS, HANG)
    async with chat_in(core_home) as chat:
        await chat.say("asks")
        await chat.requests(1)
        await made(core_home, "newer")
        await chat.control.monitor.reload()
        await lists(chat, "asks", "newer", "older")
        await chat.shows("waiting for approval")
        await chat.answer("y")
        await chat.shows("thinking")
        await chat.pilot.press("escape", "escape")
        await chat.rests()
        await chat.shows("cancelled")


async def test_the_filter_works_as_it_is_typed_and_escape_clears_then_leaves(core_home: CoreHome) -> None:
    await made(core_home, "fix the retry", "weekly summary")
    await made(core_home, "other", tag="client:beta")
    async with chat_in(core_home) as chat:
        await lists(chat, "other", "weekly summary", "fix the retry")
        await chat.pilot.press("f2", "slash", *"retry")
        await lists(chat, "fix the retry")
        await chat.pilot.press("escape")
        await lists(chat, "other", "weekly summary", "fix the retry")
        await chat.pilot.press("slash", *"#client:beta")
        assert chat.main.sessions.filter.value == "#client:beta"
        await lists(chat, "other")
        await chat.pilot.press("escape", *"nowhere")
        await chat.shows("No session matches")
        await chat.pilot.press("escape", "escape")
        assert chat.main.sessions.lines.has_focus
        await chat.pilot.press("escape")
        assert chat.main.composer.has_focus


async def test_the_pane_says_what_its_filter_hides_and_escape_in_the_list_takes_it_away(core_home: CoreHome) -> None:
    apples, pears, plums = await made(core_home, "apples", "pears", "plums")
    async with chat_in(core_home, session=str(pears)) as chat:
        await lists(chat, "plums", "pears", "apples")
        assert "hides" not in chat.screen_text()
        await chat.pilot.press("f2", "slash", *"pears", "enter")
        await chat.shows("hides 2 sessions; Esc")
        await chat.pilot.press("enter")
        assert chat.main.composer.has_focus
        await chat.control.open(apples)
        await chat.shows("hides 2 sessions, also")
        await chat.control.actions.editing.archive(plums)
        await chat.control.monitor.read(plums)
        await chat.shows("hides 1 session, also")
        await chat.pilot.press("f2", "escape")
        await lists(chat, "pears", "apples")
        assert chat.main.sessions.lines.has_focus and "hides" not in chat.screen_text()
        await chat.pilot.press("escape")
        assert chat.main.composer.has_focus


async def test_a_wrong_piece_of_the_filter_is_said_and_the_list_stays(core_home: CoreHome) -> None:
    await made(core_home, "one")
    async with chat_in(core_home) as chat:
        await chat.pilot.press("f2", "slash")
        chat.main.sessions.filter.value = "state:wating"
        await chat.shows("did you mean")
        await lists(chat, "one")
        chat.main.sessions.filter.value = "cost:1"
        await chat.shows("is no bound")
        await chat.pilot.press("escape")
        await chat.until(lambda: "is no bound" not in chat.screen_text())


async def test_a_session_that_the_filter_is_against_stays_out_when_it_changes(core_home: CoreHome) -> None:
    core_home.script(said("a"), said("b"))
    async with chat_in(core_home) as chat:
        await chat.ask("apples")
        await chat.pilot.press("ctrl+n")
        await chat.ask("pears")
        await chat.pilot.press("f2", "slash", *"pears")
        await lists(chat, "pears")
        first = (await made(core_home, "apples too"))[0]
        await chat.control.monitor.read(first)
        assert titles(chat) == ["pears"]
        assert chat.control.monitor.row(first) is not None


async def test_children_unfold_under_their_parent_and_fold_again(core_home: CoreHome) -> None:
    (parent,) = await made(core_home, "parent")
    await made(core_home, "child one", "child two", parent=parent)
    await made(core_home, "newest")
    async with chat_in(core_home) as chat:
        await lists(chat, "newest", "parent")
        await chat.shows("▸2 parent")
        await chat.pilot.press("f2", "down", "right")
        await lists(chat, "newest", "parent", "  child one", "  child two")
        await chat.pilot.press("down", "left")
        await lists(chat, "newest", "parent")
        assert chat.main.sessions.lines.cursor == parent
        await chat.pilot.press("slash", *"child")
        await lists(chat, "child two", "child one")


async def test_the_cursor_stays_on_its_session_when_rows_move(core_home: CoreHome) -> None:
    ids = await made(core_home, *(f"s{number}" for number in range(30)))
    core_home.script(said("x"))
    async with chat_in(core_home, size=(120, 20)) as chat:
        lines = chat.main.sessions.lines
        await chat.pilot.press("f2", *["down"] * 12)
        before = lines.cursor
        place = lines.rows.place_of(before)
        assert before is not None and place is not None
        line = place * 2 - lines.scroll_offset.y
        await chat.control.sending.send(Outgoing(text="go"), chat.control.peeking.place_of(lines.rows.shown[20].row))
        await chat.until(lambda: lines.rows.place_of(before) == place + 1)
        await chat.pilot.pause()
        assert lines.cursor == before
        assert (place + 1) * 2 - lines.scroll_offset.y == line
        assert ids


async def test_an_event_draws_only_the_row_it_is_about(core_home: CoreHome) -> None:
    ids = await made(core_home, *(f"s{number}" for number in range(10)))
    async with chat_in(core_home) as chat:
        lines = chat.main.sessions.lines
        await lists(chat, *(f"s{number}" for number in reversed(range(10))))
        await chat.pilot.pause()
        drawn: list[int] = []
        refreshed = lines.refresh

        def counted(*regions: object, **options: bool) -> object:
            drawn.append(len(regions) or 1000)
            return refreshed(*regions, **options)  # type: ignore[arg-type]

        lines.refresh = counted  # type: ignore[assignment]
        await chat.core.sessions.set_title(ids[4], "renamed")
        await chat.control.monitor.read(ids[4])
        assert drawn and set(drawn) == {1}, "word of it may come from the database too"
        await chat.shows("renamed")


async def test_ctrl_up_and_down_go_through_the_list_and_keep_drafts(core_home: CoreHome) -> None:
    first, second = await made(core_home, "first", "second")
    async with chat_in(core_home) as chat:
        await chat.pilot.press("ctrl+down")
        await chat.until(lambda: chat.control.current == second)
        await chat.pilot.press(*"draft", "ctrl+down")
        await chat.until(lambda: chat.control.current == first)
        assert chat.main.composer.text == ""
        await chat.pilot.press("ctrl+down", "ctrl+up")
        await chat.until(lambda: chat.control.current == second)
        assert chat.main.composer.text == "draft"


async def test_a_session_that_is_passed_on_the_way_is_not_seen(
    core_home: CoreHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await made(core_home, "first", "second")
    monkeypatch.setattr(seeing, "LOOK_SECONDS", 3600.0)
    async with chat_in(core_home) as chat:
        edits = edited(chat)
        await chat.pilot.press("ctrl+down")
        await chat.until(lambda: chat.control.current == second)
        await chat.pilot.press("ctrl+down")
        await chat.until(lambda: chat.control.current == first)
        await chat.until(lambda: chat.main.sessions.lines.cursor == first)
        assert edits.done == []
        monkeypatch.setattr(seeing, "LOOK_SECONDS", 0.01)
        await chat.pilot.press("ctrl+up")
        await chat.until(lambda: edits.done == [("seen", second)])
        await chat.pilot.press("f2", "down", "enter")
        await chat.until(lambda: edits.done == [("seen", second), ("seen", first)])


async def test_a_child_says_only_tags_that_its_parent_has_not(core_home: CoreHome) -> None:
    (parent,) = await made(core_home, "parent")
    await made(core_home, "same", parent=parent)
    await made(core_home, "of the profile", parent=parent, tag="area:home")
    await made(core_home, "other", parent=parent, tag="task:x")
    async with chat_in(core_home, size=(160, 40)) as chat:
        await lists(chat, "parent")
        await chat.pilot.press("f2", "right")
        await lists(chat, "parent", "  same", "  of the profile", "  other")
        drawn = [chat.main.sessions.lines.render_line(2 * place + 1).text for place in range(4)]
        assert ["#" in line for line in drawn] == [True, False, False, True]
        assert "#client:acme" in drawn[0] and "#task:x" in drawn[3]


async def test_a_new_title_is_checked_and_a_refusal_stands_in_the_dialog(core_home: CoreHome) -> None:
    await made(core_home, "old title")
    async with chat_in(core_home) as chat:
        edits = edited(chat)
        await chat.pilot.press("f2", "r")
        await chat.until(lambda: isinstance(chat.app.screen, SessionTitle))
        line = chat.app.screen.query_one(Input)
        assert line.selected_text == line.value != ""
        line = chat.app.screen.query_one(Input)
        assert line.value == "old title"
        line.value = "   "
        await chat.pilot.press("enter")
        await chat.shows("at least one visible character")
        edits.refusal = "the database is [away]"
        line.value = "a new title"
        await chat.pilot.press("enter")
        await chat.shows("the database is [away]")
        edits.refusal = ""
        await chat.pilot.press("enter")
        await chat.until(lambda: edits.done == [("rename", "a new title")])
        await chat.until(lambda: chat.app.screen is chat.main)


async def test_a_bad_tag_is_named_and_good_ones_are_set(core_home: CoreHome) -> None:
    await made(core_home, "one")
    async with chat_in(core_home) as chat:
        edits = edited(chat)
        await chat.pilot.press("f2", "t")
        await chat.until(lambda: isinstance(chat.app.screen, SessionTags))
        await chat.pilot.press(*" Bad:1", "enter")
        await chat.shows("bad tag 'Bad:1'")
        chat.app.screen.query_one(Input).value = "#b:2, a:1"
        await chat.pilot.press("enter")
        await chat.until(lambda: edits.done == [("tags", "a:1", "b:2")])


async def test_deleting_says_what_goes_and_enter_deletes_nothing_H_059(core_home: CoreHome) -> None:
    (one,) = await made(core_home, "one")
    async with chat_in(core_home) as chat:
        edits = edited(chat)
        await chat.pilot.press("f2", "d")
        await chat.until(lambda: isinstance(chat.app.screen, SessionDelete))
        await chat.shows("6 turns, 2 messages, 1 child session")
        await chat.shows("its child")
        await chat.pilot.press("enter", "escape")
        await chat.until(lambda: chat.app.screen is chat.main)
        assert edits.done == []
        await chat.pilot.press("d")
        await chat.until(lambda: isinstance(chat.app.screen, SessionDelete))
        await chat.pilot.press("y")
        await chat.until(lambda: edits.done == [("delete", one)])


async def test_an_archived_session_stays_in_reach_until_the_list_is_read_again(core_home: CoreHome) -> None:
    one, _ = await made(core_home, "one", "two")
    async with chat_in(core_home) as chat:
        edits = edited(chat)
        await chat.core.database.fetch(b"UPDATE sessions SET archived_at = now() WHERE id = %(id)s", {"id": one})
        await chat.pilot.press("f2", "down", "a")
        await chat.until(lambda: "archived ·" in chat.screen_text() or "archived #" in chat.screen_text())
        await chat.pilot.press("a")
        await chat.until(lambda: edits.done == [("archive", True), ("archive", False)])
        await chat.control.monitor.reload()
        await lists(chat, "two")


async def test_a_session_on_screen_is_seen_when_its_turn_ends_in_a_window_with_the_focus(core_home: CoreHome) -> None:
    core_home.script(said("a"), said("b"))
    async with chat_in(core_home) as chat:
        edits = edited(chat)
        await chat.ask("one")
        await chat.until(lambda: edits.done == [("seen", chat.control.current)])
        edits.done.clear()
        chat.app.app_focus = False
        # A key would mean that the window has the focus.
        await chat.control.sending.send(Outgoing(text="two"), chat.control.place)
        await chat.until(lambda: "b" in chat.text().splitlines()[-1])
        await chat.rests()
        await chat.shows("done unseen")
        assert edits.done == []
        chat.app.app_focus = True
        await chat.until(lambda: edits.done == [("seen", chat.control.current)])


async def test_a_peek_shows_the_conversation_and_answers_with_the_same_care(core_home: CoreHome) -> None:
    core_home.script(ASKS, said("it is done"))
    async with chat_in(core_home) as chat:
        await chat.say("please")
        await chat.requests(1)
        asked = chat.control.current
        await chat.pilot.press("ctrl+n", "f2", "space")
        await chat.until(lambda: isinstance(chat.app.screen, Peek))
        peek = chat.app.screen
        assert isinstance(peek, Peek)
        await chat.until(lambda: "please" in chat.screen_text() and "touch one" in chat.screen_text())
        await chat.pilot.press(*"yes y", "backspace")
        assert peek.query_one(Input).value == "yes "
        assert chat.main.approvals.count == 1
        await chat.pilot.press("f4", "enter")
        await chat.until(lambda: peek.approvals.arming.is_armed)
        assert chat.main.approvals.count == 1
        await chat.pilot.press("y")
        await chat.shows("it is done")
        assert peek.query_one(Input).has_focus and chat.control.current is None
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.main)
        assert "it is done" not in chat.text()
        assert chat.main.sessions.lines.has_focus
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.control.current == asked and "it is done" in chat.text())


async def test_nothing_is_decided_in_a_peek_before_the_card_is_armed(core_home: CoreHome) -> None:
    core_home.script(ASKS)
    async with chat_in(core_home, timing=SLOW_ARM) as chat:
        await chat.say("please")
        await chat.requests(1)
        await chat.pilot.press("f2", "space")
        await chat.until(lambda: isinstance(chat.app.screen, Peek))
        await chat.pilot.press("f4", "y", "n", "y")
        assert chat.main.approvals.count == 1


async def test_a_reply_goes_to_the_session_that_is_looked_at(core_home: CoreHome) -> None:
    core_home.script(said("first answer"), said("second answer"))
    async with chat_in(core_home) as chat:
        await chat.ask("one")
        await chat.pilot.press("ctrl+n", *"a draft", "f2", "space")
        await chat.until(lambda: isinstance(chat.app.screen, Peek))
        await chat.pilot.press(*"two", "enter")
        await chat.shows("second answer")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.main)
        assert chat.control.current is None and chat.main.composer.text == "a draft"


async def peeked_at(chat: Chat) -> Peek:
    """The session under the cursor, looked at."""
    await chat.pilot.press("f2", "space")
    await chat.until(lambda: isinstance(chat.app.screen, Peek))
    peek = chat.app.screen
    assert isinstance(peek, Peek)
    return peek


async def test_a_reply_to_a_session_that_is_gone_comes_back(core_home: CoreHome) -> None:
    core_home.script(said("first answer"))
    async with chat_in(core_home) as chat:
        await chat.ask("one")
        session = chat.control.current
        await chat.pilot.press("ctrl+n")
        peek = await peeked_at(chat)
        await chat.core.database.fetch(b"DELETE FROM sessions WHERE id = %(id)s", {"id": session})
        await chat.pilot.press(*"keep me", "enter")
        await chat.told("there is no session")
        await chat.until(lambda: peek.query_one(Input).value == "keep me")
        assert peek.query_one(Input).border_title == ""
        assert session is not None
        await chat.control.monitor.read(session)
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.main.composer.text == "keep me")


async def test_a_reply_that_was_written_and_not_sent_is_the_sessions_draft(core_home: CoreHome) -> None:
    core_home.script(said("first answer"))
    async with chat_in(core_home) as chat:
        await chat.ask("one")
        session = chat.control.current
        assert session is not None
        await chat.pilot.press(*"begun", "ctrl+n")
        await peeked_at(chat)
        await chat.pilot.press(*"half", "escape")
        await chat.told("that session's draft")
        assert chat.main.composer.text == ""
        await chat.control.open(session)
        assert chat.main.composer.text == "begun\nhalf"


async def test_commands_in_a_peek_act_on_the_session_that_is_looked_at_or_are_refused(core_home: CoreHome) -> None:
    core_home.script(said("first answer"))
    async with chat_in(core_home) as chat:
        await chat.ask("one")
        session = chat.control.current
        assert session is not None
        await chat.pilot.press("ctrl+n")
        peek = await peeked_at(chat)
        for command in ("/new work", "/undo", "/help", "/fork"):
            peek.query_one(Input).value = command
            await chat.pilot.press("enter")
            name = command.split(" ", maxsplit=1)[0]
            await chat.until(lambda name=name: f"{name} works on the screen of an open session" in chat.notices())  # type: ignore[misc]
            assert peek.query_one(Input).value == command
            assert chat.app.screen is peek
        peek.query_one(Input).value = "/title Renamed here"
        await chat.pilot.press("enter")
        await chat.shows("Title: Renamed here")
        assert (await chat.core.sessions.get(session)).title == "Renamed here"
        assert chat.control.current is None
        assert len(await chat.core.database.fetch(b"SELECT id FROM sessions")) == 1


async def test_titles_of_any_kind_keep_the_borders_straight_H_050(core_home: CoreHome) -> None:
    odd = ("かな漢" * 12, "👩‍👩‍👧‍👦" * 9, "e\u0301" * 40, "⏺️ stop", "a\u2060b", "שלום abc 123", "ก็" * 30)
    await made(core_home, *odd)
    async with chat_in(core_home) as chat:
        await chat.pilot.pause()
        for strip in chat.main.sessions.lines.render_lines(chat.main.sessions.lines.size.region):
            assert strip.cell_length == chat.main.sessions.lines.size.width
            assert sum(segment.cell_length for segment in strip) == strip.cell_length


async def test_a_session_that_was_deleted_elsewhere_leaves_the_list(core_home: CoreHome) -> None:
    one, _ = await made(core_home, "one", "two")
    async with chat_in(core_home) as chat:
        await chat.pilot.press("f2", "down")
        await chat.core.database.fetch(b"DELETE FROM sessions WHERE id = %(id)s", {"id": one})
        await chat.control.monitor.read(one)
        await chat.control.monitor.read(new_id())
        await lists(chat, "two")
        assert chat.main.sessions.lines.cursor is not None
