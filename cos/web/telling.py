"""Events of the live feed as notifications: what happens in this process is told without reading a table."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from cos.agent.events import (
    ApprovalRequested,
    ApprovalResolved,
    ContextUpdated,
    MessageAdded,
    MessageDelta,
    RetryScheduled,
    ThinkingDelta,
    ToolEvent,
    ToolOutput,
    TurnCompleted,
    TurnStarted,
)
from cos.agent.events import Notice as TurnNotice
from cos.core.live import (
    PluginEvent,
    QueueChanged,
    ReplyGrew,
    SessionDeleted,
    SessionEvent,
    SessionRewound,
    SessionTouched,
    session_of,
)
from cos.web.frames import Notice
from cos.web.money import CALL_RECORDED
from cos.web.objects import completed_turn, message_object, retry_object, started_turn

if TYPE_CHECKING:
    from cos.agent.events import AgentEvent
    from cos.core.live import CoreEvent
    from cos.web.channel import Channel
    from cos.web.hub import Hub
    from cos.web.live_turns import LiveTurn

log = logging.getLogger("cos.web")

DELTAS: Final[dict[type[object], str]] = {
    MessageDelta: "session.message.delta",
    ThinkingDelta: "session.thinking.delta",
}
_CHANGES_ROW: Final = (
    *(TurnStarted, TurnCompleted, ApprovalRequested, ApprovalResolved, ContextUpdated, ToolEvent, RetryScheduled),
)


class Telling:
    """Of one hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def tell(self, event: CoreEvent, channel: Channel | None) -> None:
        """Tell it to whom it concerns; `channel`: of its session, when somebody watches that."""
        if type(event) in DELTAS:  # By far most events are these.
            assert isinstance(event, MessageDelta | ThinkingDelta)
            if self._hub.live.is_retrying(event.turn.session_id):
                self._hub.keeper.wake(session=event.turn.session_id)
            turn = self._hub.live.see(event)
            if channel is not None and not turn.is_torn:
                channel.grow(DELTAS[type(event)], (event.type, event.message_id), turn.reply_place, event.text)
                self._hub.grow()
        elif isinstance(event, SessionEvent):
            self._session(event, channel)
        elif isinstance(event, PluginEvent):
            if event.type == CALL_RECORDED:
                self._hub.keeper.wake(cost=event.turn.turn_id, session=event.turn.session_id)
        else:
            turn = self._hub.live.see(event)
            self._wake(event)
            if channel is not None:
                self._turn(event, turn, channel)

    def _session(self, event: SessionEvent, channel: Channel | None) -> None:
        keeper, session_id = self._hub.keeper, event.session_id
        if isinstance(event, SessionDeleted):
            payload = {"session_id": session_id}
            self._hub.tell_all(Notice(action="session.deleted", payload=payload))
            keeper.wake(approvals=True)
            return
        if isinstance(event, ReplyGrew):
            keeper.wake(reply=session_id)
            return
        keeper.wake(session=session_id)
        if isinstance(event, SessionTouched):
            keeper.wake(approvals=True)
        if channel is None:
            return
        if isinstance(event, SessionRewound):
            channel.known.events += 1
            channel.tell(Notice(action="session.rewound", payload={"turn_ids": event.turn_ids}))
        elif isinstance(event, QueueChanged):
            keeper.wake(queue=session_id)
        elif isinstance(event, SessionTouched):
            keeper.wake(touched=session_id)

    def _wake(self, event: AgentEvent) -> None:
        """What of it has to be read from the tables, and what an operator may want to know."""
        if isinstance(event, TurnStarted | TurnCompleted):
            status = event.status if isinstance(event, TurnCompleted) else "started"
            log.info("turn %s of session %s: %s", event.turn.turn_id, event.turn.session_id, status)
        keeper, session_id = self._hub.keeper, session_of(event)
        if isinstance(event, _CHANGES_ROW) and not isinstance(event, ToolOutput):
            keeper.wake(session=session_id)
        if isinstance(event, ApprovalRequested | ApprovalResolved | TurnCompleted):
            keeper.wake(approvals=True)

    def _turn(self, event: AgentEvent, turn: LiveTurn, channel: Channel) -> None:
        match event:
            case ToolOutput():
                place = {"turn_id": event.turn.turn_id, "call_id": event.call_id}
                channel.grow("session.tool.output", (event.type, event.call_id), place, event.text)
                self._hub.grow()
            case ToolEvent():
                channel.known.events += 1
                call = turn.calls[event.call_id]
                channel.tell(Notice(action="session.tool.updated", payload=call, key=("tool", event.call_id)))
                if isinstance(event, ApprovalRequested | ApprovalResolved):
                    self._hub.keeper.wake(turn=event.turn.session_id)
            case _:
                self._rest(event, channel)

    def _rest(self, event: AgentEvent, channel: Channel) -> None:
        channel.known.events += 1
        match event:
            case TurnStarted():
                channel.known.is_news(("turn", event.turn.turn_id, True), {})
                channel.tell(Notice(action="session.turn.started", payload=started_turn(event)))
                self._hub.keeper.wake(queue=event.turn.session_id)  # Its prompt waited for a moment.
            case TurnCompleted():
                channel.known.is_news(("turn", event.turn.turn_id, False), {})
                channel.tell(Notice(action="session.turn.completed", payload=completed_turn(event)))
                self._hub.keeper.wake(turn=event.turn.session_id)
            case MessageAdded():
                channel.known.is_news(("message", event.message_id), {})
                channel.tell(Notice(action="session.message.added", payload=_added(event)))
            case RetryScheduled():
                channel.tell(Notice(action="session.retry.scheduled", payload=retry_object(event), key="retry"))
            case TurnNotice():
                payload = {"turn_id": event.turn.turn_id, "level": event.level, "text": event.text}
                channel.tell(Notice(action="session.notice", payload=payload))
            case ContextUpdated():
                pass  # It is a part of the session's row.


def _added(event: MessageAdded) -> dict[str, object]:
    turn = event.turn
    place = {"session_id": turn.session_id, "turn_id": turn.turn_id, "ordinal": None, "created_at": event.at}
    return message_object(event.message_id, event.message, active=event.active, place=place)
