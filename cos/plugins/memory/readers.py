"""Which entries a session has read, in its prompt or in a tool's answer: what it has not read it does not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from cos.plugins.memory.block import shown_entry, snapshot_of
from cos.plugins.memory.entries import Entry, Target

if TYPE_CHECKING:
    from cos.core.plugin_api import PluginContext

_MOST_SESSIONS: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one session has read."""

    session_id: UUID
    snapshot: Mapping[Target, list[str]]
    """The entries of its prompt, as they are shown there."""
    shown: frozenset[str]
    """What tools have answered since."""
    limits: Mapping[Target, int]

    def sees(self, entry: Entry) -> bool:
        if entry.session_id == self.session_id or entry.content in self.shown:
            return True
        return shown_entry(entry, self.limits[entry.target]) in self.snapshot[entry.target]

    def had(self, target: Target, text: str) -> bool:
        """Whether the prompt has an entry with this text."""
        return any(text in shown for shown in self.snapshot[target])


class Readers:
    """One per process. What it forgets is shown once more before it is changed."""

    def __init__(self, ctx: PluginContext, limits: Mapping[Target, int]) -> None:
        self._ctx = ctx
        self._limits = limits
        self._shown: dict[UUID, frozenset[str]] = {}

    def showed(self, session_id: UUID, entries: Iterable[Entry]) -> None:
        """The session's model has these entries in its conversation now."""
        shown = self._shown.pop(session_id, frozenset())
        self._shown[session_id] = shown | {entry.content for entry in entries}
        if len(self._shown) > _MOST_SESSIONS:
            del self._shown[next(iter(self._shown))]

    async def view(self, session_id: UUID) -> View:
        """
        Raises:
            DatabaseError: the database does not answer.
        """
        context = await self._ctx.frozen_context(session_id)
        return View(
            session_id=session_id,
            snapshot=snapshot_of(context.text if context else ""),
            shown=self._shown.get(session_id, frozenset()),
            limits=self._limits,
        )
