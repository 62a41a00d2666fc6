"""Steering: what a person sends into the running turn goes in between two of its steps, where the model can act on it.

A steer that no turn takes any more (the turn ends, is cancelled, its process dies) stays what it was before: a waiting
message, which becomes a prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from cos.agent.cancellation import uninterrupted
from cos.agent.events import MessageAdded

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.identity import TurnInfo
    from cos.agent.messages import UserMessage
    from cos.agent.turn_state import TurnState

DeliveryMode = Literal["queue", "steer", "now"]
"""How a message is delivered while a turn runs: as the next prompt, into the turn, or instead of the turn."""


@dataclass(frozen=True, slots=True)
class Steered:
    """A message that went into a turn."""

    message_id: UUID
    message: UserMessage


class SteerSource(Protocol):
    """Where the loop finds, between two steps, what was sent into its turn. A journal is one."""

    async def take_steers(self, turn: TurnInfo) -> list[Steered]:
        """Append to the session what waits to go into the turn, in order of arrival, and answer it.

        Leaving the queue and becoming messages is one transaction. Called at each step: cheap when nothing waits.
        """
        ...


async def take_steers(source: SteerSource | None, state: TurnState) -> bool:
    """Let what was sent into the turn take its place at the end of the conversation; whether there was anything.

    A turn that is being cancelled takes nothing more.
    """
    if source is None or state.cancel.is_set:
        return False
    # Cut short, it would leave stored messages that the model of this turn never sees.
    return await uninterrupted(_taken(source, state))


async def _taken(source: SteerSource, state: TurnState) -> bool:
    steers = await source.take_steers(state.turn)
    for steer in steers:
        state.history.append(steer.message)
        state.publish(MessageAdded(turn=state.turn, message_id=steer.message_id, message=steer.message))
    return bool(steers)
