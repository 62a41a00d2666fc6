"""What `cos doctor` looks at. Each check does what the program's start does, and says in one sentence what it found."""

from __future__ import annotations

import logging
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cos import __version__
from cos.agent.errors import CosError
from cos.agent.hooks import HookBus
from cos.cli.database_faults import repair, weaknesses
from cos.cli.logs import log_to
from cos.cli.opening import StartRequest, close_database, open_database
from cos.cli.own_server import embedded_postgres
from cos.cli.providers import build_provider
from cos.core.commands import Commands
from cos.core.config import Config, load_config
from cos.core.effective import Flags, effective_base_url, effective_database_url, effective_profile
from cos.core.errors import DatabaseError
from cos.core.first_start import install_shipped
from cos.core.masking import masked_url
from cos.core.paths import Paths
from cos.core.plugin_host import PluginHost
from cos.core.plugins import load_plugins
from cos.core.postgres.database import Database
from cos.core.postgres.schema import apply_core_schema, apply_plugin_schemas
from cos.core.postgres.statements import core_statements
from cos.core.profiles import Profile, load_profile, open_workspace, profile_folders, profile_named
from cos.core.skills.commands import shadowed
from cos.core.skills.folder import load_skills
from cos.core.skills.shelf import SkillShelf
from cos.core.tool_lists import tools_of
from cos.core.tools.installed import installed_tools

log = logging.getLogger("cos.doctor")

