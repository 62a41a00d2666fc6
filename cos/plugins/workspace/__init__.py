"""The plugin `workspace`: tools that read files and run commands inside the session's workspace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from cos.agent.tools import Tool
from cos.plugins.workspace.tools import WorkspaceTools

__all__ = ["PluginContext", "WorkspaceTools", "register"]


class PluginContext(Protocol):
    """What this plugin uses of the object that the core hands to `register`."""

    config: Mapping[str, Any]

    def add_tool(self, tool: Tool) -> None: ...

    def on_close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Have `close` awaited when the application exits."""
        ...


def register(ctx: PluginContext) -> None:
    """Bring the tools. `config["workspace"]`, a folder, is what descriptions show before a session's first call."""
    configured = ctx.config.get("workspace")
    folder = Path(configured).expanduser() if configured else None
    tools = WorkspaceTools(workspace_of=lambda turn: folder)
    for tool in tools.tools():
        ctx.add_tool(tool)
    ctx.on_close(tools.close)
