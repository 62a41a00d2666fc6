"""The composition root: builds the one core that every surface of a process uses, in the start-up order of the design.

Connect → core schema → each plugin's schema and `register` → one hook bus → one agent per profile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from cos.agent.hooks import HookBus
from cos.agent.tools import Tool, ToolSet
from cos.agent.turn import Agent, AgentOptions, TurnInputs
from cos.core.approval_desk import CHANNEL, ApprovalDesk
from cos.core.approval_policy import ProfilePolicy, SessionGrants, register_approval_policy
from cos.core.background import Background
from cos.core.cancelling import CHANNEL as CANCELS
from cos.core.child_agents import ChildAgents
from cos.core.config import Config, load_config
from cos.core.context_command import ContextCommand
from cos.core.delegation import Delegation
from cos.core.dispatcher import Dispatcher, ProfileAgent, StoredTurns
from cos.core.effective import (
    Flags,
    effective_approval_mode,
    effective_approval_timeout,
    effective_compact_at,
    effective_profile,
    effective_reduced_motion,
)
from cos.core.first_start import install_shipped
from cos.core.gateway import Gateway
from cos.core.live import CoreEvent, LiveFeed
from cos.core.live_feed_hooks import register_live_feed
from cos.core.neighbours import CHANNEL as SESSIONS
from cos.core.neighbours import Neighbours
from cos.core.paths import Paths
from cos.core.plugins import LoadedPlugins, load_plugins
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.blobs import PostgresBlobs
from cos.core.postgres.cancels import Cancels
from cos.core.postgres.database import Database
from cos.core.postgres.grants import Grants
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.last_turns import LastTurns
from cos.core.postgres.listener import Listener
from cos.core.postgres.plugin_loans import plugin_host
from cos.core.postgres.sessions import Sessions
from cos.core.postgres.sweep import FIRST_SWEEP_SECONDS, SWEEP_SECONDS, Sweeper
from cos.core.profiles import Profile, load_profiles, profile_named
from cos.core.queue import AnnouncedSteers
from cos.core.rule_book import RuleBook
from cos.core.rule_keeper import RuleKeeper
from cos.core.session_contexts import SessionContexts
from cos.core.session_edits import SessionEdits
from cos.core.skills.commands import SkillCommands
from cos.core.skills.shelf import SkillShelf
from cos.core.tool_lists import tools_of
from cos.core.tools.installed import installed_tools

if TYPE_CHECKING:
    from cos.agent.provider import Provider

from cos.cli.opening import StartRequest, Store, abandon, open_store
from cos.cli.running_core import Core
from cos.core.session_commands import SessionCommands, SessionServices

log = logging.getLogger("cos.start")

GO_ON_SECONDS = 1.0
"""Between two looks at queues that could not go on; without one, a look costs nothing."""


async def open_core(request: StartRequest, opening: asyncio.Task[Store] | None = None) -> Core:
    """Start everything. `opening`: what `open_store` opens already; without a core it is closed.

    Raises:
        CosError: one sentence that names what is wrong and what to do.
    """
    try:
        paths = Paths.from_environment(request.env)
        await asyncio.to_thread(install_shipped, paths)
        config = load_config(paths)
        profiles = load_profiles(paths)
        wanted = effective_profile(config, request.env, request.flags)
        profile = profile_named(profiles, wanted.value, asked_by=wanted.source)
        opening = opening or asyncio.create_task(open_store(config, request))
        return await _compose(request, config, profiles, profile, await opening)
    except BaseException:
        if opening is not None:
            await abandon(opening)
        raise


async def _compose(
    request: StartRequest, config: Config, profiles: Mapping[str, Profile], profile: Profile, store: Store
) -> Core:
    paths, database = config.paths, store.database
    journal, sessions, feed, hooks = PostgresJournal(database), Sessions(database), LiveFeed(), HookBus()
    sweeper = await _close_orphans(database, journal, feed)
    host = plugin_host(database, config, list(profiles), feed.publish, keys_in=_key_variables(profiles))
    plugins = await load_plugins(config.settings.plugins, config.plugin_settings, paths.plugins_dir, hooks, host=host)
    skills = SkillShelf({name: entry.folder for name, entry in profiles.items()})
    tools = installed_tools(plugins, database, skills, lambda: delegation)
    grants, blobs = Grants(database), PostgresBlobs(database)
    books = {name: RuleBook(entry, list(tools)) for name, entry in profiles.items()}
    _register_policy(hooks, books, request.flags, tools, grants, feed.publish)
    register_live_feed(hooks, feed.publish)
    keeper = RuleKeeper(profiles, {name: tool.origin for name, tool in tools.items()}, grants)
    desk = _desk(config, request, Approvals(database), keeper, feed.publish)
    providers = {name: request.provider_for(entry, request.env) for name, entry in profiles.items()}
    inputs = TurnInputs(steers=AnnouncedSteers(journal, sessions, feed.publish), blobs=blobs)
    make = partial(Agent, hooks=hooks, journal=journal, approver=desk, publish=feed.publish, inputs=inputs)
    agents = _agents(config, request, profiles, providers, ToolSet.of(*tools.values()), make)
    contexts = SessionContexts(sessions, plugins, skills)
    dispatcher = Dispatcher(
        agents=agents,
        gateway=Gateway(profiles, hooks, journal, sessions, blobs, feed.publish, providers),
        journal=journal,
        sessions=sessions,
        contexts=contexts,
        stored=_stored_turns(database, sweeper, lambda *given: edits.again(*given)),
        publish=feed.publish,
    )
    child_agents = ChildAgents(agents, dispatcher.turns, journal, sessions, contexts, feed.publish)
    delegation = Delegation(config.settings.delegation, child_agents, dispatcher.turns, hooks)
    edits = SessionEdits(database, dispatcher, feed.publish)
    core = Core(
        paths=paths,
        config=config,
        profile=profile,
        profiles=profiles,
        providers=providers,
        database=database,
        embedded=store.embedded,
        sessions=sessions,
        edits=edits,
        desk=desk,
        feed=feed,
        dispatcher=dispatcher,
        plugins=plugins,
        skills=SkillCommands(skills, dispatcher.commands),
        background=_background(database, sweeper, desk, dispatcher, feed, plugins),
        rule_books=books,
        reduced_motion=effective_reduced_motion(config, request.env).value,
    )
    _add_commands(core, agents, ContextCommand(contexts, journal, agents, providers))
    return core


def _key_variables(profiles: Mapping[str, Profile]) -> list[str]:
    return [entry.settings.api_key_env for entry in profiles.values()]


def _stored_turns(database: Database, sweeper: Sweeper, again: Callable[..., Awaitable[object]]) -> StoredTurns:
    return StoredTurns(last_turn=LastTurns(database).of, again=again, cancels=Cancels(database), sweeper=sweeper)


async def _close_orphans(database: Database, journal: PostgresJournal, feed: LiveFeed) -> Sweeper:
    sweeper = Sweeper(database, journal, feed.publish)
    for orphan in await sweeper.sweep():
        log.warning("turn %s of session %s was interrupted; it is closed", orphan.turn_id, orphan.session_id)
    return sweeper


def _add_commands(core: Core, agents: Mapping[str, ProfileAgent], context: ContextCommand) -> None:
    services = SessionServices(
        dispatcher=core.dispatcher,
        sessions=core.sessions,
        edits=core.edits,
        options=core.options,
        exports=core.exports,
        plugins=core.plugins,
        agents=agents,
        providers=core.providers,
    )
    commands = core.dispatcher.commands
    commands.add(*SessionCommands(services).all(), context.command(), core.skills.listing(), *core.plugins.commands)
    commands.add_of_profiles(core.skills)


def _agents(
    config: Config,
    request: StartRequest,
    profiles: Mapping[str, Profile],
    providers: Mapping[str, Provider],
    tools: ToolSet,
    make: Callable[..., Agent],
) -> dict[str, ProfileAgent]:
    def agent(entry: Profile, max_steps: int) -> Agent:
        options = AgentOptions(
            max_steps=max_steps,
            compact_at=effective_compact_at(config, entry).value,
            retry=request.retry,
        )
        return make(provider=providers[entry.id], options=options)

    settings = config.settings
    return {
        name: ProfileAgent(
            profile=entry,
            tools=ToolSet({tool: tools.tools[tool] for tool in tools_of(entry, tools.names)}),
            agent=agent(entry, settings.agent.max_steps),
            child=agent(entry, settings.delegation.max_iterations),
        )
        for name, entry in profiles.items()
    }


def _background(
    database: Database,
    sweeper: Sweeper,
    desk: ApprovalDesk,
    dispatcher: Dispatcher,
    feed: LiveFeed,
    plugins: LoadedPlugins,
) -> Background:
    neighbours = Neighbours(database.boot_id, feed.publish, plugins.stored_events)
    listener = Listener(database.conninfo, lost=database.pulse.doubt)
    listener.on(CHANNEL, desk.hear, look=desk.look)
    listener.on(CANCELS, dispatcher.cancelling.hear, look=dispatcher.cancelling.look)
    listener.on(SESSIONS, neighbours.hear, look=neighbours.look)
    background = Background()
    background.every(SWEEP_SECONDS, "sweep of interrupted turns", sweeper.sweep, first=FIRST_SWEEP_SECONDS)
    background.every(SWEEP_SECONDS, "turns that were lost here", dispatcher.cancelling.close_lost)
    background.keep("word from other processes", listener.listen)
    background.keep("word to other processes", database.teller.run)
    background.keep("pulse of the database", database.pulse.run)
    background.every(GO_ON_SECONDS, "queues that could not go on", dispatcher.go_on)
    for work in plugins.repeated:
        background.every(work.seconds, work.name, work.work, first=work.first)
    return background


def _desk(
    config: Config,
    request: StartRequest,
    approvals: Approvals,
    keeper: RuleKeeper,
    publish: Callable[[CoreEvent], None],
) -> ApprovalDesk:
    timeout = effective_approval_timeout(config, request.flags).value
    return ApprovalDesk(approvals, keeper, publish, timeout_seconds=timeout, surface=request.surface)


def _register_policy(
    hooks: HookBus,
    books: Mapping[str, RuleBook],
    flags: Flags,
    tools: Mapping[str, Tool],
    grants: Grants,
    publish: Callable[[CoreEvent], None],
) -> None:
    def policy_of(book: RuleBook) -> ProfilePolicy:
        return ProfilePolicy(mode=lambda: effective_approval_mode(book.profile, flags), book=book)

    policies = {name: policy_of(book) for name, book in books.items()}
    granted = SessionGrants(of_session=grants.of_session, used=grants.used)
    register_approval_policy(hooks, policies, tools, granted, publish)
