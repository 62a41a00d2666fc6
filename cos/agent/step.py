"""One model call with its retries: streams the provider, publishes deltas, and survives a bad connection in sight."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from cos.agent.approver import ApprovalRequest, Approver
from cos.agent.errors import CosError, TurnCancelled, TurnStopped
from cos.agent.events import ContextUpdated, RetryScheduled, Usage
from cos.agent.hook_rules import first_action
from cos.agent.images import images_of
from cos.agent.provider import (
    ModelReply,
    ModelRequest,
    ModelStream,
    Provider,
    ProviderError,
    ProviderUnavailable,
    TextChunk,
    ThinkingChunk,
)
from cos.agent.shown_reply import ShownReply, UnseenReply
from cos.agent.tools import CallDescription

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.agent.hooks import HookBus
    from cos.agent.identity import TurnInfo
    from cos.agent.images import Blobs
    from cos.agent.journal import Journal
    from cos.agent.messages import Message
    from cos.agent.retry import RetryPolicy
    from cos.agent.turn_state import TurnState

_LENIENCE: Final = 0.05
"""Part of the time of silence that may come on top: the clock is not set back with each of thousands of pieces."""
_BREATH_SECONDS: Final = 0.002
"""How long a stream that is there already is read on before everything else, such as a key, has its turn."""


@dataclass(slots=True)
class _Attempt:
    """One try of a model call, kept in view so that a failure still knows what had arrived."""

    number: int
    arguments: dict[str, Any]
    began: float = field(default_factory=time.monotonic)
    first_token_seconds: float | None = None
    stream: ModelStream | None = None

    @property
    def reply(self) -> ModelReply:
        return self.stream.reply() if self.stream else ModelReply()

    def begin_again(self) -> None:
        """Before the request has left: what it waited for the user is no part of its time."""
        self.began = time.monotonic()
        self.arguments = self.arguments | {"started_at": datetime.now(UTC)}

    def ending(self) -> dict[str, Any]:
        return self.arguments | {
            "ended_at": datetime.now(UTC),
            "api_duration": time.monotonic() - self.began,
            "first_token_seconds": self.first_token_seconds,
        }


class ModelCaller:
    """Makes the model calls of one profile's turns."""

    def __init__(
        self,
        provider: Provider,
        hooks: HookBus,
        journal: Journal,
        approver: Approver,
        retry: RetryPolicy,
        blobs: Blobs | None = None,
    ) -> None:
        self._provider = provider
        self._blobs = blobs
        self._hooks = hooks
        self._journal = journal
        self._approver = approver
        self._retry = retry

    async def call(self, state: TurnState, *, allow_tools: bool = True) -> ModelReply:
        """The complete reply to the conversation so far; `state.open_reply` holds what of it is on screen.

        Raises:
            ProviderError: the last attempt failed, or the first in a way that another attempt cannot mend.
            TurnCancelled: the turn's token was set.
            TurnStopped: a plugin does not let the request out.
        """
        request = await self.request(state, state.history, allow_tools=allow_tools)
        state.open_reply = ShownReply(state.turn, self._journal, state.publish)
        return await self.reply_to(request, state, state.open_reply)

    async def reply_to(self, request: ModelRequest, state: TurnState, shown: ShownReply | UnseenReply) -> ModelReply:
        """As `call`, for any request; what arrives of the reply goes to `shown`."""
        for number in range(1, self._retry.max_attempts + 1):
            shown.begin_attempt()
            state.model_calls += 1
            attempt = _Attempt(number, self._attempt_arguments(state, request) | {"attempt": number})
            try:
                await state.cancel.guard(self._let_out(state.turn, attempt))
                await state.cancel.guard(self._stream(shown, request, attempt))
            except ProviderUnavailable as error:
                await self._failed(state, attempt, error)
                if number == self._retry.max_attempts:
                    raise
                await self._wait(state, number, error)
            except (CosError, asyncio.CancelledError) as error:
                await self._failed(state, attempt, error)
                raise
            else:
                return await self._succeeded(state, shown, attempt)
        raise AssertionError("the range of attempts is never empty")

    async def request(self, state: TurnState, messages: Sequence[Message], *, allow_tools: bool = True) -> ModelRequest:
        """The turn's request with these messages, and the pictures that they name."""
        prompt = state.session.prompt
        images = await images_of(messages, self._blobs if self._provider.takes_images(prompt.model) else None)
        return ModelRequest(prompt=prompt, messages=tuple(messages), allow_tools=allow_tools, images=images)

    async def _succeeded(self, state: TurnState, shown: ShownReply | UnseenReply, attempt: _Attempt) -> ModelReply:
        reply = attempt.reply
        state.usage += reply.usage
        # First, so that a journal that fails now does not leave the attempt without its end.
        await self._hooks.fire(
            "post_api_request",
            **attempt.ending(),
            finish_reason=reply.stop_reason,
            response_model=reply.model,
            usage=reply.usage,
            assistant_tool_call_count=len(reply.calls),
        )
        await shown.end_attempt()
        self.tell_context(state, reply.model, reply.usage)
        return reply

    def tell_context(self, state: TurnState, model: str, usage: Usage) -> None:
        """Set the context meter by what the newest model call used; nothing used = nobody knows."""
        window = self._provider.context_window(state.session.prompt.model)
        event = ContextUpdated(turn=state.turn, model=model, usage=usage, context_window=window)
        state.meter = event.meter
        state.publish(event)

    async def _let_out(self, turn: TurnInfo, attempt: _Attempt) -> None:
        """
        Raises:
            TurnCancelled: the user was asked, and the question was cancelled.
            TurnStopped: a plugin stops the turn here.
        """
        while True:
            returns = await self._hooks.fire("pre_api_request", **attempt.arguments)
            stop = first_action(returns, frozenset({"stop"}))
            if stop is None:
                return
            if not await self._may_go_on(turn, attempt, stop):
                message = str(stop.get("message") or "a plugin stopped the turn before its next model call")
                raise TurnStopped(message, stop_reason=str(stop.get("stop_reason") or "stopped"))
            attempt.begin_again()

    async def _may_go_on(self, turn: TurnInfo, attempt: _Attempt, stop: dict[str, Any]) -> bool:
        """What the user says, if the plugin that stops the turn has a question."""
        if not stop.keys() >= {"question", "choices", "answered"}:
            return False
        question, call_id = str(stop["question"]), f"{turn.turn_id}:{attempt.arguments['api_call_count']}"
        request = ApprovalRequest(
            turn=turn, call_id=call_id, name="cos", args={}, risk="read",
            description=CallDescription(title=question.split("\n")[0], detail=question), reasons=("cos asks you",),
            kind="question", choices=tuple(stop["choices"]),
        )  # fmt: skip
        answer = await self._approver.ask(request)
        if answer.decision == "cancelled":
            raise TurnCancelled(answer.reason or "the question was cancelled")
        return bool(await stop["answered"](answer))

    async def _stream(self, shown: ShownReply | UnseenReply, request: ModelRequest, attempt: _Attempt) -> None:
        limit = self._retry.silence_seconds
        lenience = limit * _LENIENCE
        clock = time.monotonic  # An event loop may have another, which stands still until its next round.
        rested = set_back = clock()
        loop = asyncio.get_running_loop()
        try:
            async with (
                shown.kept(),
                asyncio.timeout(limit + lenience) as silence,
                self._provider.stream(request) as attempt.stream,
            ):
                async for chunk in attempt.stream:
                    now = clock()
                    if now - set_back > lenience:
                        silence.reschedule(loop.time() + limit + lenience)
                        set_back = now
                    if now - rested > _BREATH_SECONDS:
                        await asyncio.sleep(0)
                        rested = clock()
                    if attempt.first_token_seconds is None:
                        attempt.first_token_seconds = time.monotonic() - attempt.began
                    if isinstance(chunk, TextChunk):
                        await shown.add_text(chunk.text)
                    elif isinstance(chunk, ThinkingChunk):
                        await shown.add_thinking(chunk.text)
        except TimeoutError as error:
            raise ProviderUnavailable(f"the model sent nothing for {limit:g} s") from error
        if not attempt.reply.is_complete:
            raise ProviderUnavailable("the reply broke off before its end")

    async def _failed(self, state: TurnState, attempt: _Attempt, error: BaseException) -> None:
        usage = attempt.reply.usage
        # The figures come with the reason to stop; what fails after that takes nothing from them.
        if usage != Usage() and attempt.reply.stop_reason is None:
            usage = replace(usage, is_partial=True)
        state.usage += usage
        retryable = isinstance(error, ProviderUnavailable) and attempt.number < self._retry.max_attempts
        await self._hooks.fire(
            "api_request_error",
            **attempt.ending(),
            status_code=error.status if isinstance(error, ProviderError) else None,
            retry_count=attempt.number - 1,
            max_retries=self._retry.max_attempts - 1,
            retryable=retryable,
            reason="cancelled" if isinstance(error, TurnCancelled | asyncio.CancelledError) else str(error),
            error={"type": type(error).__name__, "message": str(error)},
            response_model=attempt.reply.model or None,
            usage=usage,
        )

    async def _wait(self, state: TurnState, number: int, error: ProviderUnavailable) -> None:
        delay = self._retry.delay_seconds(number, error.retry_after_seconds)
        state.publish(
            RetryScheduled(
                turn=state.turn,
                attempt=number,
                max_attempts=self._retry.max_attempts,
                delay_seconds=delay,
                reason=str(error),
            )
        )
        await state.cancel.guard(asyncio.sleep(delay))

    def _attempt_arguments(self, state: TurnState, request: ModelRequest) -> dict[str, Any]:
        parent, newest = state.session.parent_session_id, next(reversed(request.messages), None)
        return state.hook_ids() | {
            "api_request_id": state.api_request_id,
            "platform": state.session.platform,
            "model": state.session.prompt.model,
            "provider": self._provider.name,
            "base_url": getattr(self._provider, "base_url", None),
            "api_call_count": state.model_calls,
            "message_count": len(request.messages),
            "started_at": datetime.now(UTC),
            "purpose": "compaction" if getattr(newest, "origin", None) == "compaction" else "turn",
            "parent_session_id": str(parent) if parent else None,
        }
