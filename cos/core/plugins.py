"""Finds and loads the enabled plugins. Every failure is loud and names the plugin: nothing runs with a part missing.

Only the module that a plugin declares is imported. What it prints goes to the log, what it does to the environment is
undone, and neither `sys.exit` nor an endless loop in it takes the program along.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import importlib
import importlib.metadata
import importlib.util
import inspect
import io
import logging
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cos.agent.cancellation import is_being_cancelled
from cos.agent.errors import CosError
from cos.agent.hooks import APPROVAL_POLICY, LIVE_FEED
from cos.agent.threads import on_a_thread
from cos.core.commands import BUILT_IN as OWN_COMMANDS
from cos.core.commands import parse_command
from cos.core.config_errors import ConfigError
from cos.core.errors import PluginError
from cos.core.plugin_api import PluginContext, PluginEvent, Registrations, Repeated

if TYPE_CHECKING:
    from pathlib import Path

    from cos.agent.hooks import HookBus
    from cos.agent.tools import Tool
    from cos.core.commands import Command
    from cos.core.plugin_api import Check
    from cos.core.plugin_host import PluginHost

log = logging.getLogger("cos.plugins")

ENTRY_POINTS = "cos.plugins"
BUILT_IN = "cos.plugins"
LOAD_SECONDS = 30.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(slots=True)
class LoadedPlugins:
    """What the enabled plugins brought, in their order."""

    registrations: dict[str, Registrations] = field(default_factory=dict)

    @property
    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for registered in self.registrations.values() for tool in registered.tools}

    @property
    def commands(self) -> list[Command]:
        return [command for registered in self.registrations.values() for command in registered.commands]

    @property
    def repeated(self) -> list[Repeated]:
        return [work for registered in self.registrations.values() for work in registered.repeated]

    @property
    def stored_events(self) -> dict[str, type[PluginEvent]]:
        """By their types."""
        return {kind.type: kind for registered in self.registrations.values() for kind in registered.stored_events}

    def offered(self, name: str) -> Any | None:
        """What a plugin offers under `name`; None when no enabled plugin does."""
        return next((it.offers[name] for it in self.registrations.values() if name in it.offers), None)

    async def findings(self) -> list[str]:
        """What the plugins' checks have to say. One that fails says so itself."""
        return await _said({name: registered.checks for name, registered in self.registrations.items()})

    async def database_findings(self) -> list[str]:
        """As `findings`, of the plugins' own tables."""
        return await _said({name: registered.database_checks for name, registered in self.registrations.items()})

    async def context_for(self, profile_id: str) -> list[tuple[str, str]]:
        """The texts that plugins add to the frozen context of a new session, each with the plugin's name.

        Raises:
            PluginError: one has no text because it failed; a session must not begin with a part missing.
        """
        texts = []
        for name, registered in self.registrations.items():
            for context in registered.contexts:
                try:
                    text = context(profile_id)
                    if inspect.isawaitable(text):
                        text = await text
                except Exception as error:
                    raise PluginError(f"plugin {name} could not give its context: {error}") from error
                if text and text.strip():
                    texts.append((name, text))
        return texts

    async def close(self) -> None:
        """Close the plugins, last one first; one that fails does not keep the others from closing."""
        for name, registered in reversed(self.registrations.items()):
            for close in registered.closers:
                try:
                    await close()
                except Exception:
                    log.exception("plugin %s failed while closing", name)


async def _said(checks: Mapping[str, Sequence[Check]]) -> list[str]:
    found: list[str] = []
    for name, its_checks in checks.items():
        for check in its_checks:
            try:
                found += await check()
            except Exception as error:
                log.exception("a check of plugin %s failed", name)
                found.append(f"A check of the plugin {name} failed: {error}")
    return found


async def load_plugins(
    names: Sequence[str],
    settings: Mapping[str, Mapping[str, Any]],
    plugins_dir: Path,
    hooks: HookBus,
    *,
    host: PluginHost | None = None,
    limit_seconds: float = LOAD_SECONDS,
) -> LoadedPlugins:
    """Import each plugin and call its `register`, in order.

    Raises:
        PluginError: one is not installed, fails, or offers a tool or a command that somebody else offers.
        ConfigError: the settings of one are wrong.
    """
    loaded = LoadedPlugins()
    try:
        for name in names:
            registrations = Registrations()
            context = PluginContext(name, settings.get(name, {}), registrations, host)
            loaded.registrations[name] = registrations
            async with _contained(name, limit_seconds):
                register = await on_a_thread(partial(_register_function, name, plugins_dir), f"load-{name}")
                result = await on_a_thread(partial(register, context), f"load-{name}")
                if inspect.isawaitable(result):
                    await result
                _check_tools(name, registrations, loaded)
                _check_commands(name, registrations, loaded)
                for hook, callback in registrations.hooks:
                    hooks.register(hook, callback, source=name)
    except BaseException:
        for name in loaded.registrations:
            hooks.unregister_source(name)
        await loaded.close()
        raise
    return loaded


