"""Word of what other processes on the database do: their sessions' rows change here too, within a moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final
from uuid import UUID

from cos.core.live import ReplyGrew, Resync, SessionDeleted, SessionRewound, SessionTouched, SessionUpdated
from cos.core.plugin_events import event_from

if TYPE_CHECKING:
    from cos.core.live import CoreEvent, PluginEvent

CHANNEL: Final = "cos_sessions"
_CHANGES: Final = {kind.type: kind for kind in (SessionTouched, SessionUpdated, SessionDeleted, ReplyGrew)}


class Neighbours:
    """Publishes what is heard. The words of this process itself are known here already and passed over."""

    def __init__(
        self,
        boot_id: UUID,
        publish: Callable[[CoreEvent | Resync], None],
        plugin_events: Mapping[str, type[PluginEvent]] | None = None,
    ) -> None:
        """`plugin_events`: those that the plugins of this process understand, by their types."""
        self._boot_id = boot_id
        self._publish = publish
        self._plugin_events = plugin_events or {}
        self._has_listened = False

    async def hear(self, payload: str) -> None:
        """`payload` is what `tell_session` and `Teller` write. A kind that is not known here means: read it again.

        Raises:
            ValueError: it is something else.
        """
        boot_id, session, profile_id, kind, rest = (payload.split(" ", 4) + [""] * 5)[:5]
        session_id = UUID(session)
        if UUID(boot_id) == self._boot_id:
            return
        if not profile_id or not kind:
            raise ValueError("it names no profile, or not what happened")
        if kind == SessionRewound.type:
            turns = tuple(UUID(turn_id) for turn_id in rest.split(","))
            self._publish(SessionRewound(session_id=session_id, profile_id=profile_id, turn_ids=turns))
        elif kind in self._plugin_events:
            self._publish(event_from(self._plugin_events[kind], session_id, profile_id, rest))
        else:
            self._publish(_CHANGES.get(kind, SessionTouched)(session_id=session_id, profile_id=profile_id))

    async def look(self) -> None:
        """What was said while nobody listened here is lost: let the readers look at all that others do."""
        if self._has_listened:
            self._publish(Resync(of_others=True))
        self._has_listened = True