State = Literal["ok", "warning", "failed"]
SMALLEST_COLUMNS, SMALLEST_ROWS = 40, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding. `advice` says what to do; it is empty when nothing is to be done or the sentence says it."""

    name: str
    state: State
    sentence: str
    advice: str = ""


@dataclass(slots=True, kw_only=True)
class Examination:
    """The checks in order, and what later ones need of earlier ones."""

    env: Mapping[str, str]
    say: Callable[[str], None]
    findings: list[Check] = field(default_factory=list)
    paths: Paths | None = None
    config: Config | None = None
    tools: tuple[str, ...] | None = None
    """Names of all tools; None when the plugins could not be loaded."""

    async def run(self) -> list[Check]:
        """All checks. One that breaks is a finding and does not stop the others."""
        await self._guarded("versions", self._versions)
        await self._guarded("folders", self._folders)
        await self._guarded("log", self._log)
        await self._guarded("settings", self._settings)
        await self._guarded("plugins", self._plugins)
        await self._guarded("profiles", self._profiles)
        await self._guarded("database", self._database)
        await self._guarded("terminal", self._terminal)
        return self.findings

    async def _guarded(self, name: str, check: Callable[[], Awaitable[None]]) -> None:
        try:
            await check()
        except CosError as error:
            self._found(name, "failed", str(error))
        except Exception as error:
            log.exception("check %s broke", name)
            self._found(name, "failed", f"{type(error).__name__}: {error}", "This is a fault of cos; see the log.")

    def _found(self, name: str, state: State, sentence: str, advice: str = "") -> None:
        self.findings.append(Check(name=name, state=state, sentence=sentence, advice=advice))

    async def _versions(self) -> None:
        python = f"Python {platform.python_version()}"
        self._found("versions", "ok", f"cos {__version__}, {python} on {platform.system()} {platform.machine()}")

    async def _folders(self) -> None:
        paths = Paths.from_environment(self.env)
        install_shipped(paths)
        for folder in (paths.config_dir, paths.data_dir):
            refusal = _write_refusal(folder)
            if refusal:
                advice = "Set COS_HOME to a folder that you may write to."
                self._found("folders", "failed", f"{folder} cannot be written to: {refusal}", advice)
                return
        self.paths = paths
        chosen = "named by COS_HOME" if paths.source == "COS_HOME" else "this system's usual places"
        folders = dict.fromkeys((f"settings in {paths.config_dir}", f"data in {paths.data_dir}"))
        self._found("folders", "ok", f"{', '.join(folders)} ({chosen}), both writable")

    async def _log(self) -> None:
        if self.paths is None:
            return
        file = self.paths.log_file
        log_to(file)
        if file.exists() and not os.access(file, os.W_OK):
            self._found("log", "failed", f"{file} cannot be written to", "Remove it or change its owner.")
        else:
            self._found("log", "ok", f"warnings and errors go to {file}")

    async def _settings(self) -> None:
        if self.paths is None:
            return
        self.config = load_config(self.paths)
        self._found("settings", "ok", f"{self.paths.config_file} is readable and right")

    async def _plugins(self) -> None:
        if self.config is None:
            return
        settings = self.config.settings
        loaded = await load_plugins(
            settings.plugins,
            self.config.plugin_settings,
            self.config.paths.plugins_dir,
            HookBus(),
            host=PluginHost(source=self.config.source),
        )
        try:
            self.tools = tuple(installed_tools(loaded, Database(""), SkillShelf({})))
            plugins = ", ".join(settings.plugins) or "none"
            self._found("plugins", "ok", f"{plugins}; tools: {', '.join(self.tools) or 'none'}")
            for sentence in await loaded.findings():
                self._found("plugins", "warning", sentence)
        finally:
            await loaded.close()

    async def _profiles(self) -> None:
        if self.paths is None:
            return
        profiles: dict[str, Profile] = {}
        for folder in profile_folders(self.paths):
            name = f"profile {folder.name}"
            try:
                profile = load_profile(folder, self.paths)
                profiles[profile.id] = profile
                self.findings.append(await self._profile(name, profile))
                self._skills(profile)
            except CosError as error:
                self._found(name, "failed", str(error))
        if self.config is not None:
            wanted = effective_profile(self.config, self.env, Flags())
            profile_named(profiles, wanted.value, asked_by=wanted.source)
            self._found("profiles", "ok", f"cos starts with {wanted.value} ({wanted.source})")

    async def _profile(self, name: str, profile: Profile) -> Check:
        workspace, settings = open_workspace(profile), profile.settings
        tools = "tools unknown"
        if self.tools is not None:
            tools = f"tools {', '.join(tools_of(profile, self.tools)) or 'none'}"
        provider = build_provider(profile, self.env)
        await provider.close()
        base_url = effective_base_url(profile, self.env).value
        model = " ".join(filter(None, (settings.provider, settings.model)))
        at = f" at {masked_url(base_url)}" if base_url else ""
        sentence = f"{model}{at}, works in {workspace}, {tools}"
        missing: str = getattr(provider, "sentence", "")
        if missing:
            return Check(name=name, state="warning", sentence=sentence, advice=missing)
        key = f", key in {settings.api_key_env}" if self.env.get(settings.api_key_env, "").strip() else ""
        return Check(name=name, state="ok", sentence=sentence + (key if settings.provider == "anthropic" else ""))

    def _skills(self, profile: Profile) -> None:
        name, found = f"skills of {profile.id}", load_skills(profile.folder)
        if found.skills or not found.broken:
            self._found(name, "ok", ", ".join(found.skills) or "none")
        for sentence in [*map(str, found.broken), *shadowed(found, Commands())]:
            self._found(name, "warning", sentence)

    async def _database(self) -> None:
        if self.config is None:
            return
        url = effective_database_url(self.config, self.env)
        before = None if url.value is not None else embedded_postgres(self.config).status()
        request = StartRequest(env=self.env, flags=Flags(), surface="doctor", say=self.say)
        try:
            version = await self._tried_database(request, self.config)
        except DatabaseError as error:
            self._found("database", "failed", str(error), repair(str(error)))
            return
        if before is None:
            self._found("database", "ok", f"{masked_url(url.value or '')} ({url.source}) answers, {version}")
            return
        users = "" if before.users is None else f", {before.users} in use by others"
        ran = f"was running already{users}" if before.running else "was not running; started and stopped for this check"
        self._found("database", "ok", f"cos' own in {before.state_dir}, {version}, {ran}")

    async def _tried_database(self, request: StartRequest, config: Config) -> str:
        """Its version, after what the start of the program does with it."""
        database, embedded = await open_database(config, request)
        try:
            await database.refuse_read_only()
            await apply_core_schema(database)
            await apply_plugin_schemas(database, config.settings.plugins)
            async for sentence, advice in weaknesses(database):
                self._found("database", "warning", sentence, advice)
            (row,) = await database.fetch(core_statements("start")["server_version"])
        finally:
            await close_database(database, embedded)
        return f"PostgreSQL {row['version'] // 10000}.{row['version'] % 10000}"

    async def _terminal(self) -> None:
        for finding in _terminal_findings(self.env):
            self.findings.append(finding)


def _write_refusal(folder: Path) -> str:
    """Why nothing can be written there, or nothing. Only trying it tells, for root above all."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _terminal_findings(env: Mapping[str, str]) -> Iterator[Check]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield Check(name="terminal", state="ok", sentence="none here: cos chat needs one, cos ask does not")
        return
    kind, size = env.get("TERM", ""), shutil.get_terminal_size()
    sentence = f"{kind or 'TERM is not set'}, {size.columns}x{size.lines}, {_colours(env)}, {sys.stdout.encoding}"
    advice = []
    if kind in {"", "dumb", "unknown"}:
        advice.append("Set TERM to what your terminal is, such as xterm-256color.")
    if size.columns < SMALLEST_COLUMNS or size.lines < SMALLEST_ROWS:
        advice.append(f"cos chat needs {SMALLEST_COLUMNS} columns and {SMALLEST_ROWS} rows.")
    if sys.stdout.encoding.lower().replace("-", "") != "utf8":
        advice.append("Use a UTF-8 locale, such as LANG=C.UTF-8.")
    yield Check(name="terminal", state="warning" if advice else "ok", sentence=sentence, advice=" ".join(advice))


def _colours(env: Mapping[str, str]) -> str:
    if env.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if env.get("COLORTERM", "").lower() in {"truecolor", "24bit"}:
        return "16 million colours"
    return "256 colours" if "256" in env.get("TERM", "") else "16 colours"
