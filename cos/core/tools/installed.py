"""All tools there are: the core's own, and beside them those of the enabled plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.core.errors import PluginError
from cos.core.postgres.session_search import SessionSearch
from cos.core.postgres.sessions import Sessions
from cos.core.tools.clarify import clarify_tool
from cos.core.tools.delegate_task import delegate_tool
from cos.core.tools.session_search import session_search_tool
from cos.core.tools.skills import skill_tools

if TYPE_CHECKING:
    from collections.abc import Callable

    from cos.agent.tools import Tool
    from cos.core.delegation import Delegation
    from cos.core.plugins import LoadedPlugins
    from cos.core.postgres.database import Database
    from cos.core.skills.shelf import SkillShelf


def _nobody() -> Delegation:
    raise PluginError("tools that are only looked at delegate nothing")


def installed_tools(
    plugins: LoadedPlugins, database: Database, skills: SkillShelf, delegation: Callable[[], Delegation] = _nobody
) -> dict[str, Tool]:
    """Every tool by name, the core's and the plugins'.

    `database` need not be open until one is called; `delegation` is asked for when a call needs it.

    Raises:
        PluginError: a plugin offers a tool under a name of the core's.
    """
    search = session_search_tool(SessionSearch(database), Sessions(database))
    own = (clarify_tool(), delegate_tool(delegation), *skill_tools(skills), search)
    core = {tool.name: tool for tool in own}
    for plugin, registered in plugins.registrations.items():
        for tool in registered.tools:
            if tool.name in core:
                raise PluginError(
                    f"plugin {plugin} offers the tool {tool.name}, which is cos' own; it needs another name"
                )
    return core | plugins.tools