def import_shipped(names: Sequence[str]) -> None:
    """Import those of the plugins that ship with cos, before there is a core to load them into."""
    for name in names:
        if importlib.util.find_spec(f"{BUILT_IN}.{name}") is not None:
            importlib.import_module(f"{BUILT_IN}.{name}")


def installed_plugins(plugins_dir: Path) -> list[str]:
    """Names of everything that could be enabled."""
    package = importlib.import_module(BUILT_IN)
    built_in = {item.name for path in package.__path__ for item in os.scandir(path) if item.is_dir()}
    own = {item.stem for item in plugins_dir.glob("*") if item.suffix == ".py" or (item / "__init__.py").is_file()}
    declared = {point.name for point in importlib.metadata.entry_points(group=ENTRY_POINTS)}
    return sorted(name for name in built_in | own | declared if not name.startswith("_"))


def _register_function(name: str, plugins_dir: Path) -> Callable[[PluginContext], Any]:
    if not _NAME.fullmatch(name) or name in {APPROVAL_POLICY, LIVE_FEED}:
        raise PluginError(f"{name!r} in `plugins` cannot be the name of a plugin")
    found = _find(name, plugins_dir)
    register = getattr(found, "register", found)
    if not callable(register):
        raise PluginError(f"plugin {name}: its module has no function register(ctx)")
    return register  # type: ignore[no-any-return]  # foreign code is untyped


def _find(name: str, plugins_dir: Path) -> Any:
    if importlib.util.find_spec(f"{BUILT_IN}.{name}") is not None:
        return importlib.import_module(f"{BUILT_IN}.{name}")
    for file in (plugins_dir / name / "__init__.py", plugins_dir / f"{name}.py"):
        if file.is_file():
            return _module_from(name, file)
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        if point.name == name:
            return point.load()
    known = installed_plugins(plugins_dir)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise PluginError(
        f"plugin {name} is enabled in commonos.toml but not installed.{hint} Installed: {', '.join(known)}. "
        f"Install it, put it into {plugins_dir}, or take it out of `plugins`"
    )


def _module_from(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"cos_user_plugins.{name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


@contextlib.asynccontextmanager
async def _contained(name: str, limit_seconds: float) -> AsyncIterator[None]:
    """Keep what a plugin does while it loads from reaching the rest of the program, also when it never comes back.

    Raises:
        PluginError: it raised anything at all, or did not return in time.
        ConfigError: its settings are wrong.
    """
    printed, environment = io.StringIO(), dict(os.environ)
    try:
        with contextlib.redirect_stdout(printed):
            async with asyncio.timeout(limit_seconds) as limit:
                yield
    except asyncio.CancelledError as error:
        if is_being_cancelled():
            raise
        raise _plugin_error(name, error) from error
    except Exception as error:
        if limit.expired():
            raise PluginError(
                f"plugin {name} did not load within {limit_seconds:g} s; take it out of `plugins`"
            ) from None
        raise _plugin_error(name, error) from error
    finally:
        if dict(os.environ) != environment:
            log.warning("plugin %s changed the environment while loading; the changes were undone", name)
            os.environ.clear()
            os.environ.update(environment)
        if printed.getvalue():
            log.info("plugin %s printed while loading: %s", name, printed.getvalue())


def _plugin_error(name: str, error: BaseException) -> CosError:
    if isinstance(error, PluginError | ConfigError):
        return error
    log.error("plugin %s failed to load", name, exc_info=error)
    what = str(error) if isinstance(error, CosError) else f"{type(error).__name__}: {error}"
    return PluginError(f"plugin {name} failed to load: {what}")


def _check_tools(name: str, registrations: Registrations, loaded: LoadedPlugins) -> None:
    offered = [tool.name for tool in registrations.tools]
    for tool in registrations.tools:
        if not _TOOL_NAME.fullmatch(tool.name):
            raise PluginError(
                f"plugin {name} offers a tool named {tool.name!r}; "
                "a name takes only letters, digits, _ and -, at most 64 of them"
            )
        if offered.count(tool.name) > 1:
            raise PluginError(f"plugin {name} offers the tool {tool.name} more than once")
        for other, registered in loaded.registrations.items():
            if other != name and any(tool.name == known.name for known in registered.tools):
                raise PluginError(f"plugin {name} offers the tool {tool.name}, which {other} offers too")


def _check_commands(name: str, registrations: Registrations, loaded: LoadedPlugins) -> None:
    offered = [command.name for command in registrations.commands]
    for command in offered:
        if parse_command(f"/{command}") != (command, ""):
            raise PluginError(
                f"plugin {name} offers a command named {command!r}; "
                "a name takes only a-z, 0-9, _ and -, and begins with a letter"
            )
        others = (other for other, it in loaded.registrations.items() if other != name
                  for known in it.commands if known.name == command)  # fmt: skip
        owner = "it itself" if offered.count(command) > 1 else "cos" if command in OWN_COMMANDS else next(others, None)
        if owner is not None:
            raise PluginError(
                f"plugin {name} offers the command /{command}, which {owner} offers too; give it another name in the "
                "plugin, or take the plugin out of `plugins`"
            )
