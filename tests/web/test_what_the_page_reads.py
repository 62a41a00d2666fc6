"""What the page reads besides the live session: children at rest, former calls, what a longer answer would keep."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from cos.agent.providers.scripted import called, said
from cos.plugins.bill.figures import Figures
from cos.web.money import Spent
from tests.delegating import ScriptedAgents, delegates
from tests.fix_home import asked
from tests.web.fix_dashboard import served
from tests.web.test_sessions_live import ended, sent

if TYPE_CHECKING:
    from tests.fix_home import CoreHome
    from tests.web.fix_dashboard import Served, WebClient
    from tests.web.reader import Json

COMMAND = "echo hi"


async def respond(client: WebClient, approval: Json, choice: str, **more: object) -> Json:
    return await client.ask(
        "approval.respond", approval_id=approval["id"], content_hash=approval["content_hash"], choice=choice, **more
    )


async def test_children_at_rest_are_read_by_their_parent(dashboard: Served) -> None:
    async with dashboard.client() as client:
        begun = await client.ask("message.send", text="delegate something", profile_id="work")
        root_id = begun["payload"]["session_id"]
        await client.subscribed(root_id)
        await respond(client, await client.told("approval.requested"), "once")
        await ended(client, root_id)
    parent = (await dashboard.get(f"/api/sessions/{root_id}"))[1]
    assert parent["children"] == 2
    listed = (await dashboard.get("/api/sessions"))[1]["sessions"]
    assert [row["id"] for row in listed] == [parent["id"]], "children come with their parent alone"
    answer = (await dashboard.get(f"/api/sessions?parent={parent['id']}"))[1]
    assert [row["parent_session_id"] for row in answer["sessions"]] == [parent["id"]] * 2
    assert {row["state"] for row in answer["sessions"]} == {"idle"}
    assert answer["next"] is None
    assert (await dashboard.get(f"/api/sessions?parent={answer['sessions'][0]['id']}"))[1]["sessions"] == []
    for nobody in (uuid4(), "x"):
        assert (await dashboard.get(f"/api/sessions?parent={nobody}"))[0] == 404


async def test_what_became_of_a_former_call_comes_with_its_message(dashboard: Served) -> None:
    dashboard.model.add(called(("c1", "terminal", {"command": COMMAND})), said("well"))
    dashboard.model.add(called(("c2", "terminal", {"command": "sleep 60"})), said("later"))
    async with dashboard.client() as client:
        session_id = (await sent(client, "run it"))["session_id"]
        await client.subscribed(session_id)
        await respond(client, await client.told("approval.requested"), "deny", reason="not on a Monday")
        await ended(client, session_id)
        await sent(client, "run another", session_id=session_id)
        await client.told("approval.requested")
        await client.ask("turn.cancel", session_id=session_id)
        await ended(client, session_id)
    assert (await dashboard.get(f"/api/sessions/{session_id}"))[1]["state"] == "cancelled"
    newest = (await dashboard.get(f"/api/sessions/{session_id}/messages?limit=3"))[1]
    older = (await dashboard.get(f"/api/sessions/{session_id}/messages?before={newest['messages'][0]['ordinal']}"))[1]
    (denied,), (cancelled,) = older["tools"], newest["tools"]
    assert (denied["call_id"], denied["status"], cancelled["call_id"]) == ("c1", "denied", "c2")
    assert (denied["approval"]["answered_by"], denied["approval"]["reason"]) == ("web", "not on a Monday")
    assert denied["title"] == f"$ {COMMAND}"
    assert cancelled["status"] == "cancelled"


async def test_the_diff_of_an_edit_stays_with_its_call(dashboard: Served) -> None:
    dashboard.model.add(called(("c1", "write_file", {"path": "a.txt", "content": "one\n"})), said("written"))
    async with dashboard.client() as client:
        session_id = (await sent(client, "write it"))["session_id"]
        seen = await client.subscribed(session_id)
        approval = await client.told("approval.requested")
        assert "+one" in approval["diff"]
        await client.when(lambda: seen.tools.get("c1", {}).get("status") == "waiting")
        await respond(client, approval, "once")
        await ended(client, session_id)
        assert (seen.tools["c1"]["status"], seen.tools["c1"]["diff"]) == ("ok", approval["diff"])
    (call,) = (await dashboard.get(f"/api/sessions/{session_id}/messages"))[1]["tools"]
    assert (call["title"], call["diff"]) == (approval["title"], approval["diff"])


@pytest.mark.parametrize("scope", ["session", "always"])
async def test_what_is_kept_is_what_was_shown(dashboard: Served, scope: str) -> None:
    dashboard.model.add(called(("c1", "terminal", {"command": COMMAND})), said("done"))
    async with dashboard.client() as client:
        session_id = (await sent(client, "run it"))["session_id"]
        await client.subscribed(session_id)
        approval = await client.told("approval.requested")
        assert approval["keeps"]["session"] == f"Until the session ends:\nallow terminal: {COMMAND}"
        file = dashboard.core.profiles["home"].config_file
        first, _, rule = approval["keeps"]["always"].partition("\n\n")
        assert first == f"Will be written into {file}:"
        assert f'match = "{COMMAND}"' in rule
        await respond(client, approval, scope)
        await ended(client, session_id)
        assert (rule.strip() in file.read_text()) == (scope == "always")


async def test_what_no_rule_says_safely_cannot_be_kept(dashboard: Served) -> None:
    dashboard.model.add(called(("c1", "terminal", {"command": "echo $(cat x)"})), said("done"))
    async with dashboard.client() as client:
        await sent(client, "run it")
        approval = await client.told("approval.requested")
        assert approval["keeps"] is None
        assert (await respond(client, approval, "always"))["payload"]["code"] == "refused"


async def test_arguments_are_edited_before_they_run(dashboard: Served) -> None:
    dashboard.model.add(called(("c1", "terminal", {"command": COMMAND, "timeout": 7})), said("done"))
    async with dashboard.client() as client:
        session_id = (await sent(client, "run it"))["session_id"]
        seen = await client.subscribed(session_id)
        approval = await client.told("approval.requested")
        assert approval["editable"] == COMMAND
        for choice, edited in (("once", " "), ("once", "echo \u202e"), ("always", "echo ho"), ("deny", "echo ho")):
            answer = await respond(client, approval, choice, edited_args=edited)
            assert answer["payload"]["code"] == "bad_request", (choice, edited)
        assert (await respond(client, approval, "once", edited_args="echo ho"))["type"] == "response"
        await ended(client, session_id)
        call = seen.tools["c1"]
        assert (call["status"], call["args"]) == ("ok", {"command": "echo ho", "timeout": 7})
        assert "ho" in call["result"]
    (stored,) = (await dashboard.get(f"/api/sessions/{session_id}/messages"))[1]["tools"]
    assert (stored["args"], stored["title"], call["title"]) == (call["args"], "$ echo ho", "$ echo ho"), (
        "nothing says what did not run"
    )


async def test_calls_that_nobody_was_asked_about_have_the_same_title_live_and_later(dashboard: Served) -> None:
    calls: list[tuple[str, str, Json]] = [
        ("c1", "read_file", {"path": "a.txt", "offset": 2}),
        ("c2", "search_files", {"pattern": "x+", "path": "."}),
        ("c3", "no_such_tool", {"n": 1}),
        ("c4", "memory", {"action": "add", "content": "likes tea\nand milk"}),
    ]
    dashboard.model.add(called(*calls), said("done"))
    async with dashboard.client() as client:
        session_id = (await sent(client, "look"))["session_id"]
        seen = await client.subscribed(session_id)
        await ended(client, session_id)
        live = {call_id: call["title"] for call_id, call in seen.tools.items()}
    stored = (await dashboard.get(f"/api/sessions/{session_id}/messages"))[1]["tools"]
    assert {call["call_id"]: call["title"] for call in stored} == live
    assert live == {"c1": "a.txt", "c2": "x+", "c3": "no_such_tool", "c4": "likes tea"}


async def test_a_request_of_a_child_names_it_and_its_root(core_home: CoreHome) -> None:
    core_home.providers["work"] = ScriptedAgents(
        {
            "look around": [delegates("look left"), said("It looked.")],
            "look left": [called(("c1", "terminal", {"command": COMMAND})), said("I looked.")],
        }
    )
    async with served(core_home) as dashboard, dashboard.client() as client:
        begun = await client.ask("message.send", text="look around", profile_id="work")
        root_id = begun["payload"]["session_id"]
        approval = await client.told("approval.requested")
        assert (approval["session_title"], approval["root_title"]) == ("look left", "look around")
        assert (approval["root_session_id"], approval["session_id"] == root_id) == (root_id, False)
        await respond(client, approval, "once")
        await client.subscribed(root_id)
        await ended(client, root_id)


async def test_the_root_itself_asks_in_its_own_name(dashboard: Served) -> None:
    dashboard.model.add(called(("c1", "terminal", {"command": COMMAND})), said("done"))
    async with dashboard.client() as client:
        await sent(client, "run it")
        approval = await client.told("approval.requested")
        assert (approval["session_title"], approval["root_title"]) == ("run it", None)


async def test_cost_of_the_demo_is_told_apart_from_money(dashboard: Served) -> None:
    end = await asked(dashboard.core, "hello", profile="work")
    path = f"/api/sessions/{end.turn.session_id}"
    session, (turn,) = (await dashboard.get(path))[1], (await dashboard.get(f"{path}/turns"))[1]["turns"]
    for spent in (session, turn, (await dashboard.get("/api/cost"))[1]["total"]):
        assert Decimal(spent["made_up_usd"]) == Decimal(spent["cost_usd"]) > 0
        assert spent["unpriced"] == 0


@pytest.mark.parametrize(
    ("calls", "unpriced", "lost", "tokens", "usd", "known"),
    [
        (0, 0, 0, 0, 0, True), (3, 2, 1, 0, 0, False), (2, 0, 2, 0, 0, False), (3, 1, 1, 7, 1, True),
        (3, 0, 0, 0, 0, False), (3, 0, 0, 7, 0, True), (3, 1, 0, 7, 0, False),
    ],
)  # fmt: skip
def test_cost_that_nobody_knows_is_null_and_never_zero(
    calls: int, unpriced: int, lost: int, tokens: int, usd: int, *, known: bool
) -> None:
    figures = replace(Figures.none(), calls=calls, unpriced=unpriced, lost=lost, output_tokens=tokens)
    spent = Spent.of(replace(figures, cost_usd=Decimal(usd))).fields
    assert (spent["cost_usd"] is not None, spent["unpriced"], spent["lost"]) == (known, unpriced, lost)
