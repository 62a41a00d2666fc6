"""The composition root: builds the one core that every surface of a process uses, in the start-up order of the design.

Connect → core schema → each plugin's schema and `register` → one hook bus → one agent per profile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

from cos.agent.hooks import HookBus
from cos.agent.retry import RetryPolicy
from cos.agent.tools import Tool, ToolSet
from cos.agent.turn import Agent, AgentOptions, TurnInputs
from cos.cli.providers import build_provider
from cos.core.approval_desk import CHANNEL, ApprovalDesk
from cos.core.approval_policy import ProfilePolicy, SessionGrants, register_approval_policy
from cos.core.background import Background
from cos.core.config import Config, load_config
from cos.core.dispatcher import Dispatcher, ProfileAgent, Retries
from cos.core.effective import (
    Flags,
    effective_approval_mode,
    effective_approval_timeout,
    effective_compact_at,
    effective_database_url,
    effective_profile,
    effective_reduced_motion,
)
from cos.core.embedded.folders import default_state_dir
from cos.core.embedded.server import EmbeddedPostgres
from cos.core.errors import DatabaseError
from cos.core.first_start import install_shipped
from cos.core.gateway import Gateway
from cos.core.live import LiveFeed
from cos.core.live_feed_hooks import register_live_feed
from cos.core.neighbours import CHANNEL as SESSIONS
from cos.core.neighbours import Neighbours
from cos.core.paths import Paths
from cos.core.plugins import LoadedPlugins, load_plugins
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.blobs import PostgresBlobs
from cos.core.postgres.database import Database
from cos.core.postgres.drafts import Drafts
from cos.core.postgres.grants import Grants
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.last_turns import LastTurns
from cos.core.postgres.listener import Listener
from cos.core.postgres.plugin_loans import plugin_host
from cos.core.postgres.prompts import Prompts
from cos.core.postgres.schema import add_profiles, apply_core_schema, apply_plugin_schema, create_database
from cos.core.postgres.session_options import SessionOptions
from cos.core.postgres.session_text import SessionText
from cos.core.postgres.sessions import Sessions
from cos.core.postgres.statements import plugin_schema
from cos.core.postgres.sweep import sweep_orphans
from cos.core.postgres.waiting import WaitingMessages
from cos.core.profiles import Profile, load_profiles, profile_named
from cos.core.queue import AnnouncedSteers, QueueEditor
from cos.core.rule_book import RuleBook
from cos.core.rule_keeper import RuleKeeper
from cos.core.session_edits import SessionEdits
from cos.core.tool_lists import match_tools
from cos.core.tools.installed import installed_tools

if TYPE_CHECKING:
    from cos.agent.provider import Provider

log = logging.getLogger("cos.start")

SWEEP_SECONDS = 60.0
LOCK_CHECK_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """What a surface wants of the core."""

    env: Mapping[str, str]
    flags: Flags
    surface: str
    """Who answers approvals, such as `tui`."""
    say: Callable[[str], None]
    """Receives progress lines, from any thread."""
    provider_for: Callable[[Profile, Mapping[str, str]], Provider] = build_provider
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """The running core of one process."""

    paths: Paths
    config: Config
    profile: Profile
    """The profile to begin with."""
    profiles: Mapping[str, Profile]
    providers: Mapping[str, Provider]
    database: Database
    embedded: EmbeddedPostgres | None
    """None when a given server is used."""
    sessions: Sessions
    options: SessionOptions
    drafts: Drafts
    prompts: Prompts
    session_text: SessionText
    desk: ApprovalDesk
    feed: LiveFeed
    dispatcher: Dispatcher
    queue: QueueEditor
    plugins: LoadedPlugins
    background: Background
    reduced_motion: bool

    async def close(self) -> None:
        """End turns, plugins and connections in this order; the last process of the user stops the embedded server."""
        await self.dispatcher.close()
        await self.background.close()
        await self.plugins.close()
        for provider in self.providers.values():
            await provider.close()
        await close_database(self.database, self.embedded)


async def open_core(request: StartRequest) -> Core:
    """Start everything.

    Raises:
        CosError: one sentence that names what is wrong and what to do.
    """
    paths = Paths.from_environment(request.env)
    await asyncio.to_thread(install_shipped, paths)
    config = load_config(paths)
    profiles = load_profiles(paths)
    wanted = effective_profile(config, request.env, request.flags)
    profile = profile_named(profiles, wanted.value, asked_by=wanted.source)
    database, embedded = await open_database(config, request)
    try:
        return await _compose(request, paths, config, profiles, profile, database, embedded)
    except BaseException:
        await close_database(database, embedded)
        raise


async def _compose(
    request: StartRequest,
    paths: Paths,
    config: Config,
    profiles: Mapping[str, Profile],
    profile: Profile,
    database: Database,
    embedded: EmbeddedPostgres | None,
) -> Core:
    await _apply_schemas(database, config, profiles)
    journal, sessions, feed, hooks = PostgresJournal(database), Sessions(database), LiveFeed(), HookBus()
    for orphan in await sweep_orphans(database, journal):
        log.warning("turn %s of session %s was interrupted; it is closed", orphan.turn_id, orphan.session_id)
    host = plugin_host(database, config, list(profiles), feed.publish)
    plugins = await load_plugins(config.settings.plugins, config.plugin_settings, paths.plugins_dir, hooks, host=host)
    tools = installed_tools(plugins)
    grants = Grants(database)
    _register_policy(hooks, profiles, request.flags, tools, grants)
    register_live_feed(hooks, feed.publish)
    blobs = PostgresBlobs(database)
    timeout = effective_approval_timeout(config, request.flags).value
    keeper = RuleKeeper(profiles, {name: tool.origin for name, tool in tools.items()}, grants)
    desk = ApprovalDesk(Approvals(database), keeper, feed.publish, timeout_seconds=timeout, surface=request.surface)
    providers = {name: request.provider_for(entry, request.env) for name, entry in profiles.items()}
    inputs = TurnInputs(steers=AnnouncedSteers(journal, sessions, feed.publish), blobs=blobs)
    make = partial(Agent, hooks=hooks, journal=journal, approver=desk, publish=feed.publish, inputs=inputs)
    agents = _agents(config, request, profiles, providers, ToolSet.of(*tools.values()), make)
    dispatcher = Dispatcher(
        agents=agents,
        gateway=Gateway(profiles, hooks, journal, sessions, blobs, feed.publish),
        journal=journal,
        sessions=sessions,
        plugins=plugins,
        retries=Retries(last_prompt=LastTurns(database).prompt, undo=lambda session_id: edits.undo(session_id)),
        publish=feed.publish,
    )
    edits = SessionEdits(database, dispatcher, feed.publish)
    dispatcher.commands.add(*plugins.commands)
    background = _background(database, journal, desk, Neighbours(database.boot_id, feed.publish), plugins)
    return Core(
        paths=paths,
        config=config,
        profile=profile,
        profiles=profiles,
        providers=providers,
        database=database,
        embedded=embedded,
        sessions=sessions,
        options=SessionOptions(database, feed.publish),
        drafts=Drafts(database),
        prompts=Prompts(database),
        session_text=SessionText(database),
        desk=desk,
        feed=feed,
        dispatcher=dispatcher,
        queue=QueueEditor(WaitingMessages(database), dispatcher),
        plugins=plugins,
        background=background,
        reduced_motion=effective_reduced_motion(config, request.env).value,
    )


def _agents(
    config: Config,
    request: StartRequest,
    profiles: Mapping[str, Profile],
    providers: Mapping[str, Provider],
    tools: ToolSet,
    make: Callable[..., Agent],
) -> dict[str, ProfileAgent]:
    def agent(entry: Profile) -> Agent:
        options = AgentOptions(
            max_steps=config.settings.agent.max_steps,
            compact_at=effective_compact_at(config, entry).value,
            retry=request.retry,
        )
        return make(provider=providers[entry.id], options=options)

    return {
        name: ProfileAgent(profile=entry, tools=_tools_of(entry, tools), agent=agent(entry))
        for name, entry in profiles.items()
    }


def _background(
    database: Database, journal: PostgresJournal, desk: ApprovalDesk, neighbours: Neighbours, plugins: LoadedPlugins
) -> Background:
    listener = Listener(database.conninfo)
    listener.on(CHANNEL, desk.hear, look=desk.look)
    listener.on(SESSIONS, neighbours.hear, look=neighbours.look)
    background = Background()
    background.every(SWEEP_SECONDS, "sweep of interrupted turns", lambda: sweep_orphans(database, journal))
    background.keep("word from other processes", listener.listen)
    background.every(LOCK_CHECK_SECONDS, "check of this process' lock", database.hold_boot_lock)
    for work in plugins.repeated:
        background.every(work.seconds, work.name, work.work)
    return background


def _policy_of(profile: Profile, flags: Flags) -> ProfilePolicy:
    book = RuleBook(profile)
    return ProfilePolicy(mode=lambda: effective_approval_mode(book.profile, flags), book=book)


def _register_policy(
    hooks: HookBus, profiles: Mapping[str, Profile], flags: Flags, tools: Mapping[str, Tool], grants: Grants
) -> None:
    policies = {name: _policy_of(entry, flags) for name, entry in profiles.items()}
    register_approval_policy(hooks, policies, tools, SessionGrants(of_session=grants.of_session, used=grants.used))


async def _apply_schemas(database: Database, config: Config, profiles: Mapping[str, Profile]) -> None:
    await apply_core_schema(database)
    await add_profiles(database, list(profiles))
    for name in config.settings.plugins:
        schema = plugin_schema(name)
        if schema is not None:
            await apply_plugin_schema(database, schema)


async def open_database(config: Config, request: StartRequest) -> tuple[Database, EmbeddedPostgres | None]:
    """Connect to the given server, or start the user's own; hand both to `close_database` in the end.

    Raises:
        DatabaseError: it cannot be used.
    """
    url = effective_database_url(config, request.env)
    if url.value is not None:
        try:
            conninfo = make_conninfo(url.value, application_name="cos")
        except psycopg.ProgrammingError as error:
            # What libpq quotes may be the password.
            reason = _reason(error).partition(":")[0]
            raise DatabaseError(f"the address of the database ({url.source}) is wrong: {reason}") from error
        return await Database(conninfo).open(), None
    embedded = embedded_postgres(config, request.say)
    try:
        target = await asyncio.to_thread(embedded.attach)
        try:
            await create_database(make_conninfo(**target.conninfo_parameters("postgres")), target.dbname)
        except psycopg.Error as error:
            raise DatabaseError(f"the database in {target.host} refused: {_reason(error)}. Try again") from error
        conninfo = make_conninfo(**target.conninfo_parameters())
        return await Database(conninfo, reattach=embedded.attach).open(), embedded
    except BaseException:
        await asyncio.to_thread(embedded.leave)
        raise


async def close_database(database: Database, embedded: EmbeddedPostgres | None) -> None:
    await database.close()
    if embedded is not None:
        await asyncio.to_thread(embedded.leave)


def _reason(error: psycopg.Error) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def embedded_postgres(config: Config, say: Callable[[str], None] = lambda line: None) -> EmbeddedPostgres:
    """The user's own server, as configured; nothing is started."""
    settings = config.settings.database
    folder: Path = settings.data_dir or default_state_dir(config.paths.data_dir)
    return EmbeddedPostgres(folder, bin_dir=settings.bin_dir, run_as=settings.run_as, say=say)


def _tools_of(profile: Profile, tools: ToolSet) -> ToolSet:
    if profile.settings.tools is None:
        return tools
    names = match_tools(profile.settings.tools, tools.names, file=profile.config_file)
    return ToolSet({name: tools.tools[name] for name in names})


__all__ = ["Core", "StartRequest", "close_database", "embedded_postgres", "open_core", "open_database"]
