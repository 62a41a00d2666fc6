"""The turn loop: `run_turn` → step (one model call) → its tool calls → … until the agent rests.

It knows no storage, no screen and no API: the journal, the hooks, the approver and the provider are handed in, and
everything that happens leaves as events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from cos.agent.calls import CallRunner
from cos.agent.cancellation import CancelToken, uninterrupted
from cos.agent.compaction import COMPACT_AT, WINDOW_EXCEEDED, Compactor
from cos.agent.errors import CosError, TurnCancelled, TurnStopped
from cos.agent.events import AgentEvent, MessageAdded, Notice, TurnStarted, Usage
from cos.agent.ids import new_id
from cos.agent.messages import Message, UserMessage, stored_form
from cos.agent.outcomes import TurnOutcome, turn_completed
from cos.agent.provider import ContextTooLong
from cos.agent.records import TurnStatus
from cos.agent.replies import Received, explanation, is_blank, received
from cos.agent.retry import RetryPolicy
from cos.agent.steering import take_steers
from cos.agent.step import ModelCaller
from cos.agent.text import storable
from cos.agent.turn_hooks import fire_beginning, fire_endings, transformed
from cos.agent.turn_state import CallState, TurnState

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.approver import Approver
    from cos.agent.hooks import HookBus
    from cos.agent.identity import TurnInfo
    from cos.agent.images import Blobs
    from cos.agent.journal import Journal
    from cos.agent.provider import ModelReply, Provider
    from cos.agent.session_context import SessionContext
    from cos.agent.steering import SteerSource

log = logging.getLogger("cos.agent")

MAX_STEPS: Final = 90
_FRUITLESS_STEPS: Final = 5
_PAUSES: Final = 5
_NUDGE: Final = "Your last reply was empty. Please continue with the task or give your answer in words."
_LIMIT: Final = (
    "The limit of {steps} steps for this turn is reached and no more tools can be called. Sum up what is done, what is "
    "open, and what the next step would be."
)


class TurnFailed(CosError):
    """The turn cannot go on; the message is for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """The limits of a profile's turns."""

    max_steps: int = MAX_STEPS
    compact_at: float = COMPACT_AT
    """Share of the model's window at which a conversation is compacted; 0 = never."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInputs:
    """What comes into a turn besides its history."""

    steers: SteerSource | None = None
    """None = nothing is said into a running turn."""
    blobs: Blobs | None = None
    """The pictures that messages name; without it the model is told that it cannot see them."""


class Agent:
    """CommonAgent: one per profile, shared by all its sessions."""

    def __init__(
        self,
        *,
        provider: Provider,
        hooks: HookBus,
        journal: Journal,
        approver: Approver,
        publish: Callable[[AgentEvent], None],
        options: AgentOptions | None = None,
        inputs: TurnInputs | None = None,
    ) -> None:
        self._hooks = hooks
        self._journal = journal
        self._publish = publish
        self._options, inputs = options or AgentOptions(), inputs or TurnInputs()
        self._model = ModelCaller(provider, hooks, journal, approver, self._options.retry, inputs.blobs)
        self._compactor = Compactor(self._model, journal, self._options.compact_at)
        self._steers = inputs.steers
        self._calls = CallRunner(hooks, journal, approver)

    async def run_turn(
        self, turn: TurnInfo, prompt: UserMessage, session: SessionContext, cancel: CancelToken | None = None
    ) -> TurnOutcome:
        """Open a turn and run it to its end."""
        return await self.run(await self.open(turn, prompt, session, cancel or CancelToken()))

    async def compact(
        self, turn: TurnInfo, session: SessionContext, instructions: str | None, cancel: CancelToken
    ) -> TurnOutcome:
        """A turn that only replaces the session's conversation by a summary; a failed one changes nothing."""
        return await self.run(await self.open_compaction(turn, session, instructions, cancel))

    async def open(
        self,
        turn: TurnInfo,
        prompt: UserMessage,
        session: SessionContext,
        cancel: CancelToken,
        *,
        prompt_id: UUID | None = None,
    ) -> TurnState:
        """Make the turn and its prompt durable. A prompt with `prompt_id` waits in the session's queue until then.

        Raises:
            TurnBusyError: the session has an open turn.
            AlreadyAcceptedError: the prompt `prompt_id` has its turn already.
            NotWaitingError: the prompt `prompt_id` was changed, was removed or has become a prompt.
        """
        kept = stored_form(prompt)
        assert isinstance(kept, UserMessage)
        state = TurnState(
            turn=turn, session=session, prompt=kept, cancel=cancel, publish=self._publish, meter=session.meter
        )
        state.prompt_id = prompt_id or state.prompt_id
        state.futile = session.meter.futile if session.meter else 0
        state.started_at = await self._journal.start_turn(
            turn, kept, message_id=state.prompt_id, from_queue=prompt_id is not None
        )
        self._publish(TurnStarted(turn=turn, started_at=state.started_at))
        self._publish(MessageAdded(turn=turn, message_id=state.prompt_id, message=kept))
        return state

    async def open_compaction(
        self, turn: TurnInfo, session: SessionContext, instructions: str | None, cancel: CancelToken
    ) -> TurnState:
        """As `open`, for a turn that only compacts: it has no prompt.

        Raises:
            TurnBusyError: the session has an open turn.
        """
        state = TurnState(
            turn=turn, session=session, prompt=None, cancel=cancel, publish=self._publish, instructions=instructions
        )
        state.started_at = await self._journal.start_turn(turn)
        self._publish(TurnStarted(turn=turn, started_at=state.started_at))
        return state

    async def run(self, state: TurnState) -> TurnOutcome:
        """Run an opened turn. Every way out, cancellation included, closes it in the journal first."""
        status, error = TurnStatus.CANCELLED, None
        try:
            await (self._converse(state) if state.prompt else self._compactor.by_hand(state))
            status = TurnStatus.COMPLETED
        except TurnCancelled:
            state.stop_reason = "cancelled"
        except asyncio.CancelledError:
            state.stop_reason = "cancelled"
            raise
        except TurnStopped as failure:
            state.stop_reason, status, error = failure.stop_reason, TurnStatus.FAILED, str(failure)
        except CosError as failure:
            status, error = TurnStatus.FAILED, str(failure)
        except Exception as failure:
            log.exception("turn %s failed", state.turn.turn_id)
            status, error = TurnStatus.FAILED, f"internal error ({type(failure).__name__}: {failure}); see the log"
        finally:
            outcome = await uninterrupted(self._close(state, status, error))
        return outcome

    async def _converse(self, state: TurnState) -> None:
        state.history = list(await self._journal.load_history(state.turn.session_id))
        state.begins_at = len(state.history) - 1
        await state.cancel.guard(self._begin(state))
        await take_steers(self._steers, state)
        pauses = 0
        for steps_left in reversed(range(self._options.max_steps)):
            await self._compactor.at_boundary(state)
            reply = await self._step(state)
            # Without a step left nobody could answer it: then it waits for its own turn.
            steers = self._steers if steps_left else None
            if state.calls:
                await self._calls.answer(state)
                self._count_fruitless(state)
                state.calls = []
                await take_steers(steers, state)
            elif reply.stop_reason == "pause_turn" and pauses < _PAUSES:
                pauses += 1
            elif not await self._goes_on(state, reply, steers):
                return
        await self._say_for_the_model(state, _LIMIT.format(steps=self._options.max_steps))
        self._notice(state, f"The limit of {self._options.max_steps} steps is reached; asking for a summary.")
        await self._step(state, allow_tools=False)
        state.stop_reason = "max_steps"

    async def _begin(self, state: TurnState) -> None:
        added = await fire_beginning(self._hooks, state)
        if added:
            assert state.prompt is not None
            context = f"{state.prompt.context}\n\n{added}" if state.prompt.context else added
            await self._journal.annotate_prompt(state.turn, state.prompt_id, context)
            state.prompt = state.prompt.model_copy(update={"context": storable(context)})
            state.history = [*state.history[:-1], state.prompt]

    async def _step(self, state: TurnState, *, allow_tools: bool = True) -> ModelReply:
        """One model call; its message is in the journal before any of its tool calls runs."""
        state.cancel.check()
        reply = await self._reply(state, allow_tools=allow_tools)
        taken = received(reply, await self._used_ids(state, reply), state.session.prompt.model)
        is_last = not taken.message.tool_calls and reply.stop_reason != "pause_turn"
        if is_last and taken.message.text:
            taken = replace(taken, message=await transformed(self._hooks, state, taken.message))
        await uninterrupted(self._keep(state, reply, taken))
        said = explanation(reply)
        if said and not state.calls:
            self._notice(state, said, "warning")
        return reply

    async def _used_ids(self, state: TurnState, reply: ModelReply) -> set[str]:
        if state.call_ids is None:
            if not reply.calls:
                return set()
            state.call_ids = await self._journal.call_ids(state.turn.session_id)
        return state.call_ids

    async def _reply(self, state: TurnState, *, allow_tools: bool) -> ModelReply:
        """The model's reply; a conversation that does not fit its window is compacted and sent again."""
        try:
            reply = await self._model.call(state, allow_tools=allow_tools)
            self._compactor.count_saving(state, reply.usage)
            return reply
        except ContextTooLong as error:
            await uninterrupted(self._keep_shown(state, active=False))
            state.open_reply = None
            await self._compactor.make_room(state, error)
        return await self._reply(state, allow_tools=allow_tools)

    async def _keep(self, state: TurnState, reply: ModelReply, taken: Received) -> None:
        """Cut short, it would leave a stored reply that is stored again, or calls that nobody answers."""
        assert state.open_reply is not None
        state.stop_reason = reply.stop_reason
        if is_blank(taken.message):
            await self._keep_shown(state, active=False)
        else:
            await self._append(state, taken.message, state.open_reply.message_id)
        state.open_reply = None
        state.text = taken.message.text or ""
        state.had_output = state.had_output or not is_blank(taken.message)
        state.changed_in_step = False
        state.calls = [CallState(call, taken.refusals.get(call.id)) for call in taken.message.tool_calls]

    async def _keep_shown(self, state: TurnState, *, active: bool) -> None:
        """Keep what is on screen of a reply that has no message yet. Thinking alone is never sent back."""
        partial = state.open_reply.partial_message() if state.open_reply else None
        if state.open_reply is None or partial is None:
            return
        await self._append(state, partial, state.open_reply.message_id, active=active and partial.text is not None)
        if partial.text is not None:
            state.had_output, state.text = True, partial.text

    async def _append(
        self, state: TurnState, message: Message, message_id: UUID | None = None, *, active: bool = True
    ) -> None:
        message_id = message_id or new_id()
        # More may be used before the turn says at its end what it was.
        usage = replace(state.usage, is_partial=True) if state.usage != Usage() else None
        await self._journal.append_message(
            state.turn, message, message_id=message_id, active=active, meter=state.meter, usage=usage
        )
        if active:
            state.history.append(message)
        state.publish(MessageAdded(turn=state.turn, message_id=message_id, message=message, active=active))

    async def _say_for_the_model(self, state: TurnState, text: str) -> None:
        await self._append(state, UserMessage(text=text, origin="loop"))

    async def _goes_on(self, state: TurnState, reply: ModelReply, steers: SteerSource | None) -> bool:
        """Whether a reply without tool calls is not the turn's end."""
        return (
            await self._compactor.after_full_reply(state, reply)
            or await take_steers(steers, state)
            or await self._needs_nudge(state, reply)
        )

    async def _needs_nudge(self, state: TurnState, reply: ModelReply) -> bool:
        """Whether the turn goes on because the reply was empty: once, then the turn says so honestly."""
        if state.text or reply.stop_reason in {"refusal", "max_tokens", WINDOW_EXCEEDED}:
            return False
        if state.nudged:
            self._notice(state, "The model returned nothing.", "warning")
            return False
        state.nudged = True
        await self._say_for_the_model(state, _NUDGE)
        return True

    def _count_fruitless(self, state: TurnState) -> None:
        known = state.session.tools
        is_fruitless = all(known.get(call.call.name) is None for call in state.calls)
        state.fruitless_steps = state.fruitless_steps + 1 if is_fruitless else 0
        if state.fruitless_steps >= _FRUITLESS_STEPS:
            raise TurnFailed(f"The model called tools that do not exist in {_FRUITLESS_STEPS} steps in a row.")

    def _notice(self, state: TurnState, text: str, level: str = "info") -> None:
        state.publish(Notice(turn=state.turn, level="warning" if level == "warning" else "info", text=text))

    async def _close(self, state: TurnState, status: TurnStatus, error: str | None) -> TurnOutcome:
        """Leave the session valid: what was shown is kept, every call has its result, the turn has its end."""
        try:
            await self._keep_shown(state, active=True)
            await self._calls.settle(state)
        except Exception as failure:
            # The journal answers what is left when it closes the turn.
            log.exception("turn %s could not be settled", state.turn.turn_id)
            status, error = TurnStatus.FAILED, error or f"the end of this turn could not be stored ({failure})"
        end = await self._journal.finish_turn(
            state.turn, status, stop_reason=state.stop_reason, error=error, usage=state.usage, meter=state.meter
        )
        outcome = TurnOutcome(
            status=status, text=state.text, stop_reason=state.stop_reason, error=error, usage=state.usage,
            denied_calls=state.denied_calls, model_calls=state.model_calls,
        )  # fmt: skip
        await fire_endings(self._hooks, state, status)
        self._publish(turn_completed(state, outcome, end))
        return outcome
