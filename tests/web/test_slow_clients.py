"""A client that does not read slows nobody and costs a bounded amount of memory."""

from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.events import ToolOutput
from cos.agent.identity import TurnInfo
from cos.agent.ids import new_id
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import MODEL, said
from cos.web.outbox import MOST_BYTES
from tests.fix_home import asked
from tests.web.test_sessions_live import ended, sent, stored

if TYPE_CHECKING:
    from cos.agent.providers.scripted import Item
    from tests.web.fix_dashboard import Served

MEGABYTE = 1_000_000


async def flood(dashboard: Served, turn: TurnInfo, megabytes: int) -> None:
    """What a tool prints, as its runner tells it."""
    line = "x" * 999 + "\n"
    for number in range(megabytes * MEGABYTE // len(line)):
        dashboard.core.feed.publish(ToolOutput(turn=turn, call_id="c1", name="terminal", text=line))
        if number % 100 == 0:
            await asyncio.sleep(0.001)


async def test_h_115_twenty_clients_that_read_nothing_while_a_tool_prints_20_mb(dashboard: Served) -> None:
    dashboard.model.add(said("one"), said("two"))
    end = await asked(dashboard.core, "hello")
    session_id = str(end.turn.session_id)
    hub = dashboard.dashboard.hub
    deaf = [hub.join() for _ in range(20)]
    for client in deaf:
        await hub.subscribe(client, end.turn.session_id, after_seq=None, boot_id=None)
        client.answer("{}")
    async with dashboard.client() as reading:
        seen = await reading.subscribed(session_id)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        await flood(dashboard, end.turn, 20)
        await reading.when(lambda: seen.outputs.get("c1", "").endswith("x\n"))
        held = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert held < 20 * MEGABYTE, "frames are shared, and the whole flood is not kept"
        assert max(client.size for client in deaf) <= MOST_BYTES
        began = time.monotonic()
        await asked(dashboard.core, "again", end.turn.session_id)
        assert time.monotonic() - began < 5
        await reading.when(lambda: len(seen.turns) == 2 and not seen.active)
        assert seen.holes == 0 and seen.texts == ["one", "two"]
    for client in deaf:
        hub.leave(client)


async def test_h_115_a_client_that_stops_reading_is_told_and_comes_back_with_a_compact_state(
    dashboard: Served,
) -> None:
    dashboard.model.add([*_pieces(3_000), "hang"])
    async with dashboard.client(max_queue=1) as slow, dashboard.client() as quick:
        accepted = await sent(quick, "hello")
        session_id = accepted["session_id"]
        live = await quick.subscribed(session_id)
        frozen = await slow.subscribed(session_id)
        turn = TurnInfo(profile_id="home", session_id=UUID(session_id), turn_id=UUID(accepted["turn_id"]))
        # It reads nothing from here on.
        for _ in range(40):
            for number in range(30):
                text = f"{number:06}" * 30_000
                event = ToolOutput(turn=turn, call_id=f"c{number}", name="terminal", text=text)
                dashboard.core.feed.publish(event)
            await asyncio.sleep(0.06)
            if dashboard.dashboard.hub.counts.resyncs:
                break
        await quick.ask("turn.cancel", session_id=session_id)
        await slow.until(lambda frame: frame["action"] == "session.resync_required")
        assert slow.reader.resyncs == [session_id]
        await slow.subscribed(session_id)
        if session_id in quick.reader.resyncs:
            await quick.subscribed(session_id)
        for client in (slow, quick):
            await ended(client, session_id)
        texts = await stored(dashboard.core, session_id)
        assert [message["text"] for message in frozen.messages.values()] == texts
        assert [message["text"] for message in live.messages.values()] == texts
        assert frozen.actions.count("session.snapshot") == 2


async def test_a_text_that_streams_fast_arrives_whole_in_few_frames(dashboard: Served) -> None:
    pieces = _pieces(5_000)
    dashboard.model.add(pieces)
    async with dashboard.client() as client:
        accepted = await sent(client, "hello")
        seen = await client.subscribed(accepted["session_id"])
        await ended(client, accepted["session_id"])
        assert seen.texts == ["".join(piece.text for piece in pieces if isinstance(piece, TextChunk))]
        assert seen.actions.count("session.message.delta") < 500
        assert seen.holes == 0


def _pieces(count: int) -> list[Item]:
    return [StreamStarted(MODEL), *(TextChunk(f"piece {number} é\n") for number in range(count))]


async def test_each_session_has_its_own_sequence(dashboard: Served) -> None:
    dashboard.model.add(said("one"), said("two"))
    hub = dashboard.dashboard.hub
    first, second = await asked(dashboard.core, "a"), await asked(dashboard.core, "b")
    async with dashboard.client() as client:
        for end in (first, second):
            await client.subscribed(str(end.turn.session_id))
        assert set(hub.channels) == {first.turn.session_id, second.turn.session_id}
        turn = TurnInfo(profile_id="home", session_id=second.turn.session_id, turn_id=new_id())
        dashboard.core.feed.publish(ToolOutput(turn=turn, call_id="c", name="t", text="x"))
        await client.told("session.tool.output")
        watched = [client.reader.sessions[str(end.turn.session_id)] for end in (first, second)]
        assert [seen.outputs for seen in watched] == [{}, {"c": "x"}]
        assert [seen.holes for seen in watched] == [0, 0]


async def test_the_snapshot_of_a_very_long_conversation_is_short_and_the_rest_comes_in_pages(
    dashboard: Served,
) -> None:
    text = "\u6f22" * 40_000  # Six bytes each in a frame.
    dashboard.model.add(*(said(text) for _ in range(8)))
    end = await asked(dashboard.core, "hello")
    for _ in range(7):
        await asked(dashboard.core, "again", end.turn.session_id)
    session_id = str(end.turn.session_id)
    async with dashboard.client() as client:
        await client.ask("session.subscribe", session_id=session_id)
        snapshot = await client.told("session.snapshot")
        assert snapshot["has_more"] and 2 <= len(snapshot["messages"]) < 16
        assert len(json.dumps(snapshot)) < MOST_BYTES / 2
        path = f"/api/sessions/{session_id}/messages?before={snapshot['messages'][0]['ordinal']}"
        older = (await dashboard.get(path))[1]["messages"]
        assert [it["ordinal"] for it in older + snapshot["messages"]] == list(range(1, 17))
