"""What a client sees of a session equals what is stored, whenever it comes and whoever runs the turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

from cos.agent.messages import reply_text
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import MODEL, called, said
from cos.core.inbound import Inbound
from tests.fix_home import asked

if TYPE_CHECKING:
    from cos.agent.providers.scripted import Item
    from cos.cli.running_core import Core
    from tests.fix_home import CoreHome
    from tests.web.fix_dashboard import Served, WebClient
    from tests.web.reader import Json, Watched


async def sent(client: WebClient, text: str, **more: Any) -> Json:
    answer = await client.ask("message.send", text=text, profile_id="home", **more)
    assert answer["type"] == "response", answer
    payload: Json = answer["payload"]
    return payload


async def ended(client: WebClient, session_id: str) -> Watched:
    """Read up to the end of the session's turn."""
    seen = client.reader.sessions[session_id]
    await client.when(lambda: bool(seen.turns) and not seen.active)
    return seen


async def stored(core: Core, session_id: str) -> list[str]:
    page = await core.sessions.transcript(UUID(session_id))
    return [reply_text(row.message) for row in page.messages]


def shown(seen: Watched) -> list[str]:
    return [str(it["content"] if it["role"] == "tool_result" else it["text"] or "") for it in seen.messages.values()]


async def test_a_turn_that_a_client_began_and_watches(dashboard: Served) -> None:
    dashboard.model.add(said("Hello **you**"))
    async with dashboard.client() as client:
        accepted = await sent(client, "hello", tags=["client:acme"], client_message_id="m1")
        seen = await client.subscribed(accepted["session_id"])
        await ended(client, accepted["session_id"])
        assert shown(seen) == await stored(dashboard.core, accepted["session_id"])
        assert seen.holes == 0
        (turn,) = seen.turns.values()
        assert (turn["id"], turn["status"], turn["had_output"]) == (accepted["turn_id"], "completed", True)
        assert turn["tags"] == ["area:home", "client:acme"]
        status, answer = await dashboard.get(f"/api/sessions/{accepted['session_id']}/turns")
        assert (status, answer["active_turn_id"], answer["next"]) == (200, None, None)
        stored_turn = answer["turns"][0]
        assert stored_turn["ordinal"] == 1
        for key in ("id", "status", "had_output", "started_at", "completed_at", "usage", "duration_ms", "waiting_ms"):
            assert stored_turn[key] == turn[key], key


async def test_a_client_that_comes_in_the_middle_of_a_reply_has_all_of_it(dashboard: Served) -> None:
    pieces: list[Item] = [StreamStarted(MODEL), *(TextChunk(f"word{number} ") for number in range(50)), "hang"]
    dashboard.model.add(pieces)
    async with dashboard.client() as first, dashboard.client() as second:
        accepted = await sent(first, "hello")
        before = await first.subscribed(accepted["session_id"])
        await first.when(lambda: "word49" in "".join(before.streaming.values()))
        seen = await second.subscribed(accepted["session_id"])
        assert list(seen.streaming.values()) == ["".join(f"word{number} " for number in range(50))]
        assert seen.active == [accepted["turn_id"]]
        cancelled = await second.ask("turn.cancel", session_id=accepted["session_id"], turn_id=accepted["turn_id"])
        assert cancelled["payload"] == {"cancelled": True}
        for client in (first, second):
            await ended(client, accepted["session_id"])
        assert shown(seen) == shown(before) == await stored(dashboard.core, accepted["session_id"])
        assert [turn["status"] for turn in seen.turns.values()] == ["cancelled"]
        nothing = await second.ask("turn.cancel", session_id=accepted["session_id"])
        assert nothing["payload"] == {"cancelled": False}


async def test_a_client_that_comes_back_gets_the_frames_it_missed(dashboard: Served) -> None:
    dashboard.model.add(said("one"), said("two"))
    async with dashboard.client() as client:
        accepted = await sent(client, "first")
        session_id = accepted["session_id"]
        await client.subscribed(session_id)
        seen = await ended(client, session_id)
        boot_id = next(frame for frame in client.reader.notices if frame["action"] == "hello")["payload"]["boot_id"]
    await asked(dashboard.core, "second", UUID(session_id))
    async with dashboard.client() as client:
        client.reader.sessions[session_id] = seen
        await client.subscribed(session_id, after_seq=seen.seq, boot_id=boot_id)
        await client.when(lambda: len(seen.turns) == 2 and not seen.active)
        assert seen.actions.count("session.snapshot") == 1
        assert (seen.holes, shown(seen)) == (0, await stored(dashboard.core, session_id))
        answer = await client.ask("session.subscribe", session_id=session_id, after_seq=seen.seq, boot_id=str(uuid4()))
        assert answer["payload"]["replayed"] is False, "another server's seq means nothing here"


