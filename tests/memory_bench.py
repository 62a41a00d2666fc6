"""The plugin `memory` on a real database, loaded as the core loads it; one bench is one process."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cos.agent.events import Notice
from cos.agent.hooks import HookBus
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.provider import SessionPrompt
from cos.agent.tools import ToolOk
from cos.core.commands import Commands
from cos.core.config import load_config
from cos.core.frozen import prompt_json, prompt_parts
from cos.core.inbound import Inbound
from cos.core.live import CoreEvent
from cos.core.paths import Paths
from cos.core.plugins import LoadedPlugins, load_plugins
from cos.core.postgres.database import Database, Row
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.plugin_loans import plugin_host
from cos.core.postgres.schema import apply_plugin_schemas
from cos.core.postgres.sessions import Sessions
from tests.tool_context import RecordingContext

if TYPE_CHECKING:
    from uuid import UUID


@dataclass
class MemoryBench:
    """One process with the plugin."""

    database: Database
    hooks: HookBus
    plugins: LoadedPlugins
    events: list[CoreEvent]

    async def turn(self, profile: str = "home") -> TurnInfo:
        """The first turn of a new session, whose prompt is frozen with the memory as it is now."""
        new = NewSession(profile_id=profile, source="cli")
        session = await PostgresJournal(self.database).create_session(new)
        contexts = await self.plugins.context_for(profile)
        parts = prompt_parts("You help.", Path("/"), "", contexts, date(2026, 11, 30))
        prompt = SessionPrompt(system="\n\n".join(part.text for part in parts), model="m")
        await Sessions(self.database).freeze_prompt(session, prompt_json(prompt, parts), "/")
        return TurnInfo(profile_id=profile, session_id=session, turn_id=new_id())

    async def call(self, turn: TurnInfo, **args: Any) -> dict[str, Any]:
        """What the model is told; the outcome must fit to it."""
        tool = self.plugins.tools["memory"]
        outcome = await tool.run(args, turn, RecordingContext(Path("/")))
        told: dict[str, Any] = json.loads(outcome.content)
        assert told["success"] is isinstance(outcome, ToolOk)
        return told

    async def add(self, turn: TurnInfo, *texts: str, target: str = "memory") -> None:
        for text in texts:
            assert (await self.call(turn, action="add", target=target, content=text))["success"]

    async def slash(self, argument: str = "", session_id: UUID | None = None, profile: str = "home") -> str:
        """What `/memory` answers."""
        session = await Sessions(self.database).get(session_id) if session_id else None
        commands = Commands()
        commands.add(*self.plugins.commands)
        answer = await commands.run(Inbound(text=f"/memory {argument}", profile_id=profile, source="cli"), session)
        assert answer is not None
        return answer.text

    async def stored(self, target: str = "memory", profile: str = "home") -> list[str]:
        statement = b"SELECT content FROM memory_entries WHERE target = %(t)s AND profile_id = %(p)s ORDER BY number"
        return [row["content"] for row in await self.database.fetch(statement, {"t": target, "p": profile})]

    async def rows(self, query: str) -> list[Row]:
        """Rows of a query that the test itself wrote."""
        return await self.database.fetch(query.encode())

    async def context(self, profile: str = "home") -> str:
        return dict(await self.plugins.context_for(profile)).get("memory", "")

    @property
    def notices(self) -> list[tuple[str, str]]:
        return [(event.level, event.text) for event in self.events if isinstance(event, Notice)]


@contextlib.asynccontextmanager
async def memory_bench(url: str, folder: Path, toml: str = "", *, size: int = 4) -> AsyncIterator[MemoryBench]:
    """The plugin with the settings `toml` (the table `[memory]`)."""
    database = await Database(url, size=size).open()
    try:
        folder.mkdir(exist_ok=True)
        (folder / "commonos.toml").write_text(f'plugins = ["memory"]\n[memory]\n{toml}\n')
        await apply_plugin_schemas(database, ["memory"])
        config = load_config(Paths.from_environment({"COS_HOME": str(folder)}))
        events, hooks = list[CoreEvent](), HookBus()
        host = plugin_host(database, config, ["home", "work"], events.append)
        plugins = await load_plugins(["memory"], config.plugin_settings, folder, hooks, host=host)
        yield MemoryBench(database, hooks, plugins, events)
        await plugins.close()
    finally:
        await database.close()
