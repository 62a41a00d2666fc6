"""What another process does in a watched session, told from the tables: the same notifications as for a turn here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cos.web.frames import Notice
from cos.web.known import QUEUE
from cos.web.objects import stored_call, stored_message, thinking_of, turn_object

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.sessions import OpenReply, Session
    from cos.web.channel import Channel
    from cos.web.core_port import WebCore
    from cos.web.hub import Hub

NEWEST_TURNS: Final = 3
PAGE: Final = 200


class CatchingUp:
    """Of one hub. Every method raises CosError when the database does not answer, or the session is gone."""

    def __init__(self, core: WebCore, hub: Hub) -> None:
        self._core = core
        self._hub = hub

    async def of(self, session_id: UUID) -> None:
        """Tell what is new."""
        session = await self._core.sessions.get(session_id)
        await self._tell_turns(session, NEWEST_TURNS, is_open=True)
        await self._tell_messages(session_id)
        await self.tell_queue(session_id)
        await self.tell_reply(session_id)
        await self._tell_turns(session, NEWEST_TURNS, is_open=False)

    async def tell_reply(self, session_id: UUID) -> None:
        """What was added to the reply that another process streams."""
        reply = await self._core.sessions.open_reply(session_id)
        channel = self._hub.channels.get(session_id)
        if reply is not None and channel is not None and self._hub.live.of(session_id) is None:
            _tell_reply(channel, reply)
            self._hub.grow()

    async def tell_queue(self, session_id: UUID) -> None:
        """What waits, when it is not what was told last."""
        queue = await self._hub.snapshots.queue(session_id)
        channel = self._hub.channels.get(session_id)
        if channel is not None and channel.known.is_news(QUEUE, queue):
            channel.tell(Notice(action="session.queue.changed", payload=queue, key=QUEUE))

    async def tell_newest_turn(self, session_id: UUID) -> None:
        """Of a turn that runs here: what its events do not carry."""
        session = await self._core.sessions.get(session_id)
        rows = await self._core.session_turns.newest(session_id, 1)
        costs = await self._hub.money.of_turns([row.id for row in rows])
        channel = self._hub.channels.get(session_id)
        if channel is None:
            return
        for row in rows:
            turn = turn_object(session, row, costs.get(row.id))
            channel.known.is_news(("turn", row.id, row.completed_at is None), turn)
            channel.tell(Notice(action="session.turn.updated", payload=turn))

    async def _tell_turns(self, session: Session, count: int, *, is_open: bool) -> None:
        """The turns that run, or those that have ended: a turn's end is told after all that belongs to it."""
        rows = await self._core.session_turns.newest(session.id, count)
        rows = [row for row in rows if (row.completed_at is None) == is_open]
        costs = await self._hub.money.of_turns([row.id for row in rows])
        found = await self._core.session_turns.calls([row.id for row in rows])
        channel = self._hub.channels.get(session.id)
        if channel is None:
            return
        for stored in found:
            call, call_id = stored_call(session.id, stored), stored.record.call_id
            if channel.known.is_news(("call", call_id), call):
                channel.tell(Notice(action="session.tool.updated", payload=call, key=("tool", call_id)))
        for row in rows:
            key, turn = ("turn", row.id), turn_object(session, row, costs.get(row.id))
            is_first = not channel.known.has((*key, is_open))
            if channel.known.is_news((*key, is_open), turn):
                what = ("started" if is_open else "completed") if is_first else "updated"
                channel.tell(Notice(action=f"session.turn.{what}", payload=turn))

    async def _tell_messages(self, session_id: UUID) -> None:
        channel = self._hub.channels.get(session_id)
        while channel is not None and channel.known.ordinal is not None:
            rows = await self._core.session_turns.messages_after(session_id, channel.known.ordinal, PAGE)
            channel.known.is_caught_up = True
            for row in rows:
                channel.known.ordinal = row.ordinal
                if channel.known.is_news(("message", row.id), {}):
                    payload = stored_message(session_id, row)
                    channel.tell(Notice(action="session.message.added", payload=payload))
            if len(rows) < PAGE:
                return


def _tell_reply(channel: Channel, reply: OpenReply) -> None:
    """A reply that did not only grow comes whole when it is stored."""
    if channel.reply is None or channel.reply["message_id"] != reply.message_id:
        channel.reply = {"message_id": reply.message_id, "text": "", "thinking": ""}
    place = {"turn_id": reply.turn_id, "message_id": reply.message_id}
    for field, kind, text in (
        ("thinking", "thinking", thinking_of(reply.message)),
        ("text", "message", reply.message.text or ""),
    ):
        before = channel.reply[field]
        if text != before and text.startswith(before):
            channel.reply[field] = text
            channel.grow(f"session.{kind}.delta", (f"{kind}.delta", reply.message_id), place, text[len(before) :])