async def test_a_turn_of_another_process_is_seen_to_its_end(dashboard: Served, core_home: CoreHome) -> None:
    pieces: list[Item] = [StreamStarted(MODEL), *(TextChunk(f"word{number} ") for number in range(50)), "hang"]
    core_home.script(called(("c1", "read_file", {"path": "nowhere.txt"}), text="Look."), pieces)
    other = await core_home.open()
    await asked(dashboard.core, "begin", profile="work")
    async with dashboard.client() as client:
        accepted = await other.dispatcher.dispatch(Inbound(text="hello", profile_id="home", source="cli"))
        session_id = str(accepted.session_id)
        seen = await client.subscribed(session_id)
        whole = "".join(f"word{number} " for number in range(50))
        await client.when(lambda: whole in seen.streaming.values())
        assert [call["status"] for call in seen.tools.values()] == ["error"]
        async with dashboard.client() as late:
            also = await late.subscribed(session_id)
            await late.when(lambda: whole in also.streaming.values())
            assert (await late.ask("turn.cancel", session_id=session_id))["payload"] == {"cancelled": True}
            for one in (client, late):
                await ended(one, session_id)
            assert shown(seen) == shown(also) == await stored(other, session_id)
        assert [turn["status"] for turn in seen.turns.values()] == ["cancelled"]
        assert seen.holes == 0


async def test_h_117_an_approval_outlives_the_page_and_is_answered_once(dashboard: Served) -> None:
    dashboard.model.add(called(("c1", "terminal", {"command": "echo hi"})), said("done"))
    async with dashboard.client() as page:
        accepted = await sent(page, "run it")
        await page.told("approval.requested")
    async with dashboard.client() as reloaded, dashboard.client() as other:
        seen = await reloaded.subscribed(accepted["session_id"])
        (approval,) = (await dashboard.get("/api/approvals"))[1]["approvals"]
        assert seen.active == [accepted["turn_id"]]
        wrong = await other.ask("approval.respond", approval_id=approval["id"], choice="once", content_hash="x")
        assert wrong["payload"]["code"] == "conflict"
        answer = {"approval_id": approval["id"], "content_hash": approval["content_hash"]}
        assert (await other.ask("approval.respond", choice="once", **answer))["payload"] == {
            "status": "allowed", "answered_by": "web", "warning": None,
        }  # fmt: skip
        late = await reloaded.ask("approval.respond", choice="deny", **answer)
        assert (late["type"], late["payload"]["code"]) == ("error", "conflict")
        assert late["payload"]["answer"]["status"] == "allowed"
        await ended(reloaded, accepted["session_id"])
        assert seen.texts[-1] == "done"
        (turn,) = (await dashboard.get(f"/api/sessions/{accepted['session_id']}/turns"))[1]["turns"]
        assert turn["waiting_ms"] > 0 and turn["duration_ms"] is not None
        resolved = [one for one in other.reader.notices if one["action"] == "approval.resolved"]
        told = resolved[0]["payload"] if resolved else await other.told("approval.resolved")
        assert told["status"] == "allowed"


async def test_a_message_that_is_sent_again_changes_nothing(dashboard: Served) -> None:
    dashboard.model.add(said("one"), said("two"))
    async with dashboard.client() as client:
        wishes = {"text": "hello", "profile_id": "home", "client_message_id": "m1"}
        first = await client.ask("message.send", **wishes)
        again = await client.ask("message.send", **wishes)
        assert again["payload"] == first["payload"]
        session_id = first["payload"]["session_id"]
        await client.subscribed(session_id)
        await ended(client, session_id)
        more = {"text": "more", "session_id": session_id, "client_message_id": "m2"}
        answers = [await client.ask("message.send", **more) for _ in range(2)]
        assert answers[0]["payload"]["turn_id"] == answers[1]["payload"]["turn_id"]
        seen = client.reader.sessions[session_id]
        await client.when(lambda: len(seen.turns) == 2 and not seen.active)
        assert len((await dashboard.get("/api/sessions"))[1]["sessions"]) == 1


