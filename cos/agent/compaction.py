"""Compaction: a conversation that fills the model's window is replaced by a summary that the model itself writes.

It happens between steps only, so never between a call and its result. Until the summary is whole nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from cos.agent.cancellation import uninterrupted
from cos.agent.errors import CosError
from cos.agent.events import MessageAdded, Notice, Usage
from cos.agent.ids import new_id
from cos.agent.messages import (
    Compaction,
    Message,
    ToolResultMessage,
    UserMessage,
    json_text,
    stored_form,
)
from cos.agent.provider import ContextTooLong, ModelReply, ProviderError
from cos.agent.results import clipped
from cos.agent.shown_reply import UnseenReply

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.journal import Journal
    from cos.agent.step import ModelCaller
    from cos.agent.turn_state import TurnState

COMPACT_AT: Final = 0.8
WINDOW_EXCEEDED: Final = "model_context_window_exceeded"
NOTHING: Final = "there is nothing to compact in this session yet"

_FEWEST: Final = 2
_FEWEST_SINCE_SUMMARY: Final = 6
"""Before the meter alone is a reason to compact again: a prompt that is large by itself must not do it at each step."""
LITTLE: Final = 0.1
"""A pass that saved less than this share of the tokens was futile."""
MOST_FUTILE: Final = 2
"""After so many futile passes in a row the meter alone is no reason to compact any more."""
_CUTS: Final = ((4_000, 1.0), (1_000, 0.5), (400, 0.25))
"""For a conversation that does not even fit with the request for its summary: the longest text kept of each message, in
characters, and the share of the newest messages."""
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})

_ASK: Final = """\
This conversation has become too long to be sent as it is. Write a summary that takes its place: you will go on from \
the summary alone, and see none of the messages above again. Put into it all that is needed for that: what the user \
wants, in their own words where these matter; what was decided, and why; what was done, with names of files, \
commands, addresses and figures; results that are still needed; what failed, and why; what is open, and what comes \
next. Leave out what no longer matters. Write it in the language of the conversation. Call no tool and do not go on \
with the task: answer with the summary and nothing else."""
_WISH: Final = "\n\nThe user asks for this in the summary: {instructions}"
_LEFT_OUT: Final = "(The beginning of the conversation does not fit and is left out here. Long texts are cut.)"
_SUMMARY: Final = "The conversation up to here was compacted. This summary of it was written by you:\n\n{summary}"
_IN_TURN: Final = (
    "\n\nYou are in the middle of a turn: go on with it. What the user asked for, word for word:\n\n{words}"
)
_FUTILE: Final = (
    f"Compacting this session saved less than {LITTLE:.0%} {MOST_FUTILE} times in a row, so cos does not do it by "
    "itself any more. /compact does it once, and /new begins a session with an empty history."
)
_REFUSED: Final = {
    "max_tokens": "the summary was cut off at the output limit",
    "refusal": "the model refused to write a summary",
    "pause_turn": "the model paused in the middle of the summary",
}


class CompactionFailed(CosError):
    """No summary came about; the conversation is as it was."""


class Compactor:
    """Compacts the sessions of one profile. `compact_at`: the share of the window at which it does so by itself."""

    def __init__(self, model: ModelCaller, journal: Journal, compact_at: float) -> None:
        self._model = model
        self._journal = journal
        self._compact_at = compact_at

    async def at_boundary(self, state: TurnState) -> None:
        """Compact if the meter stands beyond the threshold. A failure is said, and the turn goes on as it was."""
        if not self._is_due(state):
            return
        percent = state.meter.percent if state.meter else None
        _notice(state, f"The context is {percent}% full: the model sums the conversation up.")
        try:
            await self._compact(state)
        except (CompactionFailed, ProviderError) as error:
            state.compaction_failed = True
            _notice(state, f"Not compacted, the turn goes on as it was: {error}", is_warning=True)

    def count_saving(self, state: TurnState, usage: Usage) -> None:
        """After a step's model call: was the compaction before it worth it, by the provider's own count?"""
        if state.meter is None:
            return
        if state.compacted_from is not None:
            left = usage.prompt_tokens or 0
            state.futile = state.futile + 1 if left > (1 - LITTLE) * state.compacted_from else 0
            state.compacted_from = None
            if state.futile == MOST_FUTILE:
                _notice(state, _FUTILE, is_warning=True)
        state.meter = replace(state.meter, futile=state.futile)

    async def make_room(self, state: TurnState, error: ContextTooLong) -> None:
        """Compact because the conversation does not fit the window.

        Raises:
            ContextTooLong, CompactionFailed: it cannot be helped; the turn ends with this sentence.
            ProviderError: the model call for the summary failed.
        """
        if self._compact_at and _replaceable(state.history) >= _FEWEST:
            _notice(state, "The conversation does not fit the model's window: the model sums it up.")
            try:
                await self._compact(state)
            except (CompactionFailed, ContextTooLong) as failure:
                raise CompactionFailed(f"{error}. It could not be compacted either: {failure}") from failure
        elif _is_summary(state.history[0]):
            raise CompactionFailed(f"{error}, although it was compacted. Ask for less at once, or begin a new session")
        else:
            raise error

    async def after_full_reply(self, state: TurnState, reply: ModelReply) -> bool:
        """Whether the turn goes on, compacted, because the window was full in the middle of the reply.

        Raises: as `make_room`.
        """
        if reply.stop_reason != WINDOW_EXCEEDED or not self._compact_at:
            return False
        await self.make_room(state, ContextTooLong("the reply filled the model's window and is cut off"))
        return True

    async def by_hand(self, state: TurnState) -> None:
        """A whole turn that only compacts.

        Raises:
            CompactionFailed, ProviderError: nothing is changed.
        """
        state.history = list(await self._journal.load_history(state.turn.session_id))
        if not is_worth_it(state.history):
            raise CompactionFailed(NOTHING)
        try:
            await self._compact(state)
        except CompactionFailed as error:
            raise CompactionFailed(f"The session is not compacted and as it was: {error}") from error
        state.stop_reason = "compacted"

    def _is_due(self, state: TurnState) -> bool:
        share = state.meter.share if state.meter else None
        if not self._compact_at or share is None or share < self._compact_at or state.compaction_failed:
            return False
        if state.futile >= MOST_FUTILE:
            return False
        fewest = _FEWEST_SINCE_SUMMARY if _is_summary(state.history[0]) else _FEWEST
        return _replaceable(state.history) >= fewest

    async def _compact(self, state: TurnState) -> None:
        state.cancel.check()
        before = state.meter.used if state.meter else 0
        reply = await self._summary(state)
        await uninterrupted(self._replace(state, _summary_message(state, reply), new_id(), reply.model))
        # The request for the summary may have been shortened; the last one before it says nothing of what came since.
        state.compacted_from = max(before, reply.usage.prompt_tokens or 0) or None

    async def _replace(self, state: TurnState, summary: UserMessage, message_id: UUID, model: str) -> None:
        """Cut short, it would leave a history in memory that is not the one in the journal."""
        await self._journal.compact(state.turn, summary, message_id=message_id)
        state.steered = _steered(state)
        state.history, state.begins_at = [summary], 0
        state.publish(MessageAdded(turn=state.turn, message_id=message_id, message=summary))
        self._model.tell_context(state, model, Usage())

    async def _summary(self, state: TurnState) -> ModelReply:
        """The model's summary of the whole conversation, or, where that does not fit either, of what does."""
        ask = _ASK + (_WISH.format(instructions=state.instructions) if state.instructions else "")
        error: ProviderError = ContextTooLong("the model's window is too small for a summary")
        for messages in _ever_shorter(state.history):
            try:
                reply = await self._asked(state, [*messages, UserMessage(text=ask, origin="compaction")])
            except ContextTooLong as failure:
                error = failure
                continue
            if reply.stop_reason != WINDOW_EXCEEDED:
                return _checked(reply)
        raise error

    async def _asked(self, state: TurnState, messages: Sequence[Message]) -> ModelReply:
        """The request is the one of a step, so that the cache holds; only a model that calls tools is told not to."""
        request = await self._model.request(state, messages)
        reply = await self._model.reply_to(request, state, UnseenReply())
        if reply.calls:
            request = await self._model.request(state, messages, allow_tools=False)
            reply = await self._model.reply_to(request, state, UnseenReply())
        return reply


