"""A message that begins a session begins one, also when the server was killed before it could answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cos.agent.identity import NewSession
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import MODEL, said
from cos.core.postgres.journal import PostgresJournal
from tests.web.fix_dashboard import served

if TYPE_CHECKING:
    from tests.fix_home import CoreHome

FIRST: Final = {"text": "hello", "profile_id": "home", "client_message_id": "m1"}


async def test_first_message_that_comes_again_to_another_server_finds_its_session_and_turn(
    core_home: CoreHome,
) -> None:
    async with served(core_home) as first, first.client() as client:
        first.model.add([StreamStarted(MODEL), TextChunk("x"), "hang"])
        begun = (await client.ask("message.send", **FIRST))["payload"]
        waiting = {"text": "later", "session_id": begun["session_id"], "client_message_id": "m2"}
        queued = (await client.ask("message.send", **waiting))["payload"]
        async with served(core_home) as second, second.client() as again:
            assert (await again.ask("message.send", **FIRST))["payload"] == begun
            assert (await again.ask("message.send", **waiting))["payload"] == queued
            assert len((await second.get("/api/sessions"))[1]["sessions"]) == 1


async def test_first_message_whose_server_died_before_it_was_kept_goes_into_the_session_that_it_began(
    core_home: CoreHome,
) -> None:
    async with served(core_home) as dashboard, dashboard.client() as client:
        dashboard.model.add(said("Hello"))
        new = NewSession(profile_id="home", source="web", title="hello", client_message_id="m1")
        session_id = await PostgresJournal(dashboard.core.database).create_session(new)
        sent = (await client.ask("message.send", **FIRST))["payload"]
        assert (sent["session_id"], sent["turn_id"] is not None) == (str(session_id), True)
