"""What the core lends to plugins: the database, the live feed, and what it knows of profiles and sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cos.agent.events import Notice
from cos.core.errors import SessionError
from cos.core.live import PluginEvent

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.toml_source import TomlSource

T = TypeVar("T")

Row = dict[str, Any]


class PluginConnection(Protocol):
    """A connection inside a transaction."""

    async def execute(self, query: Any, params: Mapping[str, Any] | None = None) -> Any:
        """A cursor with `fetchone()` and `fetchall()`; rows are dicts."""
        ...


class PluginDatabase(Protocol):
    """The database, for a plugin's own tables."""

    @property
    def owner_key(self) -> int:
        """Names this process in rows. It lives as long as `pg_try_advisory_xact_lock(key)` is refused to others."""
        ...

    async def fetch(self, statement: Any, parameters: Row | None = None) -> list[Row]:
        """The rows of one statement, in a transaction of its own.

        Raises:
            DatabaseError: the server does not answer, or refuses.
        """
        ...

    async def transaction(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """Await `work(connection)` (a PluginConnection) in one transaction, to its end.

        Raises:
            DatabaseError: the server does not answer, or refuses. Nothing of `work` was kept.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenContext:
    """What a plugin gave to the frozen context of one session."""

    text: str
    """Empty when it gave nothing."""
    frozen_at: datetime


async def _no_titles(session_ids: Sequence[UUID]) -> dict[UUID, str]:
    return {}


async def _no_context(plugin: str, session_id: UUID) -> FrozenContext | None:
    return None


async def _no_session(id_or_prefix: str) -> UUID:
    raise SessionError("there are no sessions here")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginHost:
    """One process' loans. The defaults are for plugins that are loaded only to be looked at."""

    database: PluginDatabase | None = None
    publish: Callable[[PluginEvent | Notice], None] = lambda event: None
    tell: Callable[[PluginEvent], None] = lambda event: None
    """Lets the other processes on the database know of it."""
    profiles: tuple[str, ...] | None = None
    """The ids of all profiles; None when they were not loaded."""
    keys_in: frozenset[str] = frozenset()
    """The environment variables that hold the profiles' API keys."""
    source: TomlSource | None = None
    """commonos.toml, so that errors can name the line."""
    titles: Callable[[Sequence[UUID]], Awaitable[dict[UUID, str]]] = _no_titles
    """The titles of those of the sessions that exist."""
    frozen_context: Callable[[str, UUID], Awaitable[FrozenContext | None]] = _no_context
    """Plugin and session -> what the plugin gave to it; None when there is no such session or it had no turn yet."""
    find_session: Callable[[str], Awaitable[UUID]] = _no_session
    """The session whose id begins so. Raises SessionError when it is not exactly one."""
