"""The named write points: every kind of row that cos writes, and three instants of each write.

`during`: the row is written, its transaction is not committed. `commit`: the server commits, cos does not know yet.
`after`: cos has just been told, or is being told. The first two stop the server's side of cos at a lock until the kill.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import psycopg

if TYPE_CHECKING:
    from collections.abc import Callable

PHASES: Final = ("during", "commit", "after")
POINTS: Final = tuple(
    f"{table}.{kind}"
    for table, kinds in {
        "sessions": ("insert", "update"),
        "turns": ("insert", "update"),
        "messages": ("insert", "update"),
        "tool_calls": ("insert", "update"),
        "approvals": ("insert", "update"),
        "queued_messages": ("insert", "update", "delete"),
        "reply_pieces": ("insert", "delete"),
        "model_calls": ("insert", "update"),
    }.items()
    for kind in kinds
)
_LOCK: Final = 4711
_SETUP = f"""
CREATE TABLE IF NOT EXISTS crash_armed (point text, phase text, nth integer);
CREATE SEQUENCE IF NOT EXISTS crash_count;
CREATE OR REPLACE FUNCTION crash_point() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE armed crash_armed;
BEGIN
    SELECT * INTO armed FROM crash_armed WHERE point = TG_TABLE_NAME || '.' || lower(TG_OP);
    IF armed.phase IS NULL OR (armed.phase = 'commit') <> (TG_ARGV[0] = 'commit')
       OR nextval('crash_count') <> armed.nth THEN
        RETURN NULL;
    END IF;
    IF armed.phase = 'after' THEN
        PERFORM pg_notify('crash', armed.point);
    ELSE
        PERFORM pg_advisory_xact_lock({_LOCK});
    END IF;
    RETURN NULL;
END $$;
"""


def set_up(connection: psycopg.Connection) -> None:
    """Add the triggers to a database that holds the schema."""
    connection.execute(_SETUP.encode())
    for table in dict.fromkeys(point.partition(".")[0] for point in POINTS):
        connection.execute(
            f"CREATE OR REPLACE TRIGGER crash_now AFTER INSERT OR UPDATE OR DELETE ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION crash_point('now')".encode()
        )
        connection.execute(
            f"CREATE CONSTRAINT TRIGGER crash_commit AFTER INSERT OR UPDATE OR DELETE ON {table}"
            " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION crash_point('commit')".encode()
        )


class ArmedPoint:
    """Strikes when cos reaches the write point for the `nth` time. Close it in the end, struck or not."""

    def __init__(self, conninfo: str, point: str, phase: str, nth: int, strike: Callable[[], None]) -> None:
        self._strike = strike
        self._phase = phase
        self._over = threading.Event()
        self._connection = psycopg.connect(conninfo, autocommit=True)
        self._connection.execute("LISTEN crash")
        self._connection.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        self._connection.execute("ALTER SEQUENCE crash_count RESTART")
        self._connection.execute("DELETE FROM crash_armed")
        self._connection.execute("INSERT INTO crash_armed VALUES (%s, %s, %s)", [point, phase, nth])
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        # If the kill took the server too, the next point disarms this one.
        with suppress(psycopg.Error):
            self._connection.execute("DELETE FROM crash_armed")
            self._connection.execute("UNLISTEN crash")
        self._connection.close()

    def _wait(self) -> None:
        try:
            while not self._over.is_set() and not self._is_reached():
                pass
            if not self._over.is_set():
                self._strike()
            self._connection.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
        except psycopg.Error:
            return

    def _is_reached(self) -> bool:
        if self._phase == "after":
            return any(self._connection.notifies(timeout=0.02, stop_after=1))
        time.sleep(0.002)
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted"
        row = self._connection.execute(waiting, [_LOCK]).fetchone()
        return row is not None and row[0] > 0
