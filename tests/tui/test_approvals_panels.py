"""The keys of the approvals pane that do more than say yes or no."""

from __future__ import annotations

import functools
import random
import string
from pathlib import Path
from typing import Any

from textual.widgets import Input, TextArea

from cos.agent.providers.scripted import called, said
from cos.agent.records import ApprovalAnswer
from cos.cli.session_text import session_text
from cos.tui.history import entries_of
from cos.tui.screens.deny_reason import DenyReason
from cos.tui.screens.edit_args import EditArgs
from cos.tui.screens.keep_rule import KeepRule
from cos.tui.transcript.calls import ToolCall
from tests.fix_home import PROFILES, CoreHome
from tests.tui.chat import Chat, chat_in
from tests.tui.test_approvals import commands, decisions, selected


async def panel(chat: Chat, key: str, kind: type[Any]) -> Any:
    """Press a key in the armed pane and wait for the panel that it opens."""
    await chat.answer(key)
    await chat.until(lambda: is_open(chat, kind), f"{kind.__name__} opens")
    await chat.until(lambda: chat.app.screen.arming.is_armed, "the panel is armed")  # type: ignore[attr-defined]
    return chat.app.screen


async def armed(chat: Chat, key: str) -> None:
    """Press a key once the open panel takes it."""
    await chat.until(lambda: chat.app.screen.arming.is_armed, "the panel is armed")  # type: ignore[attr-defined]
    await chat.pilot.press(key)


async def shows(chat: Chat, text: str) -> None:
    await chat.until(lambda: text in chat.screen_text(), f"{text!r} on screen")


def is_open(chat: Chat, kind: type[Any]) -> bool:
    return isinstance(chat.app.screen, kind)


async def closed(chat: Chat) -> None:
    await chat.until(lambda: chat.app.screen is chat.main, "the panel closes")


def config_file(home: CoreHome) -> Path:
    return home.folder / "profiles" / "home" / "config.toml"


async def test_s_allows_the_command_in_this_session_only(core_home: CoreHome) -> None:
    touch = ("terminal", {"command": "touch one"})
    core_home.script(called(("c1", *touch)), called(("c2", *touch)), said("end"), called(("c3", *touch)), said("x"))
    before = config_file(core_home).read_bytes()
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await panel(chat, "s", KeepRule)
        await shows(chat, "allow terminal: touch one")
        await armed(chat, "y")
        await closed(chat)
        await chat.rests()
        assert [call.state for call in chat.calls()] == ["ok", "ok"]
        await chat.pilot.press("ctrl+n")
        await chat.say("again")
        await chat.requests(1)
    assert config_file(core_home).read_bytes() == before


