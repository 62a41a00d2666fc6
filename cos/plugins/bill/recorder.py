"""The hooks: every attempt of a model call is in the ledger before its request leaves, and its figures when it ends."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cos.agent.cancellation import uninterrupted
from cos.agent.errors import CosError
from cos.agent.events import Notice, Usage
from cos.agent.text import storable
from cos.plugins.bill.budgets import STOP_REASON
from cos.plugins.bill.calls import Call, Ending, Status, call_of, failure_of, milliseconds, question_of, sane
from cos.plugins.bill.events import CallRecorded
from cos.plugins.bill.prices import MADE_UP, Price

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from cos.agent.identity import TurnInfo
    from cos.agent.records import ApprovalAnswer
    from cos.core.plugin_api import PluginContext, PluginEvent
    from cos.plugins.bill.budgets import BudgetState
    from cos.plugins.bill.ledger import Ledger
    from cos.plugins.bill.prices import PriceBook

log = logging.getLogger("cos.bill")


class Recorder:
    """Knows the calls of this process that are under way, and the endings that could not be stored yet."""

    def __init__(
        self,
        ledger: Ledger,
        prices: PriceBook,
        publish: Callable[[PluginEvent | Notice], None],
        *,
        has_budgets: bool,
    ) -> None:
        self._ledger = ledger
        self._prices = prices
        self._publish = publish
        self._has_budgets = has_budgets
        self._open: dict[tuple[UUID, int], Call] = {}
        self._stopped: set[tuple[UUID, int]] = set()
        """Calls that were not let out, of turns that have not ended."""
        self._unsaved: list[Ending] = []
        self._unread: dict[tuple[UUID, int], str] = {}
        """Why a question is asked again, by call."""

    def register(self, ctx: PluginContext) -> None:
        ctx.register_hook("pre_api_request", self.before)
        ctx.register_hook("post_api_request", self.succeeded)
        ctx.register_hook("api_request_error", self.failed)
        ctx.register_hook("on_session_end", self.turn_ended)

    async def before(self, **given: Any) -> dict[str, Any] | None:
        """Store the call; stop the turn when a budget for it is spent, unless the user lets it spend more."""
        call = call_of(given)
        self._stopped.discard(call.key)
        # Before anything is awaited: whoever is cancelled here may have stored the row already.
        self._open[call.key] = call
        unsaved = list(self._unsaved)
        try:
            spent = await self._ledger.open(call, unsaved)
        except CosError as error:
            return self._not_opened(call, error)
        self._saved(unsaved)
        return None if spent is None else self._stop(call, spent.stop_message) | self._question(call, spent)

    async def succeeded(self, **given: Any) -> None:
        call = self._taken(given)
        if call is not None:
            await uninterrupted(self._end(call, "ok", given["usage"], given))

    async def failed(self, **given: Any) -> None:
        call = self._taken(given)
        if call is not None:
            status, words = failure_of(given)
            await uninterrupted(self._end(call, status, given["usage"], given, words))

    async def turn_ended(self, turn: TurnInfo) -> None:
        """Whatever the turn left open ended in a way that no hook was told of."""
        self._stopped = {key for key in self._stopped if key[0] != turn.turn_id}
        self._unread = {key: words for key, words in self._unread.items() if key[0] != turn.turn_id}
        for key in [key for key in self._open if key[0] == turn.turn_id]:
            log.warning("nobody told how call %d of turn %s ended; its cost is unknown", key[1], key[0])
            await uninterrupted(self._end(self._open.pop(key), "lost", Usage(), {}))

    async def save(self) -> None:
        """Store what could not be stored before.

        Raises:
            DatabaseError: it still cannot.
        """
        unsaved = list(self._unsaved)
        if unsaved:
            sentences = await self._ledger.end(unsaved)
            self._saved(unsaved)
            self._say(unsaved[-1].call.turn, sentences)

    def _taken(self, given: dict[str, Any]) -> Call | None:
        """The call that has ended; None when it was never let out."""
        key = (given["turn"].turn_id, given["api_call_count"])
        if key in self._stopped:
            return None
        # A call whose beginning was not told, because its hook was suspended, costs as much.
        return self._open.pop(key, None) or call_of(given)

    def _question(self, call: Call, spent: BudgetState) -> dict[str, Any]:
        async def answered(answer: ApprovalAnswer) -> bool:
            more = spent.meant(answer.answer or "")
            if more is None:
                self._unread[call.key] = spent.unread(answer.answer or "")
            elif more:
                state = await self._ledger.allow(call, spent, more, answer.answered_by or "")
                self._publish(Notice(turn=call.turn, level="info", text=state.allowance))
            return more is None or more > 0

        question = " ".join(filter(None, [self._unread.pop(call.key, None), spent.question]))
        return {"question": question, "choices": list(spent.choices), "answered": answered}

    def _stop(self, call: Call, message: str) -> dict[str, Any]:
        del self._open[call.key]
        self._stopped.add(call.key)
        return {"action": "stop", "stop_reason": STOP_REASON, "message": message}

    async def _end(
        self, call: Call, status: Status, usage: Usage, given: dict[str, Any], words: str | None = None
    ) -> None:
        usage, response_model = sane(usage), storable(given.get("response_model") or "") or None
        ending = Ending(
            call=call,
            status=status,
            usage=usage,
            price=await self._price(call, status, usage, response_model),
            response_model=response_model,
            ttft_ms=milliseconds(given.get("first_token_seconds")),
            duration_ms=milliseconds(given.get("api_duration")),
            error=words,
            ended_at=given.get("ended_at") or datetime.now(UTC),
        )
        self._unsaved.append(ending)
        unsaved = list(self._unsaved)
        try:
            sentences = await self._ledger.end(unsaved)
        except CosError as error:
            log.error("the cost of call %d of turn %s could not be stored: %s", call.ordinal, call.turn.turn_id, error)
            self._say(call.turn, [f"The cost of this call could not be stored yet and is kept: {error}"])
            return
        self._saved(unsaved)
        self._publish(_recorded(ending))
        self._say(call.turn, sentences)

    async def _price(self, call: Call, status: Status, usage: Usage, response_model: str | None) -> Price:
        if status == "lost":
            return Price(cost_usd=None, source="the end of the call is not known")
        return await self._prices.price(question_of(call, response_model), usage, has_ended=status == "ok")

    def _not_opened(self, call: Call, error: CosError) -> dict[str, Any] | None:
        log.error("call %d of turn %s could not be stored before it left: %s", call.ordinal, call.turn.turn_id, error)
        if self._has_budgets:
            message = f"The budgets cannot be checked, so the next model call was not made: {error}"
            return self._stop(call, message)
        self._say(call.turn, [f"The next call is not in the ledger yet; its cost is stored when it ends: {error}"])
        return None

    def _saved(self, endings: list[Ending]) -> None:
        # By identity: another call may have ended meanwhile.
        self._unsaved = [ending for ending in self._unsaved if not any(ending is saved for saved in endings)]

    def _say(self, turn: TurnInfo, sentences: list[str]) -> None:
        for sentence in sentences:
            self._publish(Notice(turn=turn, level="warning", text=sentence))


def _recorded(ending: Ending) -> CallRecorded:
    usage, call = ending.usage, ending.call
    return CallRecorded(
        turn=call.turn,
        ordinal=call.ordinal,
        model=ending.response_model or call.model,
        cause=call.cause,
        status=ending.status,
        cost_usd=ending.price.cost_usd,
        is_made_up=ending.price.source == MADE_UP,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_5m_tokens=usage.cache_write_5m_tokens,
        cache_write_1h_tokens=usage.cache_write_1h_tokens,
        ttft_ms=ending.ttft_ms,
        duration_ms=ending.duration_ms,
    )
