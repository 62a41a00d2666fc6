"""/retry whose turn could not start: asked again, it starts what waits and takes back no other turn."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from cos.agent.providers.scripted import said
from cos.core.errors import DatabaseError
from tests.core_bench import core_bench


async def test_a_retry_that_could_not_start_may_be_repeated(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said(f"answer {number}") for number in range(3)]) as core:
        session = (await core.ask("one")).turn.session_id
        await core.idle(session)
        await core.ask("two", session)
        await core.idle(session)
        start, failed = core.dispatcher.start_waiting, list[UUID]()

        async def away(session_id: UUID, wanted: UUID | None = None) -> UUID | None:
            if not failed:
                failed.append(session_id)
                raise DatabaseError("the database did not answer within 10 s")
            return await start(session_id, wanted)

        core.dispatcher.start_waiting = away  # type: ignore[method-assign]
        first = await core.dispatcher.retry(session)
        assert first.turn_id is None
        assert "the database did not answer within 10 s" in first.trouble
        again = await core.dispatcher.retry(session)
        assert (again.message_id, again.trouble) == (first.message_id, "")
        await core.ended(again.turn_id)
        await core.idle(session)
        assert await core.texts(session) == ["one", "answer 0", "two", "answer 2"]
