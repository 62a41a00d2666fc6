"""Child agents on screen: their tree, what each does and has used, their requests, and what is said to them."""

from __future__ import annotations

from typing import Any

from cos.agent.providers.scripted import Script
from cos.agent.records import ToolCallRecord, ToolCallStatus
from cos.tui.child_agents import ended_lines
from cos.tui.widgets.composer import CHILD_IDLE_HINT, CHILD_RUNNING_HINT
from tests.delegating import ScriptedAgents, called, delegates, said
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in

COMMAND = called(("t1", "terminal", {"command": "echo hi > there.txt && cat there.txt"}))


def scripted(home: CoreHome, scripts: dict[str, list[Script]]) -> ScriptedAgents:
    provider = ScriptedAgents(scripts)
    home.providers["home"] = provider
    return provider


def call(chat: Chat) -> Any:
    return next(call for call in chat.calls() if call.name == "delegate_task")


async def child_of(chat: Chat, title: str) -> Any:
    rows = await chat.core.database.fetch(b"SELECT id FROM sessions WHERE title = %(title)s", {"title": title})
    return rows[0]["id"]


async def test_the_call_shows_each_child_live_and_its_request_names_both_sessions(core_home: CoreHome) -> None:
    core_home.write_profile("home", 'provider = "mock"\n')
    async with chat_in(core_home) as chat:
        await chat.say("delegate something")
        await chat.requests(1)
        await chat.until(lambda: "1 of 2 ended" in chat.text(), "the other child ended")
        first, second = call(chat).children
        assert first[0].startswith("! waiting terminal  Run a command")
        assert second[0].startswith("✓ completed  Say what a child agent is.")
        assert all(" in · " in used and " out · $" in used and used.endswith(" demo") for _, used in (first, second))
        await chat.until(lambda: "↳ ! waiting term" in chat.screen_text(), "it is drawn")
        await chat.until(lambda: "← delegate something" in chat.screen_text(), "both labels")
        rows = chat.main.sessions.lines.rows.shown
        assert [(row.depth, row.row.title and row.row.title[:13]) for row in rows] == [
            (0, "delegate some"), (1, "Run a command"), (1, "Say what a ch"),
        ]  # fmt: skip
        await chat.answer("y")
        await chat.rests()
        assert [what.split("  ")[0] for what, _ in call(chat).children] == ["✓ completed"] * 2
        assert "Hello from the demo" in chat.text()


async def test_agents_lists_the_children_below_the_turn_that_they_work_for(core_home: CoreHome) -> None:
    scripted(core_home, {"go": [delegates("one", "two"), said("ok")], "one": [COMMAND, said("1")], "two": [said("2")]})
    async with chat_in(core_home) as chat:
        await chat.say("/agents")
        await chat.shows("No turn runs here.")
        await chat.say("go")
        await chat.requests(1)
        await chat.until(lambda: "1 of 2 ended" in chat.text())
        await chat.say("/agents")
        await chat.until(lambda: "● go  runs delegate_task" in chat.text())
        assert "\n  ↳ ● one  waits for you" in chat.text() and "● two" not in chat.text()
        await chat.answer("y")
        await chat.rests()


async def test_what_is_written_to_a_child_goes_into_its_turn_and_later_comes_back(core_home: CoreHome) -> None:
    scripted(core_home, {"go": [delegates("one"), said("ok")], "one": [COMMAND, said("blue it is")]})
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        parent, child = chat.control.current, await child_of(chat, "one")
        await chat.control.open(child)
        await chat.until(lambda: chat.main.composer.placeholder == CHILD_RUNNING_HINT, "the hint")
        await chat.until(lambda: "▌ task" in chat.screen_text(), "its first message is no word of the user's")
        await chat.say("make it blue")
        await chat.shows("make it blue")
        await chat.answer("y")
        await chat.until(lambda: "blue it is" in chat.text(), "the child's last words")
        assert "make it blue" in chat.text()
        await chat.until(lambda: chat.main.composer.placeholder == CHILD_IDLE_HINT, "the other hint")
        await chat.say("and now green")
        await chat.until(lambda: "does not work any more" in chat.notices(), "the refusal")
        assert chat.main.composer.text == "and now green"
        assert parent is not None
        await chat.control.open(parent)
        await chat.rests()
        assert "ok" in chat.text() and call(chat).children[0][0] == "✓ completed  one"


