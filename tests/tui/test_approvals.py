"""No approval by accident: letters decide only in the pane, only when armed, only about the card that is drawn."""

from __future__ import annotations

import random
import string

from cos.agent.ids import new_id
from cos.agent.providers.scripted import called, said
from cos.agent.records import ApprovalAnswer, ToolCallRecord, ToolCallStatus
from cos.cli.session_text import session_text
from cos.tui.history import call_changes
from cos.tui.widgets.approvals_pane import ApprovalsPane
from tests.fix_home import CoreHome
from tests.tui.chat import SLOW_ARM, Chat, chat_in

LONG = "\n".join(f"echo line {number}" for number in range(200)) + "\ntouch last"


def commands(*texts: str) -> tuple[tuple[str, str, dict[str, str]], ...]:
    return tuple((f"c{number}", "terminal", {"command": text}) for number, text in enumerate(texts, 1))


async def decisions(chat: Chat) -> dict[str, tuple[str, str | None]]:
    """Command -> status and who answered, of every request."""
    rows = await chat.core.database.fetch(b"TABLE approvals", {})
    return {row["detail"]: (row["status"], row["answered_by"]) for row in rows}


def selected(chat: Chat) -> str:
    card = chat.main.approvals.selected
    assert card is not None
    return card.detail


async def test_typing_into_the_composer_decides_nothing(core_home: CoreHome) -> None:
    """200 random printable keys and Enters with two requests on screen."""
    core_home.script(called(*commands("touch one", "touch two")), *[said("x")] * 99)
    rng = random.Random(7)
    keys = [rng.choice([*string.ascii_letters, *string.digits, "space", "enter", "y", "n"]) for _ in range(200)]
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.pilot.press(*keys[:50])
        await chat.requests(2)
        for key in keys[50:]:
            await chat.pilot.press(key)
            assert chat.main.composer.has_focus
        assert chat.main.approvals.count == 2
        assert {status for status, _ in (await decisions(chat)).values()} == {"pending"}


