"""The database of one cos process: its pool, its identity among other processes, and transactions that are never cut.

A transaction runs to its end even when the task that wants it is cancelled, so that no connection is lost and none is
given back in the middle of something. Driver errors leave here as cos errors.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import select
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Self, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from cos.agent.cancellation import uninterrupted
from cos.agent.ids import new_id
from cos.core.errors import DatabaseError
from cos.core.postgres.parting import Parting, hang_up
from cos.core.postgres.pulse import Pulse
from cos.core.postgres.statements import core_statements
from cos.core.postgres.teller import Teller

log = logging.getLogger("cos.database")

Row = dict[str, Any]
Connection = psycopg.AsyncConnection[Row]
Frame = Callable[[Connection], contextlib.AbstractAsyncContextManager[object]]
"""What a piece of work runs in; a single statement needs nothing, as it is a transaction without being told so."""
T = TypeVar("T")

_DOUBTFUL = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
"""Errors that may be no fault of the statement."""
POOL_SIZE = 8
WAIT_SECONDS = 10.0
FRESH_SECONDS = 5.0
"""So soon after its last answer a connection is used again without a question: the end of one that breaks is seen."""
_CUT = "the database does not answer, and cos is ending"
HANG_UP_SECONDS = 1.0
RECONNECT_SECONDS = 0.5
"""After this the pool gives an attempt to connect up: on its own it would try again ever more rarely."""


class Database:
    """An open pool. `boot_id` names this process; a lock under that name is held as long as the process lives."""

    def __init__(
        self,
        conninfo: str,
        *,
        name: str = "",
        reattach: Callable[[], object] | None = None,
        size: int = POOL_SIZE,
    ) -> None:
        """`name` tells people which process this is; `reattach` starts a server that has gone away, on a thread."""
        self.boot_id: UUID = new_id()
        application = f"cos {self.boot_id} {name}".strip()
        self.conninfo = conninfo = make_conninfo(conninfo, application_name=application)
        """Where it is, and who connects: also for connections of a kind that the pool does not serve."""
        self._reattach = reattach
        self._was_reattached = False
        self._lock_holder: Connection | None = None
        self._holding = asyncio.Lock()
        self._has_no_room = False
        """A statement found the disk of the server full, and none has found room since."""
        self._is_lock_doubtful = False
        """A connection was lost, and the one that holds the lock may be, too: nothing is written before it is sure."""
        self._returned_at: float | None = None
        self._answered: WeakKeyDictionary[Connection, float] = WeakKeyDictionary()
        """When each connection of the pool last did (time.monotonic()); all that were ever used are there."""
        self.pulse = Pulse(self._look)
        self.teller = Teller(self)
        self.is_cut = False
        """Nothing waits for the server any more, and nothing is asked of it."""
        self._parting = Parting(self.pulse, self._cut)
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo,
            connection_class=psycopg.AsyncConnection[Row],
            # A connection of the pool comes back to a statement soon: the second time it is worth to be prepared.
            kwargs={"row_factory": dict_row, "autocommit": True, "prepare_threshold": 1},
            min_size=1,
            max_size=size,
            open=False,
            timeout=WAIT_SECONDS,
            check=self._check,
            reconnect_timeout=RECONNECT_SECONDS,
            name="cos",
        )

    @property
    def owner_key(self) -> int:
        """The key of the lock of this process."""
        return boot_key(self.boot_id)

    @property
    def seconds_since_return(self) -> float:
        """Since this process had to take its lock again: others may have lost theirs in the same moment."""
        return math.inf if self._returned_at is None else time.monotonic() - self._returned_at

    async def open(self) -> Self:
        """Connect and take the lock of this process.

        Raises:
            DatabaseError: the server does not answer, or refuses.
        """
        try:
            # Before the pool, which would only say that it waited.
            async with asyncio.timeout(WAIT_SECONDS):
                await self._take_boot_lock()
            await self._pool.open(wait=True, timeout=WAIT_SECONDS)
        except (TimeoutError, PoolTimeout, psycopg.Error) as error:
            await self.close()
            raise DatabaseError(
                f"cannot connect to the database: {_first_line(error)}. Check database.url in commonos.toml or "
                "COS_DATABASE_URL; without either, cos runs its own database"
            ) from error
        return self

    async def close(self) -> None:
        with contextlib.suppress(DatabaseError):
            if not self.pulse.trouble:
                await self.teller.flush()
        await self._parting.end()
        if self._lock_holder is not None:
            await self._lock_holder.close()
        await self._pool.close()

    def hurry(self) -> None:
        """This process ends: a server that does not answer for some seconds from now on is not waited for any longer.

        Then everything that waits for it raises DatabaseError, and so does whatever comes later. What was sent to it
        may still be stored when it goes on.
        """
        self._parting.begin()

    async def _cut(self) -> None:
        self.is_cut = True
        for connection in (*self._answered, self._lock_holder):
            if connection is not None and not connection.closed:
                hang_up(connection.fileno())
        await self._pool.close(timeout=HANG_UP_SECONDS)

    async def transaction(self, work: Callable[[Connection], Awaitable[T]], *, piped: bool = False) -> T:
        """Run `work` in one transaction, to its end.

        `piped`: statements leave without waiting for the ones before; what one of them raises comes with the next rows
        that are fetched, or from here.

        Raises:
            DatabaseError: the server does not answer, or refuses. Nothing of `work` was kept.
        """
        return await uninterrupted(self._transaction(work, _piped if piped else _in_turns))

    async def read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `work`, each statement of which is a transaction of its own, on one connection."""
        return await uninterrupted(self._transaction(work, contextlib.nullcontext))

    async def fetch(self, statement: Any, parameters: Row | None = None) -> list[Row]:
        """The rows of one statement, in a transaction of its own."""

        async def work(connection: Connection) -> list[Row]:
            cursor = await connection.execute(statement, parameters or {})
            return await cursor.fetchall() if cursor.description else []

        return await self.read(work)

    async def hold_boot_lock(self) -> None:
        """Take the lock of this process, again when the connection that held it was lost.

        Raises:
            DatabaseError: the database does not answer.
        """
        async with self._holding:
            if self._lock_holder is not None and not self._lock_holder.closed:
                try:
                    await self._lock_holder.execute(core_statements("start")["alive"])
                except psycopg.Error:
                    log.warning("the connection that held the lock of this process was lost")
                    await self._lock_holder.close()
                else:
                    self._is_lock_doubtful = False
                    return
            if self.is_cut:
                raise DatabaseError(_CUT)
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._take_boot_lock()
            except (TimeoutError, psycopg.Error) as error:
                raise DatabaseError(f"the database does not answer: {_first_line(error)}") from error
            self._returned_at = time.monotonic()
            self._is_lock_doubtful = False

    async def _take_boot_lock(self) -> None:
        holder = await psycopg.AsyncConnection[Row].connect(self.conninfo, autocommit=True, row_factory=dict_row)
        try:
            await holder.execute(core_statements("start")["hold_boot_lock"], {"key": self.owner_key})
        except BaseException:
            await holder.close()
            raise
        self._lock_holder = holder

    async def _look(self) -> None:
        """Whether the database answers; after it did not, also the pool, whose attempts to connect have ended then.

        Raises:
            DatabaseError: it does not.
        """
        was_away = bool(self.pulse.trouble)
        if was_away and self._reattach is not None and not self._was_reattached:
            # Once an outage: a server that does not start is tried again only when a statement has waited for it.
            self._was_reattached = True
            await asyncio.to_thread(self._reattach)
        await self.hold_boot_lock()
        self._was_reattached = False
        await self.refuse_read_only()
        if self._has_no_room:
            await self.refuse_full_disk()
        if was_away:
            try:
                async with self._pool.connection(timeout=WAIT_SECONDS):
                    pass
            except psycopg.Error as error:
                raise DatabaseError(f"the database does not answer: {_first_line(error)}") from error

    async def refuse_read_only(self) -> None:
        """A standby, or a database whose owner lets nobody write, answers and is of no use.

        Raises:
            DatabaseError: it is one, or does not answer.
        """
        assert self._lock_holder is not None
        try:
            cursor = await self._lock_holder.execute(core_statements("start")["alive"])
            row = await cursor.fetchone()
        except psycopg.Error as error:
            raise DatabaseError(f"the database does not answer: {_first_line(error)}") from error
        if row is not None and row["is_read_only"]:
            raise DatabaseError("the database is read-only: nothing can be stored")

    async def refuse_full_disk(self) -> None:
        """Take room on the server's disk and give it back.

        Raises:
            DatabaseError: there is none.
        """
        assert self._lock_holder is not None
        try:
            async with self._lock_holder.transaction(force_rollback=True):
                await self._lock_holder.execute(core_statements("start")["take_room"])
        except psycopg.errors.DiskFull as error:
            self._has_no_room = True
            raise DatabaseError(f"the disk of the database is full: {_first_line(error)}") from error
        except psycopg.errors.InsufficientPrivilege:
            log.info("whether there is room on the disk is not known: this account may not make a temporary table")
        except psycopg.Error as error:
            raise DatabaseError(f"the database does not answer: {_first_line(error)}") from error
        self._has_no_room = False

    async def _check(self, connection: Connection) -> None:
        """Before a connection of the pool is used. One that rested for a while may be dead without a sign of it."""
        rested = time.monotonic() - self._answered.setdefault(connection, -math.inf)
        try:
            if rested > FRESH_SECONDS or _has_word(connection):
                await AsyncConnectionPool.check_connection(connection)
        except psycopg.Error:
            self._doubt()
            raise

    def _doubt(self) -> None:
        self._is_lock_doubtful = True
        self.pulse.doubt()

    async def _transaction(self, work: Callable[[Connection], Awaitable[T]], frame: Frame) -> T:
        try:
            return await self._once(work, frame)
        except PoolTimeout:
            if self._reattach is None:
                raise DatabaseError(f"the database did not answer within {WAIT_SECONDS:g} s") from None
            log.warning("the database does not answer; starting it again")
            await asyncio.to_thread(self._reattach)
        try:
            return await self._once(work, frame)
        except PoolTimeout:
            raise DatabaseError(f"the database did not answer within {WAIT_SECONDS:g} s") from None

    async def _once(self, work: Callable[[Connection], Awaitable[T]], frame: Frame) -> T:
        try:
            async with self._pool.connection() as connection:
                if self._is_lock_doubtful:
                    await self.hold_boot_lock()
                async with frame(connection):
                    done = await work(connection)
                self._answered[connection] = time.monotonic()
                return done
        except PoolTimeout:
            self._doubt()
            raise
        except (psycopg.Error, UnicodeEncodeError) as error:
            if self.is_cut:
                raise DatabaseError(_CUT) from error
            if isinstance(error, psycopg.errors.DiskFull):
                self._has_no_room = True
            if isinstance(error, _DOUBTFUL):
                self._doubt()
            raise DatabaseError(f"the database refused: {_first_line(error)}") from error


def _in_turns(connection: Connection) -> contextlib.AbstractAsyncContextManager[object]:
    return connection.transaction()


@contextlib.asynccontextmanager
async def _piped(connection: Connection) -> AsyncIterator[None]:
    async with connection.pipeline(), connection.transaction():
        yield


def _has_word(connection: Connection) -> bool:
    """Whether something came in that nobody asked for, such as its end."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def boot_key(boot_id: UUID) -> int:
    """The advisory lock key of a process: the last 8 bytes of its boot id as a signed 64-bit number."""
    return int.from_bytes(boot_id.bytes[-8:], "big", signed=True)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
