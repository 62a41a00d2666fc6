"""The hook bus: registers callbacks, calls all of them in order, and combines what they return.

Callbacks may be sync (run on a thread of their own, so that they never block the screen) or async. A callback that
fails or hangs is logged once and passed over; in a guard hook it blocks.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from cos.agent.cancellation import is_being_cancelled
from cos.agent.errors import CosError
from cos.agent.hookspecs import GUARDS, HOOKS
from cos.agent.threads import on_a_thread

log = logging.getLogger("cos.hooks")

APPROVAL_POLICY: Final = "approval_policy"
LIVE_FEED: Final = "live_feed"
TIMEOUT_SECONDS: Final = 30.0
SUSPENDED_SECONDS: Final = 60.0
_SCHEMA_VERSION: Final = "hermes.observer.v1"

Callback = Callable[..., Any]


class HookSignatureError(CosError):
    """A callback asks for an argument that its hook does not pass."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one callback returned, and whose it was."""

    source: str
    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """A callback that raised or ran out of time."""

    source: str
    reason: str


@dataclass(slots=True)
class _Registration:
    callback: Callback
    source: str
    accepts: frozenset[str] | None
    """Names of the arguments it declares; None = all (`**kwargs`)."""
    suspended_until: float = 0.0
    complained: bool = False


class HookBus:
    """Order of calls: approval_policy, live_feed, then plugins in the order in which they registered."""

    def __init__(self, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._registered: dict[str, list[_Registration]] = {}
        self._timeout_seconds = timeout_seconds

    def register(self, name: str, callback: Callback, *, source: str) -> None:
        """Call `callback` whenever hook `name` fires. An unknown name is kept and warned of: a newer host may fire it.

        Raises:
            HookSignatureError: the callback requires an argument that the hook does not pass.
        """
        if name not in HOOKS:
            log.warning("plugin %s registered the hook %r, which this version never calls", source, name)
        entry = _Registration(callback, source, _accepted_arguments(name, callback, source))
        entries = self._registered.setdefault(name, [])
        entries.append(entry)
        entries.sort(key=lambda registered: _rank(registered.source))

    def unregister_source(self, source: str) -> None:
        """Forget every callback of `source`."""
        for entries in self._registered.values():
            entries[:] = [entry for entry in entries if entry.source != source]

    def has(self, name: str) -> bool:
        return bool(self._registered.get(name))

    async def fire(self, name: str, **arguments: Any) -> list[Answer | Failure]:
        """Call every callback of hook `name` in order and return what is not None, and every failure."""
        return await self.fire_for(lambda source: True, name, **arguments)

    async def fire_for(self, wanted: Callable[[str], bool], name: str, **arguments: Any) -> list[Answer | Failure]:
        """As `fire`, only for the callbacks whose source is `wanted`."""
        missing = set(HOOKS[name].arguments) ^ set(arguments)
        if missing:
            raise TypeError(f"hook {name} was fired with the wrong arguments: {sorted(missing)}")
        answers: list[Answer | Failure] = []
        for entry in list(self._registered.get(name, [])):
            if wanted(entry.source):
                answer = await self._call(name, entry, arguments | {"telemetry_schema_version": _SCHEMA_VERSION})
                if isinstance(answer, Failure) or answer.value is not None:
                    answers.append(answer)
        return answers

    async def _call(self, name: str, entry: _Registration, arguments: dict[str, Any]) -> Answer | Failure:
        if entry.suspended_until > time.monotonic():
            return Failure(entry.source, f"hook {name} ran out of time and is suspended")
        passed = {key: value for key, value in arguments.items() if entry.accepts is None or key in entry.accepts}
        failure: BaseException | None = None
        try:
            async with asyncio.timeout(self._timeout_seconds) as limit:
                return Answer(entry.source, await _result(entry.callback, passed))
        except asyncio.CancelledError as error:
            if is_being_cancelled():
                raise
            failure = error
        except Exception as error:
            failure = error
        if limit.expired():
            entry.suspended_until = time.monotonic() + SUSPENDED_SECONDS
            reason, failure = f"hook {name} did not return within {self._timeout_seconds:g} s", None
        else:
            reason = f"hook {name} failed: {type(failure).__name__}: {failure}"
        if not entry.complained:
            log.warning("plugin %s: %s", entry.source, reason, exc_info=failure)
            entry.complained = True
        return Failure(entry.source, reason)


def _rank(source: str) -> int:
    return {APPROVAL_POLICY: 0, LIVE_FEED: 1}.get(source, 2)


def _accepted_arguments(name: str, callback: Callback, source: str) -> frozenset[str] | None:
    parameters = [
        parameter
        for parameter in inspect.signature(callback).parameters.values()
        if parameter.kind is not parameter.VAR_POSITIONAL
    ]
    documented = {*HOOKS[name].arguments, "telemetry_schema_version"} if name in HOOKS else None
    for parameter in parameters:
        required = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        by_name = parameter.kind is not parameter.POSITIONAL_ONLY
        if required and documented is not None and not (by_name and parameter.name in documented):
            raise HookSignatureError(
                f"plugin {source}: its callback for hook {name} requires the argument {parameter.name!r}, "
                f"which that hook does not pass by name. It passes: {', '.join(sorted(documented))}"
            )
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters if parameter.kind is not parameter.POSITIONAL_ONLY)


async def _result(callback: Callback, arguments: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(callback):
        return await callback(**arguments)
    value = await on_a_thread(lambda: callback(**arguments), f"hook-{getattr(callback, '__name__', 'callback')}")
    return await value if inspect.isawaitable(value) else value


def is_guard(name: str) -> bool:
    """Whether a failing callback of hook `name` blocks."""
    return name in GUARDS
