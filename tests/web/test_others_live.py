"""What another process does in a session reaches the clients however it falls between two looks at the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import MODEL, called, said
from cos.agent.records import ApprovalAnswer
from cos.core.inbound import Inbound
from tests.fix_home import asked
from tests.web.test_sessions_live import sent

if TYPE_CHECKING:
    from tests.fix_home import CoreHome
    from tests.web.fix_dashboard import Served


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Much happens between two looks."""
    monkeypatch.setattr("cos.web.keeper.PAUSE_SECONDS", 2.0)


@pytest.mark.usefixtures("seldom")
async def test_many_turns_between_two_looks_are_all_told(dashboard: Served, core_home: CoreHome) -> None:
    core_home.script(*(said(str(number)) for number in range(8)))
    other = await core_home.open()
    session_id = (await asked(other, "0")).turn.session_id
    async with dashboard.client() as client:
        seen = await client.subscribed(str(session_id))
        for number in range(1, 8):
            await asked(other, str(number), session_id)
        await client.when(lambda: len(seen.turns) == 8 and not seen.active)
        assert seen.texts == [str(number) for number in range(8)]
        assert [turn["status"] for turn in seen.turns.values()] == ["completed"] * 8


async def test_turns_that_another_process_took_back_are_gone(dashboard: Served, core_home: CoreHome) -> None:
    core_home.script(said("one"), said("two"))
    other = await core_home.open()
    session_id = (await asked(other, "first")).turn.session_id
    async with dashboard.client() as client:
        seen = await client.subscribed(str(session_id))
        await asked(other, "second", session_id)
        await client.when(lambda: seen.texts == ["one", "two"])
        await other.dispatcher.dispatch(Inbound(text="/undo", profile_id="home", source="cli", session_id=session_id))
        await client.when(lambda: seen.texts == ["one"])
        assert len(seen.turns) == 1


async def test_a_queue_that_is_again_as_it_was_is_told(dashboard: Served, core_home: CoreHome) -> None:
    dashboard.model.add([StreamStarted(MODEL), TextChunk("x"), "hang"])
    other = await core_home.open()
    async with dashboard.client() as client:
        accepted = await sent(client, "first")
        session_id = accepted["session_id"]
        seen = await client.subscribed(session_id)
        await other.edits.rename(UUID(session_id), "looked at")
        await client.until(
            lambda frame: frame["action"] == "session.updated" and frame["payload"]["title"] == "looked at"
        )
        waiting = await sent(client, "later", session_id=session_id)
        await client.when(lambda: [one["text"] for one in seen.queue["waiting"]] == ["later"])
        await other.queue.remove(UUID(waiting["message_id"]))
        await client.when(lambda: seen.queue["waiting"] == [])


@pytest.mark.usefixtures("seldom")
async def test_a_request_that_a_client_was_given_between_two_looks_is_resolved_for_it(
    dashboard: Served, core_home: CoreHome
) -> None:
    core_home.script(called(("c1", "terminal", {"command": "echo hi"})), said("done"))
    other = await core_home.open()
    async with dashboard.client() as client:
        await other.dispatcher.dispatch(Inbound(text="run it", profile_id="home", source="cli"))
        while not (waiting := (await dashboard.get("/api/approvals"))[1]["approvals"]):
            pass
        await other.desk.answer(UUID(waiting[0]["id"]), ApprovalAnswer(decision="denied", answered_by="somebody"))
        told = await client.told("approval.resolved")
        assert (told["id"], told["status"]) == (waiting[0]["id"], "denied")
