"""Every conversation that this app has met, kept up to date whether it is on screen or not."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent import events
from cos.tui import wording
from cos.tui.conversation import Conversation
from cos.tui.live_events import apply_event, retry_text
from cos.tui.turn_time import TurnClock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from cos.agent.events import AgentEvent
    from cos.core.sessions import TurnRow


KEPT_UNUSED = 20
"""Conversations that stay though nothing happens in them and nobody looks at them."""


@dataclass(slots=True)
class _Retry:
    """A wait before the next attempt of a model call."""

    event: events.RetryScheduled
    until: float
    """On the monotonic clock."""

    @property
    def key(self) -> str:
        return f"retry:{self.event.turn.turn_id}:{self.event.at.timestamp()}"


class Conversations:
    """By session id. Counts what counts time: running turns and waits before another attempt."""

    def __init__(self) -> None:
        self._known: dict[UUID, Conversation] = {}
        self._started: set[UUID] = set()
        """Sessions whose turn runs here."""
        self._clocks: dict[UUID, TurnClock] = {}
        """Of running turns, here and elsewhere."""
        self._ended: dict[UUID, UUID] = {}
        """By session: the turn whose end was heard last. What was read from the tables before that is older."""
        self._retries: dict[UUID, _Retry] = {}

    def of(self, session_id: UUID) -> Conversation:
        """The conversation, which was now used last of all."""
        conversation = self._known.pop(session_id, None) or Conversation(session_id)
        self._known[session_id] = conversation
        return conversation

    def forget_unused(self) -> None:
        """Keep the text of those that run or are on screen, and of a few others; the rest is read again when needed."""
        unused = [key for key, one in self._known.items() if key not in self._started and not one.is_on_screen]
        if len(unused) > KEPT_UNUSED:
            self.forget(*unused[:-KEPT_UNUSED])

    def forget(self, *sessions: UUID) -> None:
        """Events of these sessions (none = of all) were missed: what the tables say counts from here on.

        Turns that run are still known to run.
        """
        for session_id in sessions or tuple(self._known):
            conversation = self._known.pop(session_id, None)
            if conversation is not None:
                conversation.hide()
            self._retries.pop(session_id, None)
            self._clocks.pop(session_id, None)

    def forget_resting(self, keep: Collection[UUID | None]) -> None:
        """As `forget`, for all sessions without a turn here but those that are kept."""
        resting = [session_id for session_id in self._known if session_id not in self._started | {*keep}]
        if resting:
            self.forget(*resting)

    def begin(self, session_id: UUID, turns: Iterable[TurnRow]) -> None:
        """Count the time of what runs among stored turns, unless it is counted already."""
        for turn in turns:
            if turn.completed_at is None and turn.id != self._ended.get(session_id):
                self._clocks.setdefault(session_id, TurnClock.of(turn))

    def begin_again(self, session_id: UUID, turns: Iterable[TurnRow]) -> None:
        """As `begin`, for turns that were read again: what another process runs has perhaps ended."""
        self._clocks.pop(session_id, None)
        self.begin(session_id, turns)

    def rewind(self, session_id: UUID, turn_ids: Iterable[UUID]) -> None:
        """Leave these turns out."""
        self.of(session_id).remove_turns(f"turn:{turn_id}" for turn_id in turn_ids)

    def is_running(self, session_id: UUID) -> bool:
        """Here or elsewhere, as far as it is known here."""
        return session_id in self._started or session_id in self._clocks

    def running_turn(self, session_id: UUID) -> UUID | None:
        """As `is_running`."""
        clock = self._clocks.get(session_id)
        return clock.turn_id if clock else None

    @property
    def running(self) -> int:
        """How many turns run here."""
        return len(self._started)

    def take(self, event: AgentEvent) -> None:
        """Show what happened in its conversation."""
        session_id = event.turn.session_id
        conversation = self.of(session_id)
        if session_id in self._retries:
            self._end_retry(conversation)
        if isinstance(event, events.TurnStarted):
            self._started.add(session_id)
            self._clocks[session_id] = TurnClock(event.turn.turn_id, event.started_at)
        elif isinstance(event, events.TurnCompleted):
            self._started.discard(session_id)
            self._clocks.pop(session_id, None)
            self._ended[session_id] = event.turn.turn_id
            self.forget_unused()
        elif session_id in self._clocks:
            self._count_waiting(self._clocks[session_id], event)
        if isinstance(event, events.RetryScheduled):
            self._begin_retry(conversation, event)
        else:
            apply_event(conversation, event)

    def retry_note(self, session_id: UUID) -> str:
        """How long the session waits before another attempt, empty when it does not."""
        retry = self._retries.get(session_id)
        return f"retry in {max(0, math.ceil(retry.until - time.monotonic()))} s" if retry else ""

    def tick(self, session_id: UUID) -> None:
        """Once a second, for the session on screen."""
        conversation = self.of(session_id)
        clock, retry = self._clocks.get(session_id), self._retries.get(session_id)
        if clock is not None:
            conversation.header(clock.turn_id, clock.header(wording.now()))
        if retry is not None:
            conversation.change(retry.key, text=retry_text(retry.event, retry.until - time.monotonic()))

    def _count_waiting(self, clock: TurnClock, event: AgentEvent) -> None:
        if isinstance(event, events.ApprovalRequested):
            clock.asked(event.approval_id, event.requested_at)
        elif isinstance(event, events.ApprovalResolved):
            clock.answered(event.approval_id, event.at)

    def _begin_retry(self, conversation: Conversation, event: events.RetryScheduled) -> None:
        retry = _Retry(event, time.monotonic() + event.delay_seconds)
        self._retries[conversation.session_id] = retry
        conversation.notice(
            "warning", retry_text(event, event.delay_seconds), f"turn:{event.turn.turn_id}", key=retry.key
        )

    def _end_retry(self, conversation: Conversation) -> None:
        """The wait is over: what remains on screen is why there was one."""
        retry = self._retries.pop(conversation.session_id)
        event = retry.event
        conversation.change(retry.key, text=f"{event.reason} (attempt {event.attempt} of {event.max_attempts})")
