"""Puts what turns cost into the lines above them, and what child agents cost into theirs: when they are loaded, and
for turns again after each recorded call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.tui import cost_words
from cos.tui.child_agents import ended_children, ended_lines
from cos.tui.cost_port import CALL_RECORDED

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from cos.core.live import PluginEvent
    from cos.core.sessions import Transcript
    from cos.tui.conversations import Conversations
    from cos.tui.cost_port import Bill


class TurnCosts:
    """Without a bill nothing is shown."""

    def __init__(self, bill: Bill | None, conversations: Conversations) -> None:
        self._bill = bill
        self._conversations = conversations

    async def take(self, event: PluginEvent) -> None:
        """A call of a turn costs those above it, too.

        Raises:
            CosError: the costs cannot be read. So does `read`.
        """
        if event.type == CALL_RECORDED:
            await self.read([event.turn.turn_id])

    async def read(self, turn_ids: Iterable[UUID]) -> None:
        """Turns of which no call has ended have nothing to show."""
        wanted = list(turn_ids)
        if self._bill is None or not wanted:
            return
        for turn in await self._bill.turns(wanted):
            conversation = self._conversations.of(turn.session_id)
            conversation.change(
                f"turn:{turn.turn_id}",
                cost=cost_words.of_turn(turn), total=cost_words.total_of_turn(turn),
            )  # fmt: skip

    async def read_page(self, session_id: UUID, page: Transcript) -> None:
        """Of a page of history: its turns, and the children of its calls, each in its line under the call.

        Raises:
            CosError: the costs cannot be read.
        """
        await self.read(page.turns)
        calls = [(call, children) for call in page.calls.values() if (children := ended_children(call))]
        if self._bill is None or not calls:
            return
        known = await self._bill.sessions([child for _, children in calls for child in children])
        costs = {str(child): cost_words.known(cost.own) for child, cost in known.items()}
        for call, _ in calls:
            self._conversations.of(session_id).change(f"call:{call.call_id}", children=ended_lines(call, costs))
