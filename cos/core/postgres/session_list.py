"""The list of sessions: pages by newest activity, those that need the user apart from them, and single rows again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, LiteralString, Protocol
from uuid import UUID

from cos.agent.records import TurnStatus
from cos.core.postgres.statements import core_statements
from cos.core.session_query import SessionQuery
from cos.core.sessions import SessionRow, meter_of

if TYPE_CHECKING:
    from decimal import Decimal

    from cos.core.postgres.database import Connection, Database, Row
    from cos.core.session_query import CostBound

PAGE: Final = 100
MOST_NEWS: Final = 200
MOST_CHILDREN: Final = 500
SCANNED: Final = 5_000
"""Sessions that one call looks at for a filter, so that no filter makes it slow."""
SCANNED_FOR_STATE: Final = 2_000
"""The same when each needs its newest turn, or what it cost."""
SCANNED_UNFILTERED: Final = 1_000
"""The same when all are wanted but children."""
ALL_PRESS: Final = frozenset({"waiting", "running", "queued"})
"""States of which every session is a pressing one."""

Place = tuple[datetime, UUID]
"""(last_activity_at, id): where a page ends and the next begins."""


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Rows by newest activity."""

    rows: list[SessionRow]
    next: Place | None
    """Where to go on, also after a page with few rows or none; None at the end of the list."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Rows as they are now."""

    rows: list[SessionRow]
    shown: frozenset[UUID]
    """Those among them that the filter lets through."""
    gone: frozenset[UUID]
    """What was asked for and is not there any more."""


class SessionCosts(Protocol):
    """Who keeps account of what sessions cost."""

    async def costing(
        self, connection: Any, session_ids: Sequence[UUID], operator: str, usd: Decimal
    ) -> Collection[UUID]:
        """Those of the sessions whose known cost, children included, is `operator` (>, >=, <, <=) `usd`."""
        ...


