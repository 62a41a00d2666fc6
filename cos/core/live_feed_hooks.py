"""The live feed as the second source of hooks: a session's row in the lists changes when its turns begin and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cos.agent.hooks import LIVE_FEED, HookBus
from cos.core.live import SessionUpdated

if TYPE_CHECKING:
    from cos.agent.identity import TurnInfo
    from cos.core.live import CoreEvent


def register_live_feed(hooks: HookBus, publish: Callable[[CoreEvent], None]) -> None:
    """Publish `session.updated` at a session's start and at the end of each of its turns."""

    async def session_changed(turn: TurnInfo) -> None:
        publish(SessionUpdated(session_id=turn.session_id, profile_id=turn.profile_id))

    hooks.register("on_session_start", session_changed, source=LIVE_FEED)
    hooks.register("on_session_end", session_changed, source=LIVE_FEED)
