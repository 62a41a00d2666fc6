"""The workspace's tools and the state they share: the working folder of each session, and what still runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cos.agent.tools import Tool
from cos.plugins.workspace.file_state import DescribedStates
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.patch import FilePatcher
from cos.plugins.workspace.read_file import FileReader
from cos.plugins.workspace.ripgrep import Ripgrep
from cos.plugins.workspace.search_files import FileSearcher
from cos.plugins.workspace.terminal import Terminal
from cos.plugins.workspace.write_file import FileWriter

ORIGIN = "workspace"


class WorkspaceTools:
    """Builds the tools. `environment` gives what commands inherit, which holds no secrets."""

    def __init__(self, environment: Callable[[], Mapping[str, str]]) -> None:
        self._folders = SessionFolders()
        self._environment = environment
        self._terminal = Terminal(self._folders, environment)

    def tools(self) -> tuple[Tool, ...]:
        described = DescribedStates()
        return (
            FileReader(self._folders).tool(ORIGIN),
            FileWriter(self._folders, described).tool(ORIGIN),
            FilePatcher(self._folders, described).tool(ORIGIN),
            FileSearcher(self._folders, Ripgrep(environment=self._environment)).tool(ORIGIN),
            self._terminal.tool(ORIGIN),
        )

    async def close(self) -> None:
        """End every background process that a command left running; one that cannot be ended is logged by pid."""
        await self._terminal.close()
