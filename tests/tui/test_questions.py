"""Questions in the approvals pane: no answer by accident, and what is sent is what was picked or written."""

from __future__ import annotations

import json
import random
import string
from typing import Any

from cos.agent.providers.scripted import called, said
from cos.agent.records import ApprovalAnswer
from tests.fix_home import CoreHome
from tests.tui.chat import SLOW_ARM, Chat, chat_in
from tests.tui.test_approvals import commands

COLOURS = {"question": "Which colour shall the shed get?", "choices": ["Red", "2", "Deep blue"]}
OPEN = {"question": "What is the shed for?"}


def asking(args: dict[str, Any] = COLOURS) -> Any:
    return called(("q1", "clarify", args))


async def rows(chat: Chat) -> list[tuple[str, str | None, str | None]]:
    """Status, answer and who gave it, of every request."""
    found = await chat.core.database.fetch(b"SELECT status, answer, answered_by FROM approvals ORDER BY id", {})
    return [(row["status"], row["answer"], row["answered_by"]) for row in found]


PENDING = [("pending", None, None)]


async def test_typing_into_the_composer_answers_nothing(core_home: CoreHome) -> None:
    """200 random printable keys and Enters, digits among them, with a question on screen."""
    core_home.script(asking(), *[said("x")] * 99)
    rng = random.Random(11)
    keys = [rng.choice([*string.ascii_letters, *string.digits * 5, "space", "enter", "y", "t"]) for _ in range(200)]
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.pilot.press(*keys[:50])
        await chat.requests(1)
        await chat.pilot.press(*keys[50:], "enter")
        assert chat.main.composer.has_focus
        await chat.until(lambda: "F4 answers the question, a message does not" in chat.screen_text(), "the hint")
        assert await rows(chat) == PENDING
        assert chat.main.approvals.requests.picked is None


async def test_a_digit_picks_and_enter_sends_once_armed(core_home: CoreHome) -> None:
    provider = core_home.script(asking(), said("Red it is."))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.pilot.press("f4")
        await chat.shows("1-3 pick · t write · n decline")
        await chat.answer("3")
        assert await rows(chat) == PENDING
        await chat.until(lambda: "▸ 3. Deep blue" in chat.screen_text() and "Enter sends 3" in chat.screen_text())
        await chat.answer("1")
        await chat.answer("enter")
        await chat.requests(0)
        await chat.rests()
        assert await rows(chat) == [("answered", "Red", "tui")]
        assert json.loads(provider.requests[-1].messages[-1].content)["user_response"] == "Red"  # type: ignore[union-attr]
        assert [call.state for call in chat.calls()] == ["ok"]
        assert chat.main.composer.has_focus