async def test_queue_title_and_tags(dashboard: Served) -> None:
    dashboard.model.add([StreamStarted(MODEL), TextChunk("x"), "hang"], said("second"))
    async with dashboard.client() as client, dashboard.client() as other:
        accepted = await sent(client, "first")
        session_id = accepted["session_id"]
        seen = await other.subscribed(session_id)
        waiting = [await sent(client, f"queued {number}", session_id=session_id) for number in (1, 2)]
        assert [one["turn_id"] for one in waiting] == [None, None]
        await other.when(lambda: len(seen.queue["waiting"]) == 2)
        await client.ask("queue.remove", session_id=session_id, message_id=waiting[1]["message_id"])
        await other.when(lambda: [one["text"] for one in seen.queue["waiting"]] == ["queued 1"])
        gone = await client.ask("queue.remove", session_id=session_id, message_id=waiting[1]["message_id"])
        assert gone["payload"]["code"] == "refused"
        await client.ask("turn.cancel", session_id=session_id)
        await other.when(lambda: seen.queue["paused"])
        await client.ask("queue.resume", session_id=session_id)
        await other.when(lambda: len(seen.turns) == 2 and not seen.active and not seen.queue["waiting"])
        assert seen.texts[-1] == "second"
        renamed = await client.ask("session.rename", session_id=session_id, title="<b>A\x1b[31m title</b>")
        assert renamed["payload"]["title"] == "<b>A title</b>"
        tagged = await client.ask("session.tag", session_id=session_id, tags=["client:acme"])
        assert tagged["payload"]["tags"] == ["client:acme"]
        await other.until(lambda frame: frame["action"] == "session.updated" and frame["payload"]["tags"])
        assert (await client.ask("session.seen", session_id=session_id))["payload"]["state"] == "idle"


