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
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cos.agent.errors import CosError
from cos.core.errors import PluginError
from cos.core.plugin_api import PluginContext, Registrations

if TYPE_CHECKING:
    from pathlib import Path

    from cos.agent.hooks import HookBus
    from cos.agent.tools import Tool

log = logging.getLogger("cos.plugins")

ENTRY_POINTS = "cos.plugins"
BUILT_IN = "cos.plugins"
LOAD_SECONDS = 30.0


@dataclass(slots=True)
class LoadedPlugins:
    """What the enabled plugins brought, in their order."""

    registrations: dict[str, Registrations] = field(default_factory=dict)

    @property
    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for registered in self.registrations.values() for tool in registered.tools}

    async def context_for(self, profile_id: str) -> list[str]:
        """The texts that plugins add to the frozen context of a new session."""
        texts = []
        for registered in self.registrations.values():
            for context in registered.contexts:
                text = context(profile_id)
                if inspect.isawaitable(text):
                    text = await text
                if text and text.strip():
                    texts.append(text)
        return texts

    async def close(self) -> None:
        """Close the plugins, last one first; one that fails does not keep the others from closing."""
        for name, registered in reversed(self.registrations.items()):
            for close in registered.closers:
                try:
                    await close()
                except Exception:
                    log.exception("plugin %s failed while closing", name)


async def load_plugins(
    names: Sequence[str], settings: Mapping[str, Mapping[str, Any]], plugins_dir: Path, hooks: HookBus
) -> LoadedPlugins:
    """Import each plugin and call its `register`, in order.

    Raises:
        PluginError: one is not installed, fails, or offers a tool that another one offers too.
    """
    loaded = LoadedPlugins()
    for name in names:
        register = await _within_limit(name, lambda name=name: _register_function(name, plugins_dir))  # type: ignore[misc]
        registrations = Registrations()
        context = PluginContext(name, settings.get(name, {}), registrations)
        result = await _within_limit(name, lambda register=register, context=context: register(context))  # type: ignore[misc]
        if inspect.isawaitable(result):
            await result
        _check_tools(name, registrations, loaded.tools)
        try:
            for hook, callback in registrations.hooks:
                hooks.register(hook, callback, source=name)
        except CosError as error:
            hooks.unregister_source(name)
            raise PluginError(str(error)) from error
        loaded.registrations[name] = registrations
    return loaded


def installed_plugins(plugins_dir: Path) -> list[str]:
    """Names of everything that could be enabled."""
    package = importlib.import_module(BUILT_IN)
    built_in = {item.name for path in package.__path__ for item in os.scandir(path) if item.is_dir()}
    own = {item.stem for item in plugins_dir.glob("*") if item.suffix == ".py" or (item / "__init__.py").is_file()}
    declared = {point.name for point in importlib.metadata.entry_points(group=ENTRY_POINTS)}
    return sorted(name for name in built_in | own | declared if not name.startswith("_"))


def _register_function(name: str, plugins_dir: Path) -> Callable[[PluginContext], Any]:
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


async def _within_limit(name: str, work: Callable[[], Any]) -> Any:
    """Run plugin code on a thread that nobody has to wait for.

    Raises:
        PluginError: it raised anything at all, or did not return in time.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(outcome: Any, error: BaseException | None) -> None:
        if not future.done():
            if error is None:
                future.set_result(outcome)
            else:
                future.set_exception(_plugin_error(name, error))

    def run() -> None:
        printed, environment = io.StringIO(), dict(os.environ)
        outcome, error = None, None
        try:
            with contextlib.redirect_stdout(printed):
                outcome = work()
        except BaseException as raised:
            error = raised
        if dict(os.environ) != environment:
            log.warning("plugin %s changed the environment while loading; the changes were undone", name)
            os.environ.clear()
            os.environ.update(environment)
        if printed.getvalue():
            log.info("plugin %s printed while loading: %s", name, printed.getvalue())
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, outcome, error)

    threading.Thread(target=run, name=f"load-{name}", daemon=True).start()
    try:
        async with asyncio.timeout(LOAD_SECONDS):
            return await future
    except TimeoutError:
        raise PluginError(f"plugin {name} did not load within {LOAD_SECONDS:g} s; take it out of `plugins`") from None


def _plugin_error(name: str, error: BaseException) -> PluginError:
    if isinstance(error, PluginError):
        return error
    log.error("plugin %s failed to load", name, exc_info=error)
    wrapped = PluginError(f"plugin {name} failed to load: {type(error).__name__}: {error}")
    wrapped.__cause__ = error if isinstance(error, Exception) else None
    return wrapped


def _check_tools(name: str, registrations: Registrations, known: Mapping[str, Tool]) -> None:
    for tool in registrations.tools:
        if tool.name in known:
            raise PluginError(f"plugin {name} offers the tool {tool.name}, which {known[tool.name].origin} offers too")