async def test_a_choice_that_is_a_number_is_sent_as_it_is(core_home: CoreHome) -> None:
    core_home.script(asking(), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.answer("2")
        await chat.answer("y")
        await chat.requests(0)
        assert await rows(chat) == [("answered", "2", "tui")]


async def test_nothing_is_sent_unpicked_unarmed_or_from_elsewhere(core_home: CoreHome) -> None:
    core_home.script(asking())
    async with chat_in(core_home, timing=SLOW_ARM) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.pilot.press("f4", "2", "enter", "y", "n", "t", "enter", "enter")
        assert chat.app.screen is chat.main
        assert await rows(chat) == PENDING
        chat.main.approvals.arming.seconds = 0.01
        await chat.pilot.press("escape", "enter")
        assert chat.main.composer.has_focus and await rows(chat) == PENDING


async def test_enter_and_y_without_a_pick_say_how_to_answer(core_home: CoreHome) -> None:
    core_home.script(asking(OPEN))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        for key in ("enter", "y", "1", "s", "a", "e", "space", "Y", "ctrl+j"):
            await chat.answer(key)
        await chat.told("Nothing is picked: t writes an answer, n declines.")
        assert chat.app.screen is chat.main
        assert await rows(chat) == PENDING


async def test_a_pick_must_arm_again_before_it_is_sent(core_home: CoreHome) -> None:
    core_home.script(asking())
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.pilot.press("f4")
        await chat.until(lambda: chat.main.approvals.arming.is_armed)
        chat.main.approvals.arming.seconds = 3600.0
        await chat.pilot.press("3", "enter")
        assert not chat.main.approvals.arming.is_armed
        assert await rows(chat) == PENDING


async def test_own_words_are_sent_as_written_and_kept_when_left(core_home: CoreHome) -> None:
    core_home.script(asking(), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.answer("t")
        await chat.until(lambda: chat.app.screen is not chat.main)
        await chat.pilot.press("enter", *"green y")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.main)
        assert await rows(chat) == PENDING
        await chat.answer("t")
        await chat.shows("green y")
        await chat.pilot.press(*"es", "enter")
        await chat.requests(0)
        assert await rows(chat) == [("answered", "green yes", "tui")]


async def test_a_number_in_own_words_means_the_choice_as_everywhere(core_home: CoreHome) -> None:
    core_home.script(asking(), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.answer("t")
        await chat.until(lambda: chat.app.screen is not chat.main)
        await chat.pilot.press("3", "enter")
        await chat.requests(0)
        assert await rows(chat) == [("answered", "Deep blue", "tui")]


async def test_n_declines_and_r_says_why(core_home: CoreHome) -> None:
    core_home.script(asking(), called(("q2", "clarify", OPEN)), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.answer("n")
        await chat.until(lambda: "What is the shed for?" in chat.screen_text() and chat.main.approvals.count)
        await chat.answer("r")
        await chat.shows("Decline, and tell the model why")
        await chat.pilot.press(*"later", "enter")
        await chat.rests()
        assert [status for status, _, _ in await rows(chat)] == ["denied", "denied"]
        first, second = chat.calls()
        assert (first.state, second.state) == ("denied", "denied")
        assert "the user declined" in first.result and "later" in second.result


async def test_an_answer_from_elsewhere_takes_the_card_and_its_open_line_away(core_home: CoreHome) -> None:
    core_home.script(asking(), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.answer("t")
        await chat.until(lambda: chat.app.screen is not chat.main)
        await chat.pilot.press(*"half")
        (pending,) = await chat.core.desk.pending()
        await chat.core.desk.answer(pending.id, ApprovalAnswer(decision="answered", answer="Red", answered_by="cli"))
        await chat.until(lambda: chat.app.screen is chat.main)
        await chat.control.answering.reply(pending.id, "Blue")
        await chat.told("Already answered: answered by you (shell).")
        await chat.rests()
        assert await rows(chat) == [("answered", "Red", "cli")]


async def test_stopping_the_turn_takes_its_question_along(core_home: CoreHome) -> None:
    core_home.script(asking())
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        chat.control.interrupt()
        await chat.requests(0)
        await chat.rests()
        assert await rows(chat) == [("cancelled", None, None)]
        assert "The user gave no answer" in chat.calls()[0].result


async def test_a_question_is_never_part_of_what_is_marked(core_home: CoreHome) -> None:
    """y on marked calls of a step must not reach a question that waits beside them, nor the other way round."""
    core_home.script(called(*commands("touch one", "touch two"), ("q1", "clarify", COLOURS)), said("x"))
    core_home.script(asking(), said("x"), profile="work")
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(2)
        await chat.pilot.press("f6")
        await chat.say("ask")
        await chat.requests(3)
        await chat.pilot.press("f4", "space", "right", "space", "right", "space")
        card = chat.main.approvals.selected
        assert card is not None and card.is_question
        assert [one.is_question for one in chat.main.approvals.requests.chosen()] == [True]
        await chat.answer("y")
        assert {status for status, _, _ in await rows(chat)} == {"pending"}
        await chat.answer("left")
        await chat.answer("y")
        await chat.until(lambda: chat.main.approvals.count == 2)
        assert sorted(status for status, _, _ in await rows(chat)) == ["allowed", "allowed", "pending", "pending"]


async def test_a_long_question_is_read_to_its_end_before_it_is_answered(core_home: CoreHome) -> None:
    long = {"question": "\n".join(f"line {number}" for number in range(200)), "choices": ["yes", "no"]}
    core_home.script(asking(long), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.answer("1")
        await chat.answer("enter")
        await chat.told("Read it to its end first")
        assert await rows(chat) == PENDING
        await chat.answer("end")
        await chat.answer("enter")
        await chat.requests(0)
        assert await rows(chat) == [("answered", "yes", "tui")]


async def test_control_characters_and_markup_of_a_question_are_shown_as_text(core_home: CoreHome) -> None:
    nasty = {"question": "[bold]x[/] \x1b]52;c;aGk=\x07", "choices": ["\u202etxt", "[red]r[/]\n  9. fake"]}
    core_home.script(asking(nasty))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.answer("2")
        await chat.shows("▸ 2. [red]r[/] 9. fake")
        shown = chat.screen_text()
        assert "[bold]x[/]" in shown and "␛]52;c;aGk=␇" in shown and "⟨U+202E⟩txt" in shown
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)


async def test_a_reopened_session_shows_what_was_asked(core_home: CoreHome) -> None:
    core_home.script(asking(), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        session = chat.control.current
        assert session is not None
        await chat.answer("1")
        await chat.answer("enter")
        await chat.rests()
    async with chat_in(core_home, session=str(session)) as chat:
        await chat.until(lambda: [call.title for call in chat.calls()] == ["Which colour shall the shed get?"])
