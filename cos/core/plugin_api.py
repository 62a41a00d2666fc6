"""What a plugin may use of the core. A plugin is a module with `register(ctx)`; `ctx` is the `PluginContext` here.

The shape is that of Hermes Agent, so that its plugins can be loaded.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from pydantic import BaseModel

from cos.agent.errors import CosError
from cos.agent.events import Notice
from cos.agent.records import Risk
from cos.agent.threads import on_a_thread
from cos.agent.tools import CallDescription, Json, Tool, ToolContext, ToolError, ToolOk, ToolOutcome
from cos.core.checking import checked
from cos.core.commands import Command, CommandAnswer, CommandCall
from cos.core.environment import without_secrets
from cos.core.errors import CommandError, DatabaseError
from cos.core.live import PluginEvent
from cos.core.plugin_host import FrozenContext, PluginConnection, PluginDatabase, PluginHost
from cos.core.postgres.statements import plugin_statements
from cos.core.shell.risk import command_risk
from cos.core.workspace_files import find_ripgrep

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path
    from typing import LiteralString

    from cos.agent.hooks import Callback
    from cos.agent.identity import TurnInfo

log = logging.getLogger("cos.plugins")

COMMAND_SECONDS = 30.0
"""How long a plugin's slash command may take, as in Hermes."""

Close = Callable[[], Awaitable[None]]
Check = Callable[[], Awaitable[list[str]]]
"""Sentences for the user about what is not as it should be, each with what to do."""
Context = Callable[[str], "str | Awaitable[str | None] | None"]
"""profile id -> text for the frozen context of that profile's new sessions; None or blank adds nothing."""


@dataclass(frozen=True, slots=True)
class CliAnswer:
    """What a command of a plugin has to say. Plugins never print: the command line does."""

    text: str
    exit_code: int = 0


Cli = Callable[["Namespace"], Awaitable[CliAnswer]]
"""The parsed arguments -> what to print."""
UsageLines = Callable[[UUID], Awaitable[Sequence[str]]]
"""A session -> what a plugin knows of its usage."""
M = TypeVar("M", bound=BaseModel)

__all__ = [
    "CallDescription",
    "CliAnswer",
    "CommandCall",
    "FrozenContext",
    "Notice",
    "PluginConnection",
    "PluginContext",
    "PluginDatabase",
    "PluginEvent",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolOk",
    "ToolOutcome",
    "command_risk",
    "find_ripgrep",
]


@dataclass(frozen=True, slots=True)
class Repeated:
    """Work that the core repeats while the program runs."""

    seconds: float
    name: str
    work: Callable[[], Awaitable[object]]
    first: float | None = None
    """Seconds before the first time; None = as before every other."""


@dataclass(slots=True)
class Registrations:
    """What one plugin has asked for. Takes effect only when its `register` returned: all or nothing."""

    tools: list[Tool] = field(default_factory=list)
    hooks: list[tuple[str, Callback]] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)
    closers: list[Close] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    database_checks: list[Check] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    cli: dict[str, Cli] = field(default_factory=dict)
    offers: dict[str, Any] = field(default_factory=dict)
    repeated: list[Repeated] = field(default_factory=list)
    stored_events: list[type[PluginEvent]] = field(default_factory=list)


