"""All tools there are: the core's own, and beside them those of the enabled plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.core.errors import PluginError
from cos.core.tools.clarify import clarify_tool
from cos.core.tools.skills import skill_tools

if TYPE_CHECKING:
    from cos.agent.tools import Tool
    from cos.core.plugins import LoadedPlugins
    from cos.core.skills.shelf import SkillShelf


def installed_tools(plugins: LoadedPlugins, skills: SkillShelf) -> dict[str, Tool]:
    """Every tool by name, the core's and the plugins'.

    Raises:
        PluginError: a plugin offers a tool under a name of the core's.
    """
    core = {tool.name: tool for tool in (clarify_tool(), *skill_tools(skills))}
    for plugin, registered in plugins.registrations.items():
        for tool in registered.tools:
            if tool.name in core:
                raise PluginError(
                    f"plugin {plugin} offers the tool {tool.name}, which is cos' own; it needs another name"
                )
    return core | plugins.tools
