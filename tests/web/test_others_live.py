"""What another process does in a session reaches the clients however it falls between two looks at the tables."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import MODEL, called, said
from cos.agent.records import ApprovalAnswer
from cos.core.inbound import Inbound
from cos.core.live import SessionTouched
from cos.core.postgres.session_turns import SessionTurns
from tests.fix_home import asked
from tests.web.test_sessions_live import sent

if TYPE_CHECKING:
    from tests.fix_home import CoreHome
    from tests.web.fix_dashboard import Served, WebClient


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


class Overtaken:
    """Something read for clients that is held back, the first time that it is not nothing, until it is old."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
        """`what`: a method of `SessionTurns`, which the dashboard alone uses."""
        read, self._is_open, self.is_read = getattr(SessionTurns, what), asyncio.Event(), asyncio.Event()

        async def hold(of: SessionTurns, *place: Any) -> list[Any]:
            found: list[Any] = await read(of, *place)
            if found and not self.is_read.is_set():
                self.is_read.set()
                await self._is_open.wait()
            return found

        monkeypatch.setattr(SessionTurns, what, hold)

    async def tell(self, client: WebClient, title: str) -> None:
        """Let go; until clients were told what was read with it, and of what the session was called then."""
        self._is_open.set()
        await client.until(lambda frame: frame["action"] == "session.updated" and frame["payload"]["title"] == title)


async def test_a_call_that_ended_while_it_was_read_has_ended(
    dashboard: Served, core_home: CoreHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    dashboard.model.add(called(("c1", "terminal", {"command": "echo hi"})))
    dashboard.model.add([StreamStarted(MODEL), TextChunk("x"), "hang"])
    other = await core_home.open()
    async with dashboard.client() as client:
        accepted = await sent(client, "run it")
        seen = await client.subscribed(accepted["session_id"])
        request = await client.told("approval.requested")
        read = Overtaken(monkeypatch, "calls")
        dashboard.core.feed.publish(SessionTouched(session_id=UUID(accepted["session_id"]), profile_id="home"))
        await read.is_read.wait()
        await client.ask(
            "approval.respond", approval_id=request["id"], choice="once", content_hash=request["content_hash"]
        )
        await client.when(lambda: seen.tools["c1"]["status"] == "ok")
        await other.edits.rename(UUID(accepted["session_id"]), "looked at")
        await read.tell(client, "looked at")
        assert seen.tools["c1"]["status"] == "ok"


@pytest.mark.parametrize("what", ["calls", "messages_after"])
async def test_what_was_taken_back_here_while_it_was_read_is_gone(
    dashboard: Served, core_home: CoreHome, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    core_home.script(said("one"), called(("c1", "no_such_tool", {})), said("two"))
    other = await core_home.open()
    session_id = (await asked(other, "first")).turn.session_id
    async with dashboard.client() as client:
        seen = await client.subscribed(str(session_id))
        read = Overtaken(monkeypatch, what)
        await asked(other, "second", session_id)
        await read.is_read.wait()
        await sent(client, "/undo", session_id=str(session_id))
        await client.told("session.rewound")
        await other.edits.rename(session_id, "looked at")
        await read.tell(client, "looked at")
        assert seen.texts == ["one"]
        assert len(seen.turns) == 1
        assert seen.tools == {}