class SessionList:
    """Reads only."""

    def __init__(self, database: Database, costs: SessionCosts | None = None) -> None:
        """Without `costs` no query may have a bound of cost."""
        self._database = database
        self._costs = costs
        self._sql = core_statements("session_list")

    @property
    def knows_cost(self) -> bool:
        return self._costs is not None

    async def pressing(self, query: SessionQuery) -> list[SessionRow]:
        """The sessions that need the user or work now, of all places of the list, in no order.

        Raises:
            DatabaseError: the list cannot be read. So do all methods here.
        """

        async def work(connection: Connection) -> list[SessionRow]:
            found = await _fetched(connection, self._sql["list_pressing"], {"most_news": MOST_NEWS})
            ids = [row["id"] for row in found]
            rows = await self._rows(connection, await self._matching(connection, query, ids))
            return [row for row in rows if row.is_pressing]

        return await self._database.transaction(work)

    async def page(self, query: SessionQuery, before: Place | None = None, limit: int = PAGE) -> SessionPage:
        """The next rows below a place (None = from the top).

        Where `pressing` gives all that the filter lets through, there is none.
        """
        if query.state in ALL_PRESS:
            return SessionPage([], None)
        is_plain = query.state in (None, "archived") and query.cost is None
        scanned = SCANNED if is_plain else SCANNED_FOR_STATE
        if query.is_empty:
            scanned = SCANNED_UNFILTERED

        async def work(connection: Connection) -> SessionPage:
            at, session_id = before or (None, None)
            start = {"before": at, "before_id": session_id}
            edges = await _fetched(connection, self._sql["list_edge"], {**start, "skip": scanned - 1})
            edge = (edges[0]["last_activity_at"], edges[0]["id"]) if edges else None
            found = await self._found(connection, query, limit, before=before, edge=edge)
            last = (found[-1]["last_activity_at"], found[-1]["id"]) if len(found) == limit else edge
            if last is not None and query.since is not None and last[0] < query.since:
                last = None
            return SessionPage(await self._rows(connection, [row["id"] for row in found]), last)

        return await self._database.transaction(work)

    async def refreshed(self, query: SessionQuery, ids: Iterable[UUID]) -> Refreshed:
        """Some rows again, with those of the sessions above them."""
        wanted = set(ids)

        async def work(connection: Connection) -> Refreshed:
            found = await _fetched(connection, self._sql["list_family"], {"ids": list(wanted)})
            family = [row["id"] for row in found]
            shown = await self._matching(connection, query, family)
            rows = await self._rows(connection, family)
            return Refreshed(rows, frozenset(shown), frozenset(wanted - {row.id for row in rows}))

        return await self._database.transaction(work)

    async def rows(self, ids: Iterable[UUID]) -> list[SessionRow]:
        """Those of these sessions that still exist."""

        async def work(connection: Connection) -> list[SessionRow]:
            return await self._rows(connection, list(ids))

        return await self._database.read(work)

    async def count(self) -> int:
        """How many sessions the list holds without a filter."""
        return int((await self._database.fetch(self._sql["count_listed"]))[0]["count"])

    async def children(self, session_id: UUID) -> list[SessionRow]:
        """The sessions directly below one, oldest first."""

        async def work(connection: Connection) -> list[SessionRow]:
            found = await _fetched(connection, self._sql["list_children"], {"id": session_id, "limit": MOST_CHILDREN})
            return await self._rows(connection, [row["id"] for row in found])

        return await self._database.read(work)

    async def _matching(self, connection: Connection, query: SessionQuery, ids: Sequence[UUID]) -> list[UUID]:
        found = await self._found(connection, query, len(ids), among=list(ids))
        return [row["id"] for row in found]

    async def _found(
        self,
        connection: Connection,
        query: SessionQuery,
        limit: int,
        *,
        before: Place | None = None,
        edge: Place | None = None,
        among: list[UUID] | None = None,
    ) -> list[Row]:
        at, session_id = before or (None, None)
        edge_at, edge_id = edge or (None, None)
        is_archived = query.state == "archived"
        await connection.execute(self._sql["custom_plans"])
        found = await _fetched(
            connection,
            self._sql["list_found"],
            {
                "before": at,
                "before_id": session_id,
                "edge": edge_at,
                "edge_id": edge_id,
                "among": among,
                "archived": is_archived,
                "with_children": not query.is_empty,
                "profile_id": query.profile_id,
                "since": query.since,
                "tags": list(query.tags),
                "keys": list(query.tag_keys),
                "words": [f"%{_literally(word)}%" for word in query.words],
                "state": None if is_archived else query.state,
                "limit": limit if query.cost is None else SCANNED,
            },
        )
        return found if query.cost is None else (await self._costing(connection, query.cost, found))[:limit]

    async def _costing(self, connection: Connection, bound: CostBound, found: list[Row]) -> list[Row]:
        assert self._costs is not None, "a query with a bound of cost needs somebody who knows it"
        ids = [row["id"] for row in found]
        kept = await self._costs.costing(connection, ids, bound.operator, bound.usd)
        return [row for row in found if row["id"] in kept]

    async def _rows(self, connection: Connection, ids: Sequence[UUID]) -> list[SessionRow]:
        """The rows of these sessions, in the order of `ids`."""
        found = await _fetched(connection, self._sql["list_rows"], {"ids": list(ids)})
        rows = {row["id"]: _session_row(row) for row in found}
        return [rows[session_id] for session_id in ids if session_id in rows]


async def _fetched(connection: Connection, statement: LiteralString, parameters: Row) -> list[Row]:
    cursor = await connection.execute(statement, parameters)
    return await cursor.fetchall()


def _literally(word: str) -> str:
    """A word as ILIKE takes it for itself."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _session_row(row: Row) -> SessionRow:
    status = TurnStatus(row["turn_status"]) if row["turn_status"] else None
    changed = {"tags": tuple(row["tags"]), "turn_status": status, "context": meter_of(row["context"])}
    return SessionRow(**row | changed)
