"""Let a budget spend more, once, in its present period."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.tui import wording
from cos.tui.screens.session_dialog import SessionDialog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cos.tui.cost_port import BudgetState


MOST = 1_000_000
"""US dollars; above it stand slips of the keyboard."""


class BudgetMore(SessionDialog):
    """One line that takes the amount."""

    NAME = "Allow more"

    def __init__(self, state: BudgetState, allow: Callable[[Decimal], Awaitable[None]]) -> None:
        spent = f"{wording.money(state.spent_usd)} of {wording.money(state.limit_usd)} are spent"
        hint = "US dollars on top of the limit, once, until the period ends. Enter allows them; Esc changes nothing."
        super().__init__(f"Budget {state.budget.name}: {spent}. How much more?", hint, "")
        self._allow = allow

    async def change(self, value: str) -> None:
        await self._allow(amount_of(value))


def amount_of(text: str) -> Decimal:
    """Raises CosError with what is wrong with it."""
    try:
        amount = Decimal(text.strip().removeprefix("$").replace("_", ""))
    except InvalidOperation:
        raise CosError(f"{text!r} is not an amount; write dollars as digits, such as 2.50") from None
    if not amount.is_finite() or amount <= 0:
        raise CosError(f"{text!r} is not an amount above 0; write dollars as digits, such as 2.50")
    if amount > MOST:
        raise CosError(f"{text!r} is more than ${MOST:,}, which is the most that is allowed at once")
    return amount
