"""Where a session was compacted: the same line live and after reopening, the summary behind it, and the meter."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from cos.agent.events import Usage
from cos.agent.messages import Compaction
from cos.agent.providers.scripted import said
from cos.agent.providers.unavailable import UnavailableProvider
from cos.tui import wording
from cos.tui.transcript.compacted import Compacted
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in
from tests.tui.test_history import assert_same, full, seen
from tests.tui.test_transcript_rendering import LOOK

SUMMARY = replace(said("The user keeps **ducks**."), usage=Usage(input_tokens=170_000, output_tokens=1_200))
LINE = "Compacted: 4 messages are now a summary of 1,200 tokens"


def entries(chat: Chat) -> list[tuple[str, ...]]:
    return seen([row.entry for row in chat.main.conversation._page.rows])


async def test_in_a_turn_the_line_stands_in_its_place_live_and_reopened(core_home: CoreHome) -> None:
    core_home.script(said("I see"), full("c1"), SUMMARY, said("It is gone."))
    async with chat_in(core_home) as chat:
        await chat.ask("my ducks")
        await chat.ask("look")
        live = entries(chat)
        line = "▸ Compacted: 5 messages are now a summary of"
        await chat.shows(line)
        assert "keeps **ducks**" not in chat.screen_text(), "folded"
        text = chat.text()
        assert text.index("none") < text.index("Compacted:") < text.index("It is gone.")
        await assert_same(chat)
        session = str(chat.control.current)
    await core_home.opened.pop().close()
    async with chat_in(core_home, session=session) as chat:
        assert entries(chat) == live
        await chat.shows(line)
        chat.main.conversation.focus()
        await chat.pilot.press("up", "up", "space")
        await chat.until(lambda: "The user keeps **ducks**." in chat.screen_text(), "the summary is unfolded")
        await chat.shows("word for word:")


async def test_by_hand_the_line_is_a_turn_of_its_own_live_and_reopened(core_home: CoreHome) -> None:
    core_home.script(said("I see"), replace(said("And so"), usage=Usage(input_tokens=30_000)), SUMMARY)
    async with chat_in(core_home) as chat:
        await chat.ask("my ducks")
        await chat.ask("their names")
        await chat.shows("ctx 30.0k (15%)")
        assert chat.control.current is not None
        await chat.core.dispatcher.compact(chat.control.current)
        await chat.until(lambda: LINE in chat.text())
        await chat.rests()
        await chat.shows("ctx ?")
        live, session = entries(chat), str(chat.control.current)
        assert [entry[0] for entry in live[-2:]] == ["TurnHeader", "Compacted"]
        await assert_same(chat)
    await core_home.opened.pop().close()
    async with chat_in(core_home, session=session) as chat:
        assert entries(chat) == live
        await chat.shows("ctx ?")


async def test_a_reopened_session_says_at_once_how_full_it_is(core_home: CoreHome) -> None:
    usage = Usage(input_tokens=110_000, cache_read_tokens=8_000, output_tokens=2_000)
    core_home.script(replace(said("I see"), usage=usage), replace(said("yes"), usage=Usage(input_tokens=130_000)))
    async with chat_in(core_home) as chat:
        await chat.ask("my ducks")
        await chat.shows("ctx 120.0k (60%)")
        session = str(chat.control.current)
    await core_home.opened.pop().close()
    async with chat_in(core_home, session=session) as chat:
        await chat.shows("scripted-1 · ctx 120.0k (60%)")
        assert chat.main.status_line.status.context_percent == 60
        await chat.ask("more")
        await chat.shows("ctx 130.0k (65%)")


@pytest.mark.parametrize("width", [1, 2, 5, 20, 80])
@pytest.mark.parametrize("folded", [True, False])
def test_every_line_is_as_wide_as_the_view_and_obeys_nothing(width: int, folded: bool) -> None:
    entry = Compacted(
        key="k", title=LINE, summary="wide 漢字漢字\x1b[2J\n[bold]markup[/]\n" + "long " * 50, folded=folded
    )
    for line in entry.lines(width, LOOK):
        assert sum(cell_len(segment.text) for segment in line.strip) == width
        assert "\x1b" not in line.strip.text
    assert len(entry.lines(80, LOOK)) == (1 if folded else 7)
    assert "[bold]markup[/]" in entry.plain()


def test_the_line_says_how_much_became_how_much() -> None:
    assert wording.compacted(Compaction(messages=84, tokens=1_200), "x").endswith(
        "84 messages are now a summary of 1,200 tokens"
    )
    assert wording.compacted(Compaction(messages=1), "x" * 7_300).endswith(
        "1 message is now a summary of 7,300 characters"
    )


async def test_without_a_key_no_compaction_is_begun(core_home: CoreHome) -> None:
    core_home.script(said("I see"), said("And so"))
    async with chat_in(core_home) as chat:
        await chat.ask("my ducks")
        await chat.ask("their names")
        session = chat.control.current
    await core_home.opened.pop().close()
    core_home.providers["home"] = UnavailableProvider(name="anthropic", sentence="NO_KEY is not set.")
    async with chat_in(core_home, session=str(session)) as chat:
        await chat.say("/compact")
        await chat.told("NO_KEY is not set.")
        assert len(await chat.core.database.fetch(b"TABLE turns", {})) == 2