def is_worth_it(history: Sequence[Message]) -> bool:
    """Whether a summary would take the place of more than one message."""
    return _replaceable(history) >= _FEWEST


def _replaceable(history: Sequence[Message]) -> int:
    """Messages that no summary stands for yet."""
    return len(history) - (1 if history and _is_summary(history[0]) else 0)


def _is_summary(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.compaction is not None


def _checked(reply: ModelReply) -> ModelReply:
    reason = _REFUSED.get(reply.stop_reason or "")
    if reason is None and reply.calls:
        reason = "the model called tools instead of writing a summary"
    if reason is None and not reply.text.strip():
        reason = "the summary was empty"
    if reason is not None:
        raise CompactionFailed(reason)
    return reply


def _steered(state: TurnState) -> list[UserMessage]:
    """What was said into this turn so far, also before an earlier summary."""
    since = state.history[state.begins_at + 1 :]
    return [*state.steered, *(m for m in since if isinstance(m, UserMessage) and m.origin == "steered")]


def _summary_message(state: TurnState, reply: ModelReply) -> UserMessage:
    """The summary, and in the middle of a turn all that the user said in it: that is never left to a summary."""
    said = [*([state.prompt] if state.prompt else []), *_steered(state)]
    text = _SUMMARY.format(summary=reply.text.strip())
    if said:
        text += _IN_TURN.format(words="\n\n".join(message.text for message in said))
    # A count that includes thinking says nothing about the length of the summary.
    is_exact = all(block.get("type") not in _THINKING for block in reply.blocks)
    message = stored_form(
        UserMessage(
            text=text,
            parts=[part for message in said for part in message.parts],
            context="\n\n".join(message.context for message in said if message.context) or None,
            origin="compaction",
            compaction=Compaction(messages=len(state.history), tokens=reply.usage.output_tokens if is_exact else None),
        )
    )
    assert isinstance(message, UserMessage)
    return message


def _ever_shorter(history: Sequence[Message]) -> Iterator[Sequence[Message]]:
    yield history
    for longest, share in _CUTS:
        kept = list(history[-max(1, round(len(history) * share)) :])
        while kept and isinstance(kept[0], ToolResultMessage):
            kept.pop(0)  # Its call is left out.
        if kept:
            yield [UserMessage(text=_LEFT_OUT, origin="compaction"), *(_cut(message, longest) for message in kept)]


def _cut(message: Message, longest: int) -> Message:
    """A message with its long texts cut, and without the provider's blocks: earlier bytes have changed."""
    if isinstance(message, ToolResultMessage):
        return message.model_copy(update={"content": clipped(message.content, longest)})
    if isinstance(message, UserMessage):
        context = clipped(message.context, longest) if message.context else None
        return message.model_copy(update={"text": clipped(message.text, longest), "context": context})
    calls = [call.model_copy(update={"args": _cut_args(call.args, longest)}) for call in message.tool_calls]
    text = clipped(message.text, longest) if message.text else None
    return message.model_copy(update={"text": text, "tool_calls": calls, "blocks": []})


def _cut_args(args: dict[str, object], longest: int) -> dict[str, object]:
    text = json_text(args)
    return args if len(text) <= longest else {"arguments": clipped(text, longest)}


def _notice(state: TurnState, text: str, *, is_warning: bool = False) -> None:
    state.publish(Notice(turn=state.turn, level="warning" if is_warning else "info", text=text))
