"""The table `memory_entries`. A change reads the store and writes single rows under one lock, never the whole store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cos.plugins.memory.changes import Edit, MemoryRefused, Operation, Plan, Sees, planned
from cos.plugins.memory.entries import Entry, Target, size_of, usage_words

if TYPE_CHECKING:
    from cos.core.plugin_api import PluginConnection, PluginContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A change that was made."""

    target: Target
    edits: tuple[Edit, ...]
    repeated: tuple[str, ...]
    """Texts that were there already and were not added again."""
    size: int
    """Characters of the whole store now."""
    limit: int
    entry_count: int

    @property
    def usage(self) -> str:
        return usage_words(self.size, self.limit)


class MemoryStore:
    """One per process. `limits` are the stores in use."""

    def __init__(self, ctx: PluginContext, limits: Mapping[Target, int]) -> None:
        self._ctx = ctx
        self._sql = ctx.statements("entries")
        self.limits = limits

    async def entries(self, profile_id: str) -> list[Entry]:
        """Everything that the profile remembers, oldest first, also in stores that are not in use.

        Raises:
            DatabaseError: the database does not answer.
        """
        rows = await self._ctx.database.fetch(self._sql["entries"], {"profile_id": profile_id})
        return [Entry(**row) for row in rows]

    async def change(
        self, profile_id: str, target: Target, operations: Sequence[Operation], session_id: UUID | None, sees: Sees
    ) -> Changed:
        """Do all of the operations, or none. `session_id` is who writes; None = the user.

        Raises:
            MemoryRefused: they cannot be done.
            DatabaseError: nothing was kept.
        """
        limit = self._limit(target)
        key = {"profile_id": profile_id, "target": target}

        async def work(connection: PluginConnection) -> Plan:
            await connection.execute(self._sql["lock_store"], key)
            rows = await (await connection.execute(self._sql["entries_to_change"], key)).fetchall()
            plan = planned(target, limit, [Entry(**row) for row in rows], operations, sees)
            for edit in plan.edits:
                await self._write(connection, edit, key | {"session_id": session_id})
            return plan

        plan = await self._ctx.database.transaction(work)
        return Changed(
            target=target, edits=tuple(plan.edits), repeated=tuple(plan.repeated), size=size_of(plan.contents),
            limit=limit, entry_count=len(plan.contents),
        )  # fmt: skip

    async def _write(self, connection: PluginConnection, edit: Edit, key: dict[str, Any]) -> None:
        if edit.before is None:
            await connection.execute(self._sql["add_entry"], key | {"content": edit.after})
        elif edit.after is None:
            await connection.execute(self._sql["remove_entry"], {"number": edit.before.number})
        else:
            row = key | {"number": edit.before.number, "content": edit.after}
            await connection.execute(self._sql["change_entry"], row)

    def _limit(self, target: Target) -> int:
        if target not in self.limits:
            setting = "memory_enabled" if target == "memory" else "user_profile_enabled"
            raise MemoryRefused(f"The store {target} is switched off ({setting} in commonos.toml).", "invalid")
        return self.limits[target]