async def test_a_writes_the_shown_rule_where_it_counts_and_keeps_comments(core_home: CoreHome) -> None:
    file = config_file(core_home)
    file.write_text("# mine\n" + file.read_text())
    touch = ("terminal", {"command": "touch one"})
    core_home.script(called(("c1", *touch)), called(("c2", *touch)), said("end"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await panel(chat, "a", KeepRule)
        await shows(chat, 'match = "touch one"')
        await shows(chat, "config.toml")
        await armed(chat, "y")
        await closed(chat)
        await chat.rests()
        assert [call.state for call in chat.calls()] == ["ok", "ok"]
    text = file.read_text()
    assert text.startswith("# mine\n")
    assert '[[approvals.rules]]\ntool = "terminal"\nmatch = "touch one"\ndecision = "allow"' in text


async def test_a_rule_is_edited_before_it_is_written_and_refused_when_it_would_not_have_allowed_the_call(
    core_home: CoreHome,
) -> None:
    core_home.script(called(*commands("touch one")), said("end"))
    file = config_file(core_home)
    before = file.read_bytes()
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        open_panel = await panel(chat, "a", KeepRule)
        await chat.pilot.press("tab")
        for wrong, why in (("touch two", "would not have allowed"), ("touch $(x)", "match"), ("", "match")):
            open_panel.query_one(Input).value = wrong
            await shows(chat, why)
            await armed(chat, "ctrl+s")
            assert chat.app.screen is open_panel and file.read_bytes() == before
        open_panel.query_one(Input).value = "touch *"
        await chat.until(lambda: 'match = "touch *"' in chat.screen_text())
        await chat.pilot.press("enter")
        assert chat.app.screen is open_panel
        await armed(chat, "y")
        await closed(chat)
        await chat.rests()
    assert 'match = "touch *"' in file.read_text()


async def test_digits_and_arrows_choose_how_much_is_allowed(core_home: CoreHome) -> None:
    core_home.script(called(*commands("git add x")), said("end"))
    async with chat_in(core_home, size=(80, 24)) as chat:
        await chat.say("go")
        await chat.requests(1)
        open_panel = await panel(chat, "s", KeepRule)
        await chat.pilot.press("down")
        await chat.until(lambda: open_panel.proposal.grade == "subcommand")
        await chat.pilot.press("1")
        await chat.until(lambda: open_panel.proposal.grade == "exact")
        await chat.pilot.press("2")
        await chat.shows("allow terminal: git add *")
        await chat.pilot.press("9", "down", "enter", "escape")
        await closed(chat)
        assert await decisions(chat) == {"git add x": ("pending", None)}


async def test_a_call_that_no_rule_describes_can_still_be_allowed_once(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch $HOME/x > y")), said("end"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.answer("a")
        await chat.told("No rule can say safely")
        assert chat.app.screen is chat.main
        await chat.answer("y")
        await chat.requests(0)


async def test_a_mode_changed_in_the_file_holds_from_the_next_call(core_home: CoreHome) -> None:
    core_home.script(*(called((name, "terminal", {"command": f"touch {name}"})) for name in ("c1", "c2")), said("end"))
    core_home.write_profile("home", PROFILES["home"], rules='\n[approvals]\nmode = "auto"\n')
    file = config_file(core_home)
    async with chat_in(core_home) as chat:
        file.write_text(file.read_text().replace("auto", "ask"))
        await chat.say("go")
        await chat.requests(1)
        file.write_text(file.read_text().replace('"ask"', '"deny"'))
        await chat.answer("y")
        await chat.rests()
        assert [call.state for call in chat.calls()] == ["ok", "denied"]


async def test_always_with_a_broken_config_runs_the_call_once_and_says_why_H_096(core_home: CoreHome) -> None:
    touch = ("terminal", {"command": "touch one"})
    core_home.script(called(("c1", *touch)), called(("c2", *touch)), said("end"))
    file = config_file(core_home)
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        file.write_text("provider = [broken\n")
        await panel(chat, "a", KeepRule)
        await armed(chat, "y")
        await closed(chat)
        await chat.told("Allowed once. The rule could not be kept")
        await chat.until(lambda: [call.state for call in chat.calls()] == ["ok", "waiting"])
        assert file.read_text() == "provider = [broken\n"


async def test_the_model_gets_the_exact_reason_and_the_other_call_runs_H_023(core_home: CoreHome) -> None:
    exact = 'use "rg" instead [not grep] '
    provider = core_home.script(called(*commands("touch one", "touch two")), said("end"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(2)
        await chat.pilot.press("f4")
        if selected(chat) != "touch one":
            await chat.pilot.press("right")
        await panel(chat, "r", DenyReason)
        await chat.pilot.press("enter", "space", "enter", "backspace")
        assert isinstance(chat.app.screen, DenyReason)
        await chat.pilot.press(*exact)
        await chat.pilot.press("escape")
        await closed(chat)
        assert {status for status, _ in (await decisions(chat)).values()} == {"pending"}
        again = await panel(chat, "r", DenyReason)
        assert again.query_one(Input).value == exact
        await chat.pilot.press("enter")
        await chat.requests(1)
        await chat.answer("y")
        await chat.rests()
        assert [call.state for call in chat.calls()] == ["denied", "ok"]
        rows = await chat.core.database.fetch(b"TABLE approvals", {})
        assert {row["detail"]: row["answer_reason"] for row in rows} == {"touch one": exact, "touch two": None}
    assert exact in repr(provider.requests[-1].messages)


async def test_edited_arguments_run_exactly_as_edited(core_home: CoreHome) -> None:
    core_home.script(called(("c1", "terminal", {"command": "touch one", "timeout": 7})), said("end"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        editor = await panel(chat, "e", EditArgs)
        assert editor.query_one(TextArea).text == "touch one"
        assert editor.query_one(TextArea).cursor_location == (0, len("touch one"))
        editor.query_one(TextArea).text = "echo 'a  b' > 'f 1'\necho two >> 'f 1'"
        await armed(chat, "ctrl+s")
        await closed(chat)
        await chat.rests()
        rows = await chat.core.database.fetch(b"TABLE approvals", {})
        assert rows[0]["edited_args"] == {"command": "echo 'a  b' > 'f 1'\necho two >> 'f 1'", "timeout": 7}
        await chat.until(lambda: chat.calls()[0].state == "ok", "the call ran")
        assert chat.calls()[0].title == "$ echo 'a  b' > 'f 1' …" and chat.calls()[0].note == "edited by you (app)"
        session_id = rows[0]["session_id"]
        history = await chat.core.sessions.transcript(session_id)
        loaded = [entry for entry in entries_of(history) if isinstance(entry, ToolCall)]
        assert (loaded[0].title, loaded[0].note) == (chat.calls()[0].title, "edited by you (app)")
        text = session_text(await chat.core.sessions.get(session_id), history)
        assert "echo two" in text and "touch one" not in text and "· ok · edited" in text
    folder = core_home.folder / "workspaces" / "home"
    assert (folder / "f 1").read_text() == "a  b\ntwo\n" and not (folder / "one").exists()


async def test_wrong_json_says_where_and_esc_cancels_the_edit(core_home: CoreHome) -> None:
    core_home.script(called(("c1", "write_file", {"path": "x.txt", "content": "a\u202eb"})), said("end"))
    async with chat_in(core_home, size=(80, 24)) as chat:
        await chat.say("go")
        await chat.requests(1)
        editor = await panel(chat, "e", EditArgs)
        assert "a\\u202eb" in editor.query_one(TextArea).text
        for wrong, why in (('{"path":\n 1,}', "Line 2, column 4"), ("[]", "one JSON object"), ("{\u200b}", "U+200B")):
            editor.query_one(TextArea).text = wrong
            await armed(chat, "ctrl+s")
            await shows(chat, why)
        await chat.pilot.press("escape")
        await closed(chat)
        assert chat.main.approvals.count == 1


async def test_marked_calls_of_one_step_are_answered_together_and_the_others_wait(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch a", "touch b", "touch c")), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(3)
        await chat.pilot.press("f4")
        marked = []
        for _ in range(2):
            marked.append(selected(chat))
            await chat.answer("space")
            await chat.until(lambda: chat.main.approvals.arming.is_armed)
            await chat.pilot.press("right")
        await shows(chat, "2 marked")
        await chat.answer("y")
        await chat.requests(1)
        found = await decisions(chat)
        assert {text for text, (status, _) in found.items() if status == "allowed"} == set(marked)
        assert selected(chat) not in marked
        assert found[selected(chat)] == ("pending", None)


async def test_a_marked_call_that_was_not_read_is_not_allowed(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch a", "touch b")), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(2)
        await chat.pilot.press("f4", "space", "right", "space")
        await chat.until(lambda: chat.main.approvals.arming.is_armed)
        chat.main.approvals.requests._seen.clear()
        await chat.pilot.press("y")
        await chat.told("2 of the 2 marked ones")
        assert {status for status, _ in (await decisions(chat)).values()} == {"pending"}


async def test_a_request_that_ends_closes_its_panel_and_only_its_own(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch a", "touch b")), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(2)
        open_panel: DenyReason = await panel(chat, "r", DenyReason)
        other = next(one for one in await chat.core.desk.pending() if one.id != open_panel.card.id)
        await chat.pilot.press(*"because")
        await chat.core.desk.answer(other.id, ApprovalAnswer(decision="denied", answered_by="web"))
        await chat.requests(1)
        assert is_open(chat, DenyReason) and open_panel.query_one(Input).value == "because"
        await chat.core.desk.answer(open_panel.card.id, ApprovalAnswer(decision="denied", answered_by="web"))
        await closed(chat)
        await chat.told("The request that was open here has ended.")


async def test_panels_decide_nothing_before_they_are_armed(core_home: CoreHome) -> None:
    core_home.script(called(*commands("touch a")), said("x"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        await chat.pilot.press("f4")
        for key, kind, decides in (("a", KeepRule, "y"), ("s", KeepRule, "ctrl+s"), ("e", EditArgs, "ctrl+s")):
            await chat.until(lambda: chat.main.approvals.arming.is_armed)
            chat.main.approvals.arming.seconds = 3600.0
            await chat.pilot.press(key)
            await chat.until(functools.partial(is_open, chat, kind))
            await chat.pilot.press(decides, "enter", decides)
            assert isinstance(chat.app.screen, kind)
            chat.main.approvals.arming.seconds = 0.02
            await chat.pilot.press("escape")
            await closed(chat)
        assert await decisions(chat) == {"touch a": ("pending", None)}


async def test_typing_decides_nothing_after_panels_were_opened_and_closed(core_home: CoreHome) -> None:
    """200 random printable keys and Enters, once every panel has been open."""
    core_home.script(called(*commands("touch a")), *[said("x")] * 99)
    rng = random.Random(11)
    keys = [rng.choice([*string.ascii_letters, *string.digits, "space", "enter", "y", "a", "s"]) for _ in range(200)]
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        for key, kind in (("s", KeepRule), ("a", KeepRule), ("r", DenyReason), ("e", EditArgs)):
            await panel(chat, key, kind)
            await chat.pilot.press("escape")
            await closed(chat)
        await chat.pilot.press("escape")
        for key in keys:
            await chat.pilot.press(key)
            assert chat.main.composer.has_focus
        assert await decisions(chat) == {"touch a": ("pending", None)}
