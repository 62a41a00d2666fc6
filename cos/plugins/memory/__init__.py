"""The plugin `memory`: what an agent keeps from one session to the next, and what it knows about its user."""

from __future__ import annotations

from cos.core.plugin_api import PluginContext
from cos.plugins.memory.block import memory_context
from cos.plugins.memory.readers import Readers
from cos.plugins.memory.settings import MemorySettings
from cos.plugins.memory.store import MemoryStore
from cos.plugins.memory.tool import MemoryTool
from cos.plugins.memory.user import HINT, UserMemory

__all__ = ["register"]


def register(ctx: PluginContext) -> None:
    """Bring the tool, the part of the prompt, `/memory` and `cos memory`."""
    settings = ctx.settings(MemorySettings)
    store = MemoryStore(ctx, settings.limits)
    user = UserMemory(ctx, store)
    ctx.add_command("memory", user.slash, "what the agent remembers; add to it, edit, remove", HINT)
    ctx.register_cli("memory", user.cli)
    if not settings.limits:
        return

    async def context(profile_id: str) -> str | None:
        return memory_context(await store.entries(profile_id), settings.limits)

    tool = MemoryTool(store, Readers(ctx, settings.limits), ctx.publish)
    ctx.add_tool(tool.tool(ctx.name, needs_approval=settings.write_approval))
    ctx.register_hook("on_session_end", tool.forget_turn)
    ctx.register_context(context)
