"""The state of a session is said as the app says it: what it waits for, what became of it, what nobody saw yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from cos.agent.events import MessageDelta
from cos.agent.ids import new_id
from cos.agent.provider import ProviderError, ProviderUnavailable, StreamStarted, TextChunk
from cos.agent.providers.scripted import MODEL, called, said
from tests.web.fix_dashboard import served
from tests.web.test_sessions_live import ended, sent

if TYPE_CHECKING:
    from tests.fix_home import CoreHome
    from tests.web.fix_dashboard import Served, WebClient


async def _is(client: WebClient, **wanted: Any) -> None:
    """Read up to the frame that tells every client that the one session is so."""
    await client.until(
        lambda frame: frame["action"] == "session.updated" and frame["payload"] | wanted == frame["payload"]
    )


async def test_a_turn_that_waits_to_try_again_says_so_also_to_who_comes_later(dashboard: Served) -> None:
    dashboard.model.add(ProviderUnavailable("the API is overloaded", retry_after_seconds=60.0))
    async with dashboard.client() as first, dashboard.client() as late:
        accepted = await sent(first, "hello")
        await _is(first, state="retrying")
        await late.ask("session.subscribe", session_id=accepted["session_id"])
        retry = (await late.told("session.snapshot"))["retry"]
        assert (retry["turn_id"], retry["attempt"], retry["max_attempts"]) == (accepted["turn_id"], 1, 5)
        assert retry["reason"] == "the API is overloaded"
        turn = dashboard.core.dispatcher.turns.of(UUID(accepted["session_id"]))
        assert turn is not None
        dashboard.core.feed.publish(MessageDelta(turn=turn.turn, message_id=new_id(), text="Now I can."))
        await _is(first, state="thinking")
        await first.ask("session.subscribe", session_id=accepted["session_id"])
        assert (await first.told("session.snapshot"))["retry"] is None


async def test_a_turn_that_failed_is_news_until_it_was_seen(dashboard: Served) -> None:
    dashboard.model.add(ProviderError("no such model", status=404))
    async with dashboard.client() as client:
        session_id = (await sent(client, "hello"))["session_id"]
        await _is(client, state="failed", unseen=True)
        seen = (await client.ask("session.seen", session_id=session_id))["payload"]
        assert (seen["state"], seen["unseen"]) == ("failed", False)


async def test_a_request_that_nobody_answered_in_time_is_news(core_home: CoreHome) -> None:
    (core_home.folder / "commonos.toml").write_text("[approvals]\ntimeout_seconds = 0.2\n")
    async with served(core_home) as dashboard, dashboard.client() as client:
        dashboard.model.add(called(("c1", "terminal", {"command": "echo hi"})), said("It did not run."))
        session_id = (await sent(client, "run it"))["session_id"]
        await _is(client, state="request_expired", unseen=True)
        assert (await client.ask("session.seen", session_id=session_id))["payload"]["state"] == "idle"


async def test_a_queue_that_is_paused_is_told_apart_from_one_that_goes_on(dashboard: Served) -> None:
    dashboard.model.add([StreamStarted(MODEL), TextChunk("x"), "hang"], said("second"))
    async with dashboard.client() as client:
        session_id = (await sent(client, "first"))["session_id"]
        await client.subscribed(session_id)
        await sent(client, "second", session_id=session_id)
        await client.ask("turn.cancel", session_id=session_id)
        await _is(client, state="queue_paused", queued=1)
        await client.ask("queue.resume", session_id=session_id)
        await _is(client, state="done_unseen", queued=0)
        await ended(client, session_id)