async def test_a_request_leaves_focus_and_text_in_the_composer(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch one")), said("done"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.pilot.press(*"half a sentence")
        await chat.requests(1)
        await chat.pilot.press(*" more")
        assert chat.main.composer.text == "half a sentence more"
        await chat.shows("1 waiting")


async def test_y_allows_once_and_n_denies(core_home: CoreHome) -> None:
    core_home.script(
        called(*commands("touch allowed")), called(("c2", "terminal", {"command": "touch no"})), said("end")
    )
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.answer("y")
        await chat.until(lambda: chat.main.approvals.count == 1 and selected(chat) == "touch no")
        await chat.answer("n")
        await chat.rests()
        assert [call.state for call in chat.calls()] == ["ok", "denied"]
        assert await decisions(chat) == {"touch allowed": ("allowed", "tui"), "touch no": ("denied", "tui")}
        assert [call.note for call in chat.calls()] == ["", "by you (app)"]
        assert chat.control.current is not None
        session = await chat.core.sessions.get(chat.control.current)
        printed = session_text(session, await chat.core.sessions.transcript(session.id))
        assert '{"command": "touch no"} · denied by you (app)\n' in printed


async def test_what_a_rule_denies_is_not_said_to_be_denied_by_the_user(core_home: CoreHome) -> None:
    rule = '[[approvals.rules]]\ntool = "terminal"\nmatch = "touch *"\ndecision = "deny"\n'
    core_home.write_profile("home", 'provider = "mock"\n', rule)
    core_home.script(called(*commands("touch no")), said("end"))
    async with chat_in(core_home) as chat:
        await chat.ask("go")
        [call] = chat.calls()
        assert (call.state, call.note) == ("denied", "")
        assert "Not run: a rule of the profile home denies it" in chat.screen_text()


async def test_what_a_guard_blocks_after_the_user_allowed_it_is_not_said_to_be_denied_by_the_user() -> None:
    allowed = ApprovalAnswer(decision="allowed", answered_by="tui", args={"command": "rm -rf /"})
    record = ToolCallRecord(
        call_id="c1", name="terminal", args={"command": "rm -rf /"}, status=ToolCallStatus.DENIED,
        result="Not run: never", approval=allowed,
    )  # fmt: skip
    assert call_changes(record)["note"] == "edited by you (app)"


async def test_nothing_is_decided_before_the_card_is_armed(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch one")))
    async with chat_in(core_home, timing=SLOW_ARM) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.pilot.press("f4", "y", "n", "y")
        assert chat.main.approvals.has_focus
        assert await decisions(chat) == {"touch one": ("pending", None)}


async def test_a_key_that_came_too_early_is_said_to_be_not_taken_until_keys_are_taken(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch one")), said("done"))
    async with chat_in(core_home, timing=SLOW_ARM) as chat:
        pane = chat.main.approvals
        await chat.say("go")
        await chat.requests(1)
        await chat.pilot.press("f4")
        assert pane.border_subtitle == "one moment …"
        assert pane.styles.border_top[0] == "dashed"
        await chat.pilot.press("y")
        assert pane.border_subtitle == "too early · one moment …"
        pane.arming._arm()
        await chat.until(lambda: pane.styles.border_top[0] == "heavy")
        assert pane.border_subtitle == "y allow once · n deny"
        await chat.pilot.press("e", "ctrl+s")
        await chat.shows("press it again")
        await chat.pilot.press("escape", "f4", "f4")
        pane.arming.is_armed = True
        assert pane.border_subtitle == "y allow once · n deny"
        assert await decisions(chat) == {"touch one": ("pending", None)}


async def test_marking_is_offered_while_other_calls_of_the_step_wait(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch one", "touch two")), said("done"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(2)
        await chat.pilot.press("f4")
        await chat.until(lambda: "Mark" in chat.screen_text().splitlines()[-1])
        await chat.answer("n")
        await chat.requests(1)
        await chat.until(lambda: "Mark" not in chat.screen_text().splitlines()[-1])


async def test_where_nothing_waits_the_keyboard_stays_in_the_composer(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.pilot.press("f4", *"say")
        await chat.pilot.click("#approvals")
        await chat.pilot.press("!")
        assert chat.main.composer.text == "say!"
        await chat.told("Nothing waits for you.")


async def test_enter_and_other_keys_decide_nothing_in_the_pane(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch one")))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        for key in ("enter", "space", "p", "1", "Y", "ctrl+j"):
            await chat.answer(key)
        assert await decisions(chat) == {"touch one": ("pending", None)}


async def test_the_card_is_armed_again_after_keys_resize_focus_and_another_card(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch one", "touch two")))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(2)
        await chat.pilot.press("f4")
        pane = chat.main.approvals
        await chat.until(lambda: pane.arming.is_armed)
        pane.arming.seconds = 3600.0
        await chat.pilot.press("x")
        assert not pane.arming.is_armed
        pane.arming.is_armed = True
        await chat.pilot.press("right")
        assert not pane.arming.is_armed
        pane.arming.is_armed = True
        await chat.pilot.resize_terminal(110, 35)
        assert not pane.arming.is_armed
        pane.arming.is_armed = True
        chat.app.app_focus = False
        await chat.pilot.pause()
        assert not pane.arming.is_armed
        chat.app.app_focus = True
        await chat.pilot.pause()
        assert not pane.arming.is_armed


async def test_new_requests_never_move_the_selection_and_the_drawn_one_is_decided_H_017(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch one", "touch two", "touch three")), said("x"))
    core_home.script(called(("w1", "terminal", {"command": "touch work"})), said("x"), profile="work")
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(3)
        await chat.pilot.press("f4", "right")
        drawn = selected(chat)
        await chat.pilot.press("f6")
        await chat.say("the other job")
        await chat.requests(4)
        assert selected(chat) == drawn
        await chat.shows(drawn)
        await chat.answer("y")
        await chat.requests(3)
        found = await decisions(chat)
        assert found.pop(drawn) == ("allowed", "tui")
        assert {status for status, _ in found.values()} == {"pending"}


async def test_answering_one_of_several_leaves_the_others_pending_H_018(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch a", "touch b", "touch c")), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(3)
        await chat.pilot.press("f4", "right")
        allowed = selected(chat)
        await chat.answer("y")
        await chat.requests(2)
        denied = selected(chat)
        await chat.answer("n")
        await chat.requests(1)
        found = await decisions(chat)
        assert (found[allowed][0], found[denied][0]) == ("allowed", "denied")
        assert sorted(status for status, _ in found.values()) == ["allowed", "denied", "pending"]


async def test_a_long_request_is_allowed_only_after_its_end_was_in_view(core_home: CoreHome) -> None:
    core_home.script(called(*commands(LONG)), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.answer("y")
        await chat.told("Read it to its end first")
        assert (await decisions(chat))[LONG] == ("pending", None)
        await chat.answer("end")
        await chat.answer("y")
        await chat.requests(0)


async def test_the_end_counts_as_seen_on_the_full_screen(core_home: CoreHome) -> None:
    core_home.script(called(*commands(LONG)), said("x"))
    async with chat_in(core_home, size=(80, 24)) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.pilot.press("f4", "v")
        await chat.until(lambda: chat.app.screen is not chat.main)
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.main)
        await chat.answer("y")
        assert (await decisions(chat))[LONG] == ("pending", None)
        await chat.pilot.press("v")
        await chat.until(lambda: chat.app.screen is not chat.main)
        await chat.pilot.press("end")
        await chat.shows("touch last")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.main)
        await chat.answer("y")
        await chat.requests(0)


async def test_a_short_card_does_not_make_the_long_one_after_it_count_as_seen(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch one", LONG)), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(2)
        await chat.pilot.press("f4")
        while selected(chat) == LONG:
            await chat.pilot.press("right")
        await chat.answer("right")
        chat.main.approvals.action_decide("allowed")
        await chat.answer("y")
        assert (await decisions(chat))[LONG] == ("pending", None)


async def test_the_user_is_told_when_somebody_else_was_first_H_021(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch one")), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        card = chat.main.approvals.selected
        assert card is not None
        await chat.core.desk.answer(card.id, ApprovalAnswer(decision="denied", answered_by="web"))
        await chat.control.answering.decide(card.id, "allowed")
        await chat.told("Already answered: denied by you (browser).")
        await chat.requests(0)
        assert await decisions(chat) == {"touch one": ("denied", "web")}


async def test_a_request_that_is_gone_is_said_to_be(core_home: CoreHome) -> None:
    async with chat_in(core_home) as chat:
        await chat.control.answering.decide(new_id(), "allowed")
        await chat.told("there is no approval")


async def test_a_request_ends_with_its_turn_and_the_focus_returns(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch one")))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.pilot.press("f4")
        chat.control.interrupt()
        await chat.requests(0)
        await chat.until(lambda: chat.main.composer.has_focus)
        assert (await decisions(chat))["touch one"][0] == "cancelled"


async def test_too_small_a_terminal_takes_no_decision_and_keeps_the_draft_H_051(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch one")), said("x"))
    async with chat_in(core_home, size=(80, 24)) as chat:
        await chat.say("go")
        await chat.pilot.press(*"draft")
        await chat.requests(1)
        await chat.pilot.press("f4")
        await chat.until(lambda: chat.main.approvals.arming.is_armed)
        for size in ((39, 9), (10, 3), (1, 1), (500, 10), (20, 5)):
            await chat.pilot.resize_terminal(*size)
            await chat.pilot.pause()
            if size != (500, 10):
                chat.main.approvals.action_decide("allowed")
                await chat.pilot.press("f4")
                assert chat.main.composer.has_focus and not chat.main.approvals.arming.is_armed
        await chat.pilot.resize_terminal(39, 9)
        await chat.until(lambda: "too small" in " ".join(chat.screen_text().split()))
        assert await decisions(chat) == {"touch one": ("pending", None)}
        await chat.pilot.resize_terminal(80, 24)
        assert chat.main.composer.text == "draft"
        await chat.answer("y")
        await chat.requests(0)


async def test_the_bell_rings_only_for_a_new_request_while_the_window_is_in_the_background(
    core_home: CoreHome,
) -> None:
    core_home.script(called(*commands("touch one")), called(("c9", "terminal", {"command": "touch 9"})), said("x"))
    async with chat_in(core_home) as chat:
        bells: list[str] = []
        setattr(chat.app, "bell", lambda: bells.append("ding"))  # noqa: B010 - the driver of a test has no bell
        await chat.say("go")
        await chat.requests(1)
        assert not bells and chat.app.title == "(1) cos"
        await chat.pilot.press("f4")
        await chat.until(lambda: chat.main.approvals.arming.is_armed)
        chat.app.app_focus = False
        card = chat.main.approvals.selected
        assert card is not None
        await chat.control.answering.decide(card.id, "allowed")
        await chat.until(lambda: chat.main.approvals.count == 1 and selected(chat) == "touch 9")
        assert bells == ["ding"]
        assert not chat.main.approvals.arming.is_armed


async def test_control_characters_and_markup_of_a_request_are_shown_as_text_H_043(core_home: CoreHome) -> None:
    nasty = "echo '[bold]x[/]' \x1b]52;c;aGk=\x07 \u202etxt"
    core_home.script(called(*commands(nasty)))
    async with chat_in(core_home) as chat:
        await chat.say("[bold]title[/] [/nonsense]")
        await chat.requests(1)
        await chat.pilot.press("f4")
        await chat.until(lambda: chat.main.approvals.arming.is_armed)
        shown = chat.screen_text()
        assert "[bold]x[/]" in shown and "␛]52;c;aGk=␇" in shown and "⟨U+202E⟩" in shown
        assert "[bold]title[/] [/nonsense]" in shown
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
        await chat.pilot.press("v")
        await chat.until(lambda: chat.app.screen is not chat.main)
        await chat.shows("␛]52;c;aGk=␇")


def test_400_milliseconds_arm_a_card_unless_a_test_says_otherwise() -> None:
    assert ApprovalsPane().arming.seconds == 0.4
