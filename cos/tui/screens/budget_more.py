"""Let a budget spend more, once, in its present period."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.tui import wording
from cos.tui.screens.session_dialog import SessionDialog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cos.tui.cost_port import BudgetState


class BudgetMore(SessionDialog):
    """One line that takes the amount."""

    NAME = "Allow more"

    def __init__(self, state: BudgetState, allow: Callable[[str], Awaitable[None]]) -> None:
        spent = f"{wording.money(state.spent_usd)} of {wording.money(state.limit_usd)} are spent"
        hint = "US dollars on top of the limit, once, until the period ends. Enter allows them; Esc changes nothing."
        super().__init__(f"Budget {state.budget.name}: {spent}. How much more?", hint, "")
        self._allow = allow

    async def change(self, value: str) -> None:
        await self._allow(value)
