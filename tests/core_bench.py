"""The core on a real database with a scripted provider: what `open_core` builds, without config files."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cos.agent.events import ApprovalRequested, TurnCompleted
from cos.agent.hooks import HookBus
from cos.agent.messages import Message
from cos.agent.providers.scripted import Script, ScriptedProvider
from cos.agent.tools import Tool, ToolSet
from cos.agent.turn import Agent, AgentOptions, TurnInputs
from cos.core.approval_desk import CHANNEL as APPROVALS
from cos.core.approval_desk import ApprovalDesk
from cos.core.background import Background
from cos.core.cancelling import CHANNEL as CANCELS
from cos.core.child_agents import ChildAgents
from cos.core.delegation import Delegation
from cos.core.dispatcher import Dispatcher, ProfileAgent, StoredTurns
from cos.core.gateway import Gateway
from cos.core.inbound import Accepted, Inbound
from cos.core.live import CoreEvent, Resync
from cos.core.neighbours import CHANNEL as SESSIONS
from cos.core.neighbours import Neighbours
from cos.core.plugins import LoadedPlugins
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.blobs import PostgresBlobs
from cos.core.postgres.cancels import Cancels
from cos.core.postgres.database import Database, Row
from cos.core.postgres.grants import Grants
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.last_turns import LastTurns
from cos.core.postgres.listener import Listener
from cos.core.postgres.session_list import SessionList
from cos.core.postgres.session_options import SessionOptions
from cos.core.postgres.sessions import Sessions
from cos.core.postgres.sweep import Sweeper
from cos.core.postgres.waiting import WaitingMessages
from cos.core.profiles import Profile
from cos.core.queue import AnnouncedSteers, QueueEditor
from cos.core.rule_keeper import RuleKeeper
from cos.core.session_contexts import SessionContexts
from cos.core.session_edits import SessionEdits
from cos.core.session_query import SessionQuery
from cos.core.sessions import SessionRow
from cos.core.settings import DelegationSettings, ProfileSettings
from cos.core.skills.shelf import SkillShelf
from cos.core.tools.clarify import clarify_tool
from cos.core.tools.delegate_task import delegate_tool
from tests.agent_bench import AT_ONCE, assert_answered

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.provider import Provider


@dataclass
class CoreBench:
    """One process' core."""

    database: Database
    journal: PostgresJournal
    sessions: Sessions
    desk: ApprovalDesk
    hooks: HookBus
    plugins: LoadedPlugins
    provider: Any
    """A ScriptedProvider, unless the test gave another one."""
    dispatcher: Dispatcher
    queue: QueueEditor
    options: SessionOptions
    events: list[CoreEvent | Resync]

    async def send(self, text: str, session: UUID | None = None, profile: str = "home", **more: Any) -> Accepted:
        return await self.dispatcher.dispatch(
            Inbound(text=text, profile_id=profile, source="cli", session_id=session, **more)
        )

    async def ask(self, text: str, session: UUID | None = None, **more: Any) -> TurnCompleted:
        """Send a message and wait for the end of its turn."""
        accepted = await self.send(text, session, **more)
        assert accepted.turn_id is not None
        return await self.ended(accepted.turn_id)

    async def ended(self, turn_id: UUID | None) -> TurnCompleted:
        assert turn_id is not None
        while True:
            for event in self.events:
                if isinstance(event, TurnCompleted) and event.turn.turn_id == turn_id:
                    return event
            await asyncio.sleep(0.002)

    async def when(self, count: int, kind: type[Any]) -> list[Any]:
        """The events of `kind`, as soon as there are `count`."""
        while len(found := [event for event in self.events if isinstance(event, kind)]) < count:
            await asyncio.sleep(0.002)
        return found

    async def requested(self, count: int = 1) -> list[ApprovalRequested]:
        return await self.when(count, ApprovalRequested)

    async def idle(self, session: UUID) -> None:
        while self.dispatcher.running(session) is not None or self.dispatcher.turns.admission[session].locked():
            await asyncio.sleep(0.002)

    async def rows(self, query: str) -> list[Row]:
        """Rows of a query that the test itself wrote."""
        return await self.database.fetch(query.encode())

    async def texts(self, session: UUID) -> list[str]:
        return [message.model_dump().get("text", "") for message in await self.history(session)]

    async def listed(self) -> list[SessionRow]:
        """Every session that is not archived, children included."""
        ids = [row["id"] for row in await self.rows("SELECT id FROM sessions WHERE archived_at IS NULL")]
        return (await SessionList(self.database).refreshed(SessionQuery(), ids)).rows

    async def history(self, session: UUID) -> list[Message]:
        history = await self.journal.load_history(session)
        assert_answered(history)
        return history