async def test_a_message_that_was_seen_waiting_for_a_moment_waits_no_more_when_its_turn_begins(
    dashboard: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between being kept and being taken it waits: whoever looks just then is told so."""
    dashboard.model.add(said("one"), said("two"))
    dispatcher, looked = dashboard.core.dispatcher, asyncio.Event()
    start_next = dispatcher.start_waiting

    async def when_looked_at(session_id: UUID, wanted: UUID | None = None) -> UUID | None:
        await dispatcher.announce_queue(session_id)
        await looked.wait()
        return await start_next(session_id, wanted)

    async with dashboard.client() as client, dashboard.client() as other:
        session_id = (await sent(client, "first"))["session_id"]
        seen = await client.subscribed(session_id)
        await ended(client, session_id)
        monkeypatch.setattr(dispatcher, "start_waiting", when_looked_at)
        sending = asyncio.create_task(sent(other, "second", session_id=session_id))
        await client.when(lambda: seen.queue["waiting"])
        looked.set()
        await sending
        await client.when(lambda: not seen.queue["waiting"] and seen.texts == ["one", "two"])


async def test_wrong_requests_are_answered_and_harm_nothing(dashboard: Served) -> None:
    nobody = str(uuid4())
    async with dashboard.client() as client:
        for action, payload, code in (
            ("session.fly", {}, "unknown_action"),
            ("session.subscribe", {}, "bad_request"),
            ("session.subscribe", {"session_id": "x"}, "bad_request"),
            ("session.subscribe", {"session_id": nobody}, "not_found"),
            ("message.send", {"text": " "}, "bad_request"),
            ("message.send", {"text": "x", "session_id": nobody}, "not_found"),
            ("message.send", {"text": "x", "profile_id": "nobody"}, "refused"),
            ("message.send", {"text": "x", "profile_id": "home", "tags": ["no tag"]}, "refused"),
            ("message.send", {"text": "/nothing"}, "refused"),
            ("session.rename", {"session_id": nobody, "title": "x"}, "not_found"),
            ("queue.resume", {"session_id": nobody}, "not_found"),
            ("session.seen", {"session_id": nobody}, "not_found"),
            ("approval.respond", {"approval_id": nobody, "choice": "once", "content_hash": ""}, "not_found"),
        ):
            answer = await client.ask(action, **payload)
            assert (answer["type"], answer["payload"]["code"]) == ("error", code), (action, payload)
        for text in ("", "[]", "{", '{"type": "response"}', "null", "[" * 100_000):
            await client.socket.send(text)
            await client.until(lambda frame: frame["type"] == "error" and frame["payload"]["code"] == "bad_request")
        await client.socket.send(b"bytes")
        await client.until(lambda frame: frame["type"] == "error")
        assert "server_time" in (await client.ask("ping"))["payload"]


async def test_a_deleted_session_is_told_to_everybody_and_watched_by_nobody(dashboard: Served) -> None:
    dashboard.model.add(said("Hello"))
    async with dashboard.client() as client:
        accepted = await sent(client, "hello")
        await client.subscribed(accepted["session_id"])
        await ended(client, accepted["session_id"])
        await dashboard.core.edits.delete([UUID(accepted["session_id"])])
        assert await client.told("session.deleted") == {"session_id": accepted["session_id"]}
        assert (await dashboard.get(f"/api/sessions/{accepted['session_id']}"))[0] == 404


async def test_what_was_accepted_goes_on_when_the_socket_closes(dashboard: Served) -> None:
    dashboard.model.add(said("done"))
    async with dashboard.client() as client:
        await client.socket.send(
            '{"id": 1, "type": "request", "action": "message.send", "payload": {"text": "hello", "profile_id": "home"}}'
        )
    async with asyncio.timeout(30):
        while True:
            sessions = (await dashboard.get("/api/sessions?filter=state:unseen"))[1]["sessions"]
            if sessions:
                break
    assert (await stored(dashboard.core, sessions[0]["id"]))[-1] == "done"


async def test_pages_of_messages_turns_and_sessions(dashboard: Served) -> None:
    dashboard.model.add(*(said(f"**reply** {number}") for number in range(5)))
    end = await asked(dashboard.core, "hello 0")
    for number in range(1, 5):
        await asked(dashboard.core, f"hello {number}", end.turn.session_id)
    path = f"/api/sessions/{end.turn.session_id}"
    newest = (await dashboard.get(f"{path}/messages?limit=4"))[1]
    older = (await dashboard.get(f"{path}/messages?limit=20&before={newest['messages'][0]['ordinal']}"))[1]
    assert [newest["has_more"], older["has_more"]] == [True, False]
    texts = [message["text"] for message in older["messages"] + newest["messages"]]
    assert texts == [text for number in range(5) for text in (f"hello {number}", f"**reply** {number}")]
    assert newest["messages"][-1]["html"] == "<p><strong>reply</strong> 4</p>\n"
    turns = (await dashboard.get(f"{path}/turns?limit=3"))[1]
    rest = (await dashboard.get(f"{path}/turns?limit=3&after={turns['next']}"))[1]
    assert [turn["ordinal"] for turn in turns["turns"] + rest["turns"]] == [1, 2, 3, 4, 5]
    assert rest["next"] is None
    for wrong in ("messages?before=x", "messages?limit=-1", "turns?limit=1000", "turns?after=1.5"):
        assert (await dashboard.get(f"{path}/{wrong}"))[0] == 400, wrong
    assert (await dashboard.get(f"/api/sessions/{uuid4()}/turns"))[0] == 404
    assert (await dashboard.get("/api/sessions/x/turns"))[0] == 404
    for wrong in ("filter=state:fine", "after=x", "after=WzFd", "limit=x"):
        assert (await dashboard.get(f"/api/sessions?{wrong}"))[0] == 400, wrong


async def test_cost_by_tag(dashboard: Served) -> None:
    end = await asked(dashboard.core, "hello", profile="work")
    answer = (await dashboard.get("/api/cost"))[1]
    assert answer["by"] == "client"
    assert [(group["label"], group["calls"]) for group in answer["groups"]] == [("acme", 1)]
    assert answer["total"]["cost_usd"] == answer["groups"][0]["cost_usd"] == answer["days"][-1]["cost_usd"]
    session = (await dashboard.get(f"/api/sessions/{end.turn.session_id}"))[1]
    assert session["cost_usd"] == answer["total"]["cost_usd"]
    assert (await dashboard.get("/api/cost?since=x"))[0] == 400


async def test_h_110_what_a_model_names_reaches_the_page_as_text(dashboard: Served) -> None:
    attack = "<img src=x onerror=alert(1)>"
    dashboard.model.add(called(("c1", attack, {attack: attack})), said(attack))
    async with dashboard.client() as client:
        accepted = await sent(client, attack)
        seen = await client.subscribed(accepted["session_id"])
        await ended(client, accepted["session_id"])
        assert seen.texts[-1] == attack
        path = f"/api/sessions/{accepted['session_id']}/messages"
        answer = await dashboard.raw(
            f"GET {path} HTTP/1.1\nHost: localhost:{dashboard.dashboard.port}\n"
            f"Connection: close\nAuthorization: Bearer {dashboard.token}\n\n"
        )
        assert b"content-type: application/json" in answer and b"nosniff" in answer
        assert all("<img" not in (message["html"] or "") for message in seen.messages.values())
