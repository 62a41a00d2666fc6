"""What `cos ask` prints: the reply on standard output and all else on standard error, or events as JSON lines."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from cos.agent.events import (
    ApprovalResolved,
    MessageAdded,
    MessageDelta,
    Notice,
    RetryScheduled,
    ToolFinished,
    ToolProposed,
    TurnCompleted,
)
from cos.agent.messages import AssistantMessage
from cos.agent.text import visible
from cos.core.answer_words import decided
from cos.core.event_json import event_object
from cos.core.live import PluginEvent

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.live import CoreEvent


CALL_RECORDED = "bill.call_recorded"


class AskOutput(Protocol):
    """One way to print a turn."""

    def progress(self, line: str) -> None: ...

    def session(self, session_id: UUID) -> None:
        """Told once, before the first event."""
        ...

    def event(self, event: CoreEvent) -> None: ...

    def reply(self, text: str) -> None:
        """A reply that no turn made: a hook took the message."""
        ...


class TurnCost:
    """Adds up what a plugin records of the session's calls. None = nobody does, or a call is unpriced."""

    def __init__(self) -> None:
        self.usd: Decimal | None = None
        self.made_up_usd = Decimal(0)
        """How much of it nobody pays: the demo's."""
        self._is_unpriced = False

    @property
    def words(self) -> str:
        if self.usd is None:
            return ""
        return f", ${self.usd:.4f}" + (" at the demo's made-up prices" if self.usd == self.made_up_usd > 0 else "")

    def see(self, event: CoreEvent) -> None:
        if not isinstance(event, PluginEvent) or event.type != CALL_RECORDED:
            return
        cost = getattr(event, "cost_usd", None)
        if cost is None or self._is_unpriced:
            self.usd, self._is_unpriced = None, True
        else:
            self.usd = cost + (self.usd or 0)
            self.made_up_usd += cost if getattr(event, "is_made_up", False) else 0


class JsonOutput:
    """One object a line on standard output; progress on standard error.

    `seq` counts the lines: the feed's own numbers have gaps where it merged pieces of text for a slow reader.
    """

    def __init__(self) -> None:
        self._lines = 0
        self._cost = TurnCost()

    def progress(self, line: str) -> None:
        print(visible(line), file=sys.stderr, flush=True)

    def session(self, session_id: UUID) -> None:
        """Every line names it."""

    def event(self, event: CoreEvent) -> None:
        self._lines += 1
        self._cost.see(event)
        data = event_object(self._lines, event)
        if isinstance(event, TurnCompleted):
            data["cost_usd"] = None if self._cost.usd is None else float(self._cost.usd)
            data["made_up_usd"] = float(self._cost.made_up_usd)
        print(json.dumps(data, ensure_ascii=False), flush=True)

    def reply(self, text: str) -> None:
        print(json.dumps({"type": "message.handled", "text": text}, ensure_ascii=False), flush=True)


class TextOutput:
    """The reply as it comes. On a terminal no control character of it is obeyed; into a pipe it goes unchanged."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._streamed = ""
        self._at_line_start = True
        self._cost = TurnCost()

    def progress(self, line: str) -> None:
        print(f"cos: {visible(line)}", file=sys.stderr, flush=True)

    def session(self, session_id: UUID) -> None:
        """Said at the end, where it is still on screen."""

    def event(self, event: CoreEvent) -> None:
        self._cost.see(event)
        if isinstance(event, MessageDelta):
            self._write(event.text)
            self._streamed += event.text
        elif isinstance(event, MessageAdded):
            self._message_ended(event)
        elif isinstance(event, TurnCompleted):
            self._turn_ended(event)
        else:
            line = _line(event)
            if line is not None:
                # Both streams end up on one screen; in a pipe the reply may go on in the middle of a line.
                if self._is_terminal:
                    self._start_line()
                self.progress(line)

    def reply(self, text: str) -> None:
        self._write(text)
        self._start_line()

    def _message_ended(self, event: MessageAdded) -> None:
        if isinstance(event.message, AssistantMessage):
            if event.message.text and event.message.text != self._streamed and event.active:
                self._start_line()
                self._write(event.message.text)
            self._start_line()
            if event.message.partial:
                self.progress("the reply above is incomplete")
            self._streamed = ""

    def _turn_ended(self, event: TurnCompleted) -> None:
        self._start_line()
        if event.error:
            self.progress(event.error)
        elif event.status.value != "completed":
            self.progress(f"the turn was {event.status.value}")
        self.progress(f"session {event.turn.session_id}, {_tokens(event)}{self._cost.words}")

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(visible(text) if self._is_terminal else text)
            sys.stdout.flush()
            self._at_line_start = text.endswith("\n")

    def _start_line(self) -> None:
        if not self._at_line_start:
            self._write("\n")


def _line(event: CoreEvent) -> str | None:
    if isinstance(event, ToolProposed):
        return f"{event.name}: {event.title}"
    if isinstance(event, ToolFinished):
        seconds = "" if event.record.duration_ms is None else f" after {event.record.duration_ms / 1000:.1f} s"
        return f"{event.name}: {event.record.status.value.replace('_', ' ')}{seconds}"
    if isinstance(event, ApprovalResolved):
        return f"{event.name}: {decided(event.answer)}"
    if isinstance(event, RetryScheduled):
        return f"{event.reason}; attempt {event.attempt + 1} of {event.max_attempts} in {event.delay_seconds:.1f} s"
    return event.text if isinstance(event, Notice) else None


def _tokens(event: TurnCompleted) -> str:
    prompt, output = event.usage.prompt_tokens, event.usage.output_tokens
    at_least = "at least " if event.usage.is_partial else ""
    counts = ((prompt, "in", ""), (output, "out", at_least))
    known = [f"{words}{count:,} tokens {way}" for count, way, words in counts if count is not None]
    return ", ".join(known) or "tokens unknown"