class PluginContext:
    """Handed to a plugin's `register`."""

    def __init__(
        self,
        name: str,
        config: Mapping[str, Any],
        registrations: Registrations,
        host: PluginHost | None = None,
    ) -> None:
        self.name = name
        self.config = config
        """The plugin's table in commonos.toml, empty when there is none."""
        self.stored_events = registrations.stored_events
        """Append the events that tell of something stored: they reach the other processes on the database, too.

        Besides those of every PluginEvent, their fields hold numbers, texts, None or Decimals, and little of it.
        """
        self._registrations = registrations
        self._host = host or PluginHost()
        self.child_environment: Callable[[], dict[str, str]] = partial(without_secrets, os.environ, self._host.keys_in)
        """Gives the environment for a program that the plugin starts: the user's, without keys and passwords."""

    @property
    def has_database(self) -> bool:
        """False where plugins are loaded only to be looked at, as by `cos doctor`."""
        return self._host.database is not None

    @property
    def database(self) -> PluginDatabase:
        """The database, with the plugin's schema applied (`sql/<plugin>/schema.sql`).

        Raises:
            DatabaseError: none is open here.
        """
        if self._host.database is None:
            raise DatabaseError(f"plugin {self.name}: no database is open here")
        return self._host.database

    def statements(self, topic: str) -> Mapping[str, LiteralString]:
        """The named statements of the plugin's own `sql/<plugin>/queries/<topic>.sql`."""
        return plugin_statements(self.name, topic)

    def settings(self, model: type[M]) -> M:
        """The plugin's table as `model`, whose validators find `profiles` (ids, or None) in their context.

        Raises:
            ConfigError: a key is unknown or missing, or a value is wrong; it names file, line, key and near match.
        """
        source = self._host.source
        if source is None:
            return model.model_validate(self.config, context={"profiles": self._host.profiles})
        return checked(model, source, self.config, at=(self.name,), context={"profiles": self._host.profiles})

    def publish(self, event: PluginEvent | Notice) -> None:
        """Put an event into the live feed of its turn's session. Call it on the event loop."""
        if isinstance(event, PluginEvent) and not event.type.startswith(f"{self.name}."):
            raise ValueError(f"the type of an event of plugin {self.name} must begin with {self.name!r} and a dot")
        self._host.publish(event)
        if isinstance(event, PluginEvent) and type(event) in self.stored_events:
            self._host.tell(event)

    async def frozen_context(self, session_id: UUID) -> FrozenContext | None:
        """What this plugin gave to the frozen context of a session; None when nothing is frozen there."""
        return await self._host.frozen_context(self.name, session_id)

    async def find_session(self, id_or_prefix: str) -> UUID:
        """
        Raises:
            SessionError: no session's id begins so, or more than one.
        """
        return await self._host.find_session(id_or_prefix)

    async def session_titles(self, session_ids: Sequence[UUID]) -> dict[UUID, str]:
        """The titles of those of the sessions that still exist."""
        return await self._host.titles(session_ids)

    def offer(self, name: str, service: Any) -> None:
        """Let surfaces find `service` under `name` (`LoadedPlugins.offered`), without knowing the plugin.

        `usage` is a `UsageLines`: what `/usage` says of a session besides its tokens. It may raise CosError.
        """
        self._registrations.offers[name] = service

    def register_cli(self, command: str, run: Cli) -> None:
        """Run the command `cos <command>`. Its arguments are declared in `cos.cli.arguments`."""
        self._registrations.cli[command] = run

    def repeat(
        self, seconds: float, name: str, work: Callable[[], Awaitable[object]], *, first: float | None = None
    ) -> None:
        """Await `work` every `seconds` while the program runs, the first time after `first`; `name` stands in the log
        when it fails."""
        self._registrations.repeated.append(Repeated(seconds, name, work, first))

    def add_tool(self, tool: Tool) -> None:
        """Offer a tool to every profile that does not leave it out."""
        self._registrations.tools.append(tool)

    def register_tool(
        self,
        name: str,
        toolset: str,
        schema: Json,
        handler: Callable[..., Any],
        *,
        description: str = "",
        risk: Risk | Callable[[Json], Risk] = "execute",
        parallel: bool = False,
        describe: Callable[[Json, TurnInfo, Path], CallDescription] | None = None,
    ) -> None:
        """Offer a tool as Hermes' plugins do: `handler(args, **kwargs)`, sync or async, returns text or an outcome.

        `schema` may be the bare JSON schema of the arguments, or {"name", "description", "parameters"}.
        """
        parameters = schema.get("parameters", schema)
        self.add_tool(
            Tool(
                name=name,
                title=name.replace("_", " "),
                description=description or schema.get("description", ""),
                schema=parameters,
                run=_adapted(handler),
                origin=self.name,
                risk=risk,
                parallel=parallel,
                describe=describe,
            )
        )

    def register_hook(self, name: str, callback: Callback) -> None:
        """Call `callback` whenever the hook fires (`cos.agent.hookspecs` lists them)."""
        self._registrations.hooks.append((name, callback))

    def register_context(self, context: Context) -> None:
        """Add text to the frozen context of new sessions."""
        self._registrations.contexts.append(context)

    def register_command(
        self, name: str, handler: Callable[[str], Any], description: str = "", args_hint: str = ""
    ) -> None:
        """Offer the slash command `/name` on every surface.

        `handler(arguments)`, sync or async, returns the text to show, or None. What it raises is shown as a sentence.
        """

        async def run(call: CommandCall) -> str | None:
            if inspect.iscoroutinefunction(handler):
                value = await handler(call.argument)
            else:
                value = await on_a_thread(lambda: handler(call.argument), f"command-{name}")
            return None if value is None else str(value)

        self.add_command(name, run, description, args_hint)

    def add_command(
        self, name: str, run: Callable[[CommandCall], Awaitable[str | None]], description: str = "", args_hint: str = ""
    ) -> None:
        """As `register_command`, for a handler that wants to know the profile and the session too."""

        async def contained(call: CommandCall) -> CommandAnswer:
            try:
                async with asyncio.timeout(COMMAND_SECONDS):
                    return CommandAnswer(text=await run(call) or "")
            except TimeoutError:
                raise CommandError(f"/{name} of the plugin {self.name} took more than {COMMAND_SECONDS:g} s") from None
            except CosError:
                raise
            except Exception as error:
                log.exception("the command /%s of plugin %s failed", name, self.name)
                raise CommandError(f"/{name} of the plugin {self.name} failed: {error}") from error

        self._registrations.commands.append(
            Command(
                name=name,
                summary=description,
                run=contained,
                arguments=args_hint,
                needs_session=False,
                origin=self.name,
            )
        )

    def register_check(self, check: Check, *, of_tables: bool = False) -> None:
        """Have `check` looked at after the start and by `cos doctor`; one `of_tables` instead by `cos db check`.

        The latter may read the whole of the plugin's own tables.
        """
        (self._registrations.database_checks if of_tables else self._registrations.checks).append(check)

    def on_close(self, close: Close) -> None:
        """Await `close` when the program ends."""
        self._registrations.closers.append(close)


def _adapted(handler: Callable[..., Any]) -> Callable[[Json, TurnInfo, ToolContext], Awaitable[ToolOutcome]]:
    parameters = inspect.signature(handler).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())

    async def run(args: Json, turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        offered = {"turn": turn, "ctx": ctx, "task_id": str(turn.session_id), "session_id": str(turn.session_id)}
        passed = {key: value for key, value in offered.items() if takes_all or key in parameters}
        if inspect.iscoroutinefunction(handler):
            value = await handler(args, **passed)
        else:
            value = await on_a_thread(
                lambda: handler(args, **passed), f"tool-{getattr(handler, '__name__', 'handler')}"
            )
            if inspect.isawaitable(value):
                value = await value
        if isinstance(value, ToolOk | ToolError):
            return value
        return ToolOk(content=value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))

    return run
