"""The plugin `workspace`: tools that read files and run commands inside the session's workspace."""

from __future__ import annotations

from cos.core.plugin_api import PluginContext
from cos.plugins.workspace.strays import stray_processes
from cos.plugins.workspace.tools import WorkspaceTools

__all__ = ["WorkspaceTools", "register"]


def register(ctx: PluginContext) -> None:
    """Bring the tools; background processes that commands leave running end with the program."""
    tools = WorkspaceTools(ctx.child_environment)
    for tool in tools.tools():
        ctx.add_tool(tool)
    ctx.on_close(tools.close)
    ctx.register_check(stray_processes)
