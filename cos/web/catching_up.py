"""What another process does in a watched session, told from the tables: the same notifications as for a turn here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cos.web.frames import Notice
from cos.web.known import QUEUE
from cos.web.objects import Json, stored_call, stored_message, thinking_of

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.sessions import OpenReply, Session
    from cos.web.channel import Channel
    from cos.web.core_port import WebCore
    from cos.web.hub import Hub

FORMER_TURNS: Final = 3
"""Turns that have ended and are looked at nevertheless: what they cost may be known later."""
PAGE: Final = 200


class _OvertakenError(Exception):
    """An event was told since the read began: what was read may be older than that, and is read again."""


class CatchingUp:
    """Of one hub. Every method raises CosError when the database does not answer, or the session is gone."""

    def __init__(self, core: WebCore, hub: Hub) -> None:
        self._core = core
        self._hub = hub

    async def of(self, session_id: UUID) -> None:
        """Tell what is new."""
        session = await self._core.sessions.get(session_id)
        try:
            await self._tell_rewound(session_id)
            await self._tell_turns(session, is_open=True)
            await self._tell_messages(session_id)
            await self.tell_queue(session_id)
            await self.tell_reply(session_id)
            await self._tell_turns(session, is_open=False)
        except _OvertakenError:
            self._hub.keeper.wake(touched=session_id)

    async def tell_reply(self, session_id: UUID) -> None:
        """What was added to the reply that another process streams."""
        reply = await self._core.sessions.open_reply(session_id)
        channel = self._hub.channels.get(session_id)
        if reply is not None and channel is not None and self._hub.live.of(session_id) is None:
            _tell_reply(channel, reply)
            self._hub.grow()

    async def tell_queue(self, session_id: UUID) -> None:
        """What waits, when it is not what was told last."""
        queue = await self._hub.snapshots.queue(await self._core.sessions.get(session_id))
        channel = self._hub.channels.get(session_id)
        if channel is not None and channel.known.is_news(QUEUE, queue):
            channel.tell(Notice(action="session.queue.changed", payload=queue, key=QUEUE))

    async def tell_turns(self, session_id: UUID) -> None:
        """Of turns that run here: what their events do not carry."""
        session, begun = await self._core.sessions.get(session_id), self._begin(session_id)
        turns = await self._new_turns(session)
        try:
            channel = self._still(session_id, begun)
        except _OvertakenError:
            self._hub.keeper.wake(turn=session_id)
            return
        for turn in turns:
            if channel is not None and channel.known.is_news(_key(turn), turn):
                channel.tell(Notice(action="session.turn.updated", payload=turn))

    def _begin(self, session_id: UUID) -> tuple[Channel | None, int]:
        """Before a read, for `_still`."""
        channel = self._hub.channels.get(session_id)
        return channel, 0 if channel is None else channel.known.events

    def _still(self, session_id: UUID, begun: tuple[Channel | None, int]) -> Channel | None:
        """Where to tell what was read since then; None when nobody watches.

        Raises:
            _OvertakenError
        """
        if self._begin(session_id) != begun:
            raise _OvertakenError
        return begun[0]

    async def _tell_rewound(self, session_id: UUID) -> None:
        undone = await self._core.session_turns.undone(session_id)
        channel = self._hub.channels.get(session_id)
        if channel is not None:
            gone = [turn_id for turn_id in undone if channel.known.is_news(("undone", turn_id), {})]
            if gone:
                channel.tell(Notice(action="session.rewound", payload={"turn_ids": gone}))

    async def _new_turns(self, session: Session) -> list[Json]:
        """Those that have not ended as far as clients know, and a few before them, oldest first."""
        channel = self._hub.channels.get(session.id)
        if channel is None:
            return []
        ended = channel.known.ended
        after, limit = (None, FORMER_TURNS) if ended is None else (max(0, ended - FORMER_TURNS), PAGE)
        rows = await self._core.session_turns.page(session.id, after=after, limit=limit)
        return await self._hub.snapshots.turns(session, rows)

    async def _tell_turns(self, session: Session, *, is_open: bool) -> None:
        """The turns that run, or those that have ended: a turn's end is told after all that belongs to it."""
        begun = self._begin(session.id)
        turns = await self._new_turns(session)
        wanted = [turn for turn in turns if (turn["completed_at"] is None) == is_open]
        found = await self._core.session_turns.calls([turn["id"] for turn in wanted])
        channel = self._still(session.id, begun)
        if channel is None:
            return
        for stored in found:
            call, call_id = stored_call(session.id, stored), stored.record.call_id
            if channel.known.is_news(("call", call_id), call):
                channel.tell(Notice(action="session.tool.updated", payload=call, key=("tool", call_id)))
        for turn in wanted:
            is_first = not channel.known.has(_key(turn))
            if channel.known.is_news(_key(turn), turn):
                what = ("started" if is_open else "completed") if is_first else "updated"
                channel.tell(Notice(action=f"session.turn.{what}", payload=turn))
        if not is_open:
            channel.known.have_ended(turns)

    async def _tell_messages(self, session_id: UUID) -> None:
        channel = self._hub.channels.get(session_id)
        while channel is not None and channel.known.ordinal is not None:
            begun = self._begin(session_id)
            rows = await self._core.session_turns.messages_after(session_id, channel.known.ordinal, PAGE)
            channel = self._still(session_id, begun)
            if channel is None:
                return
            channel.known.is_caught_up = True
            for row in rows:
                channel.known.ordinal = row.ordinal
                if channel.known.is_news(("message", row.id), {}):
                    payload = stored_message(session_id, row)
                    channel.tell(Notice(action="session.message.added", payload=payload))
            if len(rows) < PAGE:
                return


def _key(turn: Json) -> tuple[str, UUID, bool]:
    """What it is told under: its end is news whatever was told before."""
    return "turn", turn["id"], turn["completed_at"] is None


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