async def test_what_was_said_to_a_child_that_is_stopped_stays_and_the_screen_says_that_it_waits_for_nothing(
    core_home: CoreHome,
) -> None:
    scripted(core_home, {"go": [delegates("one"), said("ok")], "one": [COMMAND]})
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(1)
        child = await child_of(chat, "one")
        await chat.control.open(child)
        await chat.say("make it blue")
        await chat.shows("make it blue")
        chat.control.interrupt()
        await chat.until(lambda: "1 waiting: the child agent has ended" in chat.screen_text(), "the strip says so")
        await chat.shows("make it blue")
        assert [message.text for message in await chat.core.sessions.queue(child)] == ["make it blue"]


async def test_esc_in_a_childs_session_stops_that_child_alone(core_home: CoreHome) -> None:
    scripted(core_home, {"go": [delegates("one", "two"), said("ok")], "one": [COMMAND], "two": [COMMAND, said("2")]})
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.requests(2)
        parent = chat.control.current
        await chat.control.open(await child_of(chat, "one"))
        chat.control.interrupt()
        await chat.requests(1)
        assert parent is not None
        await chat.control.open(parent)
        await chat.until(lambda: call(chat).children[0][0].startswith("⊘ cancelled"), "its line says so")
        await chat.answer("y")
        await chat.rests()
        assert "ok" in chat.text()


async def test_what_is_stored_shows_the_same_after_a_restart(core_home: CoreHome) -> None:
    scripted(core_home, {"go": [delegates("one", "two"), said("ok")], "one": [said("1")], "two": [ValueError("boom")]})
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.until(lambda: "delegate_task" in chat.text(), "the call")
        await chat.until(lambda: "✗ failed  two" in chat.text(), "the children end")
        await chat.rests()
        session = str(chat.control.current)
        live = [what for what, _ in call(chat).children]
    async with chat_in(core_home, session=session) as chat:
        await chat.until(lambda: chat.calls(), "the history")
        assert [what for what, _ in call(chat).children] == live == ["✓ completed  one", "✗ failed  two"]


async def test_a_call_that_is_read_again_and_its_copy_in_a_fork_show_what_the_live_one_did(core_home: CoreHome) -> None:
    core_home.write_profile("home", 'provider = "mock"\n')
    async with chat_in(core_home) as chat:
        await chat.say("delegate something")
        await chat.requests(1)
        await chat.answer("y")
        await chat.rests()
        await chat.until(lambda: all("✓" in what and "$" in used for what, used in call(chat).children), "both ended")
        session = chat.control.current
        live = call(chat).title, call(chat).children
        assert live[0].startswith("2 tasks: Run a command") and all(used.endswith(" demo") for _, used in live[1])
    async with chat_in(core_home, session=str(session)) as chat:
        await chat.until(lambda: (call(chat).title, call(chat).children) == live, f"the history as {live}")
        await chat.pilot.press("f3", "f")
        await chat.until(lambda: chat.control.current != session, "the fork")
        await chat.until(lambda: (call(chat).title, call(chat).children) == live, f"the fork as {live}")
        await chat.until(lambda: "no call" in str(chat.main.cost.render()), "the pane is of the fork")
        assert "?" not in str(chat.main.cost.render())


def test_a_result_that_is_none_has_no_lines() -> None:
    for result in ("Nothing was run: too many", "{}", '{"results": [{}]}', '{"results": 3}', "[]", None):
        record = ToolCallRecord(
            call_id="c", name="delegate_task", args={"goal": "x"}, status=ToolCallStatus.ERROR, result=result,
            is_error=True, risk="read", duration_ms=1, approval=None,
        )  # fmt: skip
        assert ended_lines(record) == ()
