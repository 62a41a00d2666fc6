"""What waits for one client: answers first, the newest of what is replaceable, texts in one piece, and a bound."""

import asyncio
import json
from uuid import UUID

from cos.web.channel import Channel
from cos.web.counts import Counts
from cos.web.frames import Notice, control
from cos.web.outbox import MOST_ANSWERS, MOST_BYTES, MOST_FRAMES, Outbox
from tests.web.reader import Reader

BOOT, SESSION, OTHER = UUID(int=1), UUID(int=2), UUID(int=3)


def channel(client: Outbox, session_id: UUID = SESSION) -> Channel:
    """A channel that the client watches from its first frame on."""
    made = Channel(session_id, BOOT, 0, Counts())
    client.hold(session_id)
    client.begin(session_id, [], 0)
    client.answer(control("subscribed", {}))
    made.clients.add(client)
    return made


def told(number: int) -> Notice:
    return Notice(action="session.notice", payload={"number": number})


def tool(call_id: str, status: str) -> Notice:
    payload = {"call_id": call_id, "status": status}
    return Notice(action="session.tool.updated", payload=payload, key=("tool", call_id))


async def taken(client: Outbox) -> list[dict[str, object]]:
    """Everything that waits."""
    frames = []
    while client._control or client._waiting:
        text = await client.take()
        assert text is not None
        frames.append(json.loads(text))
    return [frame for frame in frames if frame["action"] != "subscribed"]


def payloads(frames: list[dict[str, object]]) -> list[object]:
    return [frame["payload"] for frame in frames]


async def test_answers_go_before_what_waits() -> None:
    client = Outbox()
    watched = channel(client)
    watched.tell(told(1))
    client.answer(control("pong", {}))
    assert [frame["action"] for frame in await taken(client)] == ["pong", "session.notice"]


async def test_of_a_replaceable_frame_only_the_newest_waits_and_it_never_passes_a_semantic_one() -> None:
    client = Outbox()
    watched = channel(client)
    for notice in (tool("a", "running"), told(1), tool("b", "running"), tool("a", "ok")):
        watched.tell(notice)
    frames = await taken(client)
    assert [frame["payload"] for frame in frames] == [
        {"number": 1}, {"call_id": "b", "status": "running"}, {"call_id": "a", "status": "ok"},
    ]  # fmt: skip
    assert [(frame.get("first"), frame["seq"]) for frame in frames] == [(1, 2), (None, 3), (None, 4)]


async def test_pieces_of_a_text_go_out_together_and_say_what_they_stand_for() -> None:
    client, reader = Outbox(), Reader()
    watched = channel(client)
    for piece in ("one ", "two ", "three"):
        place = {"turn_id": "t", "message_id": "m"}
        watched.grow("session.message.delta", "m", place, piece)
        watched.flush()
    watched.tell(told(1))
    frames = [reader.take(json.dumps(frame)) for frame in await taken(client)]
    assert frames[0]["payload"]["text"] == "one two three"
    assert [(frame.get("first"), frame["seq"]) for frame in frames] == [(1, 3), (None, 4)]


async def test_a_slow_client_is_told_to_read_again_and_holds_nothing_of_that_session_any_more() -> None:
    gone: list[UUID] = []
    client = Outbox(gone.append)
    watched, other = channel(client), channel(client, OTHER)
    other.tell(told(0))
    for number in range(MOST_FRAMES + 1):
        watched.tell(told(number))
    frames = await taken(client)
    assert [frame["action"] for frame in frames] == ["session.resync_required", "session.notice"]
    assert (frames[0]["session_id"], gone) == (str(SESSION), [SESSION])
    assert client.size == 0


async def test_what_waits_has_a_bound_in_bytes_also_when_it_is_one_growing_text() -> None:
    client = Outbox()
    watched = channel(client)
    highest = 0
    for _ in range(200):
        watched.grow("session.message.delta", "m", {"message_id": "m"}, "x" * 100_000)
        watched.flush()
        highest = max(highest, client.size)
    assert MOST_BYTES / 2 < highest <= MOST_BYTES
    assert [frame["action"] for frame in await taken(client)] == ["session.resync_required"]


async def test_frames_of_the_time_in_which_the_snapshot_was_read_come_after_it() -> None:
    client, reader = Outbox(), Reader()
    watched = Channel(SESSION, BOOT, 7, Counts())
    watched.clients.add(client)
    client.hold(SESSION)
    watched.tell(told(8))
    assert client.sent == {}
    snapshot: dict[str, object] = {"turns": [], "messages": [], "tools": [], "queue": {}, "open_reply": None}
    client.begin(SESSION, [watched.snapshot(snapshot, 7)], 6)
    watched.tell(told(9))
    client.answer(control("subscribed", {}))
    watched.tell(told(10))
    for frame in await taken(client):
        reader.take(json.dumps(frame))
    seen = reader.sessions[str(SESSION)]
    assert (seen.actions, seen.seq, seen.holes) == (["session.snapshot", *["session.notice"] * 3], 10, 0)
    assert client.sent == {SESSION: 10}


async def test_a_client_that_takes_no_answers_is_closed() -> None:
    client = Outbox()
    for _ in range(MOST_ANSWERS + 1):
        client.answer(control("pong", {}))
    assert await client.take() is None
    assert client.fault == (1013, "too slow")


async def test_taking_waits_until_there_is_something() -> None:
    client = Outbox()
    taking = asyncio.create_task(client.take())
    await asyncio.sleep(0)
    assert not taking.done()
    client.answer(control("pong", {}))
    assert json.loads(await taking or "")["action"] == "pong"


async def test_an_unsubscribed_session_says_nothing_more() -> None:
    client = Outbox()
    watched = channel(client)
    watched.tell(told(1))
    client.forget(SESSION)
    watched.tell(told(2))
    assert await taken(client) == []
    assert client.size == 0
