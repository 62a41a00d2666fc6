"""What the user does with memory: `/memory` in a session and `cos memory` on the command line."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from cos.core.plugin_api import CliAnswer
from cos.plugins.memory.block import snapshot_of
from cos.plugins.memory.changes import MemoryRefused, Operation
from cos.plugins.memory.listing import Memory, Snapshot, memory_object, memory_words
from cos.plugins.memory.words import changed_words

if TYPE_CHECKING:
    from argparse import Namespace
    from uuid import UUID

    from cos.core.plugin_api import CommandCall, PluginContext
    from cos.plugins.memory.entries import Entry, Target
    from cos.plugins.memory.store import MemoryStore

HINT: Final = "[add|edit|remove …]"
_USAGE: Final = "/memory, /memory add [--user] TEXT, /memory edit NUMBER TEXT, or /memory remove NUMBER"
_ADD: Final = re.compile(r"add\s+(--user\s+)?(.+)", re.DOTALL)
_EDIT: Final = re.compile(r"edit\s+#?(\d{1,18})\s+(.+)", re.DOTALL)
_REMOVE: Final = re.compile(r"(?:remove|forget)\s+#?(\d{1,18})")


class UserMemory:
    """One per process."""

    def __init__(self, ctx: PluginContext, store: MemoryStore) -> None:
        self._ctx = ctx
        self._store = store

    async def slash(self, call: CommandCall) -> str:
        """`/memory`.

        Raises:
            CosError: it cannot be done; the sentence says why.
        """
        profile, argument = call.profile_id, call.argument
        if argument in ("", "list"):
            return memory_words(await self._memory(profile, call.session.id if call.session else None))
        if found := _ADD.fullmatch(argument):
            return await self._add(profile, "user" if found[1] else "memory", found[2])
        if found := _EDIT.fullmatch(argument):
            return await self._edit(profile, int(found[1]), found[2])
        if found := _REMOVE.fullmatch(argument):
            return await self._remove(profile, int(found[1]))
        raise MemoryRefused(f"Nothing was changed. Write {_USAGE}", "invalid")

    async def cli(self, options: Namespace) -> CliAnswer:
        """`cos memory`.

        Raises:
            CosError: it cannot be done; the sentence says why.
        """
        profile: str = options.profile
        match options.action:
            case "add":
                done = await self._add(profile, "user" if options.user else "memory", options.text)
            case "edit":
                done = await self._edit(profile, options.number, options.text)
            case "remove":
                done = await self._remove(profile, options.number)
            case _:
                return await self._list(profile, options)
        return CliAnswer(_of_profile(profile, done))

    async def _list(self, profile: str, options: Namespace) -> CliAnswer:
        session_id = await self._ctx.find_session(options.session) if options.session else None
        memory = await self._memory(profile, session_id)
        if options.json:
            return CliAnswer(json.dumps({"profile": profile, **memory_object(memory)}, ensure_ascii=False, indent=2))
        return CliAnswer(_of_profile(profile, memory_words(memory)))

    async def _memory(self, profile: str, session_id: UUID | None) -> Memory:
        context = await self._ctx.frozen_context(session_id) if session_id else None
        snapshot = Snapshot(entries=snapshot_of(context.text), frozen_at=context.frozen_at) if context else None
        return Memory(entries=await self._store.entries(profile), limits=self._store.limits, snapshot=snapshot)

    async def _add(self, profile: str, target: Target, text: str) -> str:
        return await self._change(profile, target, Operation(action="add", content=text))

    async def _edit(self, profile: str, number: int, text: str) -> str:
        entry = await self._entry(profile, number)
        return await self._change(profile, entry.target, Operation(action="replace", number=number, content=text))

    async def _remove(self, profile: str, number: int) -> str:
        entry = await self._entry(profile, number)
        return await self._change(profile, entry.target, Operation(action="remove", number=number))

    async def _change(self, profile: str, target: Target, operation: Operation) -> str:
        changed = await self._store.change(profile, target, [operation], None, lambda entry: True)
        since = "\nSessions that have begun keep the memory of their beginning." if changed.edits else ""
        return changed_words(changed) + since

    async def _entry(self, profile: str, number: int) -> Entry:
        entries = await self._store.entries(profile)
        found = [entry for entry in entries if entry.number == number]
        if not found:
            having = ", ".join(f"#{entry.number}" for entry in entries) or "none yet"
            raise MemoryRefused(f"The profile {profile} has no entry #{number}. Its entries: {having}.", "unmatched")
        return found[0]


def _of_profile(profile: str, text: str) -> str:
    return f"Profile {profile}\n{text}"