def profile(name: str, folder: Path, **settings: Any) -> Profile:
    own = folder / "profiles" / name
    own.mkdir(parents=True, exist_ok=True)
    (own / "SOUL.md").write_text(f"You are {name}.")
    return Profile(
        id=name, folder=own, config_file=own / "config.toml", workspace=folder / name,
        settings=ProfileSettings(provider="mock", **settings),
    )  # fmt: skip


def _stored(
    database: Database, journal: PostgresJournal, events: list[CoreEvent | Resync], again: Callable[..., Any]
) -> StoredTurns:
    sweeper = Sweeper(database, journal, events.append)
    return StoredTurns(last_turn=LastTurns(database).of, again=again, cancels=Cancels(database), sweeper=sweeper)


def _desk(database: Database, events: list[CoreEvent | Resync], timeout_seconds: float) -> ApprovalDesk:
    keeper = RuleKeeper({}, {}, Grants(database))
    return ApprovalDesk(Approvals(database), keeper, events.append, timeout_seconds=timeout_seconds, surface="test")


@contextlib.asynccontextmanager
async def core_bench(
    url: str,
    folder: Path,
    scripts: Iterable[Script] = (),
    *tools: Tool,
    timeout_seconds: float = 60,
    size: int = 4,
    limits: DelegationSettings | None = None,
    settings: dict[str, Any] | None = None,
    provider: Provider | None = None,
) -> AsyncIterator[CoreBench]:
    database = await Database(url, size=size).open()
    journal, sessions, hooks, events = (
        PostgresJournal(database),
        Sessions(database),
        HookBus(),
        list[CoreEvent | Resync](),
    )
    desk = _desk(database, events, timeout_seconds)
    blobs = PostgresBlobs(database)
    provider, plugins, toolset = provider or ScriptedProvider(scripts), LoadedPlugins(), ToolSet.of(*tools)
    if limits is not None:
        toolset = ToolSet.of(*tools, clarify_tool(), delegate_tool(lambda: delegation))

    def agent(max_steps: int) -> Agent:
        return Agent(
            provider=provider, hooks=hooks, journal=journal, approver=desk, publish=events.append,
            options=AgentOptions(retry=AT_ONCE, max_steps=max_steps),
            inputs=TurnInputs(steers=AnnouncedSteers(journal, sessions, events.append), blobs=blobs),
        )  # fmt: skip

    agents = {
        name: ProfileAgent(
            profile=profile(name, folder, tags=(f"area:{name}", "team:core"), **settings or {}),
            tools=toolset,
            agent=agent(90),
            child=agent(limits.max_iterations if limits else 50),
        )
        for name in ("home", "work")
    }
    skills = SkillShelf({name: entry.profile.folder for name, entry in agents.items()})
    gateway = Gateway(
        {name: entry.profile for name, entry in agents.items()}, hooks, journal, sessions, blobs, events.append,
        dict.fromkeys(agents, provider),
    )  # fmt: skip
    contexts = SessionContexts(sessions, plugins, skills)
    dispatcher = Dispatcher(
        agents=agents, gateway=gateway, journal=journal, sessions=sessions, contexts=contexts, publish=events.append,
        stored=_stored(database, journal, events, lambda *given: edits.again(*given)),
    )  # fmt: skip
    children = ChildAgents(agents, dispatcher.turns, journal, sessions, contexts, events.append)
    delegation = Delegation(limits or DelegationSettings(), children, dispatcher.turns, hooks)
    edits = SessionEdits(database, dispatcher, events.append)
    queue, options = QueueEditor(WaitingMessages(database), dispatcher), SessionOptions(database, events.append)
    try:
        yield CoreBench(database, journal, sessions, desk, hooks, plugins, provider, dispatcher, queue, options, events)
    finally:
        await dispatcher.close()
        await database.close()


@contextlib.asynccontextmanager
async def listening(
    url: str, folder: Path, scripts: Iterable[Script] = (), *tools: Tool, **more: Any
) -> AsyncIterator[CoreBench]:
    """As `core_bench`, for a process that hears the others and is heard, as `open_core` connects them."""
    async with core_bench(url, folder, scripts, *tools, **more) as core:
        ready = asyncio.Event()

        async def look() -> None:
            ready.set()

        listener = Listener(core.database.conninfo)
        cancelling, neighbours = core.dispatcher.cancelling, Neighbours(core.database.boot_id, core.events.append)
        listener.on(APPROVALS, core.desk.hear, look=core.desk.look)
        listener.on(CANCELS, cancelling.hear, look=cancelling.look)
        listener.on(SESSIONS, neighbours.hear, look=neighbours.look)
        listener.on("cos_test", core.desk.hear, look=look)
        background = Background()
        background.keep("listener", listener.listen)
        background.keep("teller", core.database.teller.run)
        background.keep("pulse", core.database.pulse.run)
        await ready.wait()
        try:
            yield core
        finally:
            await core.dispatcher.close()
            await background.close()
