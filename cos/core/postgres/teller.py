"""Word to the other processes on the database: with the transaction that changed something, or gathered for a moment.

What happens often, such as the messages of a running turn, is gathered: at most ten notifications a second for each
session, and one transaction for all of them, however many sessions work at once.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final
from uuid import UUID

from cos.core.errors import DatabaseError
from cos.core.live import PluginEvent, ReplyGrew, SessionTouched
from cos.core.plugin_events import event_text
from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from cos.core.postgres.database import Connection, Database

log = logging.getLogger("cos.database")

GATHER_SECONDS: Final = 0.1
AGAIN_SECONDS: Final = 1.0
"""Before what could not be said is said again."""
LIMIT_BYTES: Final = 7_900
"""Postgres refuses notifications of 8,000 bytes."""


async def tell_session(
    connection: Connection,
    database: Database,
    session_id: UUID,
    profile_id: str,
    kind: str = SessionTouched.type,
    rest: str = "",
) -> None:
    """Let the other processes know, when the transaction is done, what happened in a session.

    `kind` is the type of a session event; `rest` goes with it as long as it is short enough, else only that something
    happened is told.
    """
    said = _payload(database.boot_id, session_id, profile_id, kind, rest)
    if len(said.encode()) > LIMIT_BYTES:
        said = _payload(database.boot_id, session_id, profile_id, SessionTouched.type)
    await connection.execute(core_statements("telling")["tell"], {"said": [said]})


class Teller:
    """Gathers. What is not said yet when the process is killed is found by whoever closes its turns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kinds: dict[UUID, tuple[str, str]] = {}
        """By session: its profile, and what happened there."""
        self._events: list[str] = []
        self._has_news = asyncio.Event()

    def touched(self, session_id: UUID, profile_id: str) -> None:
        """Something was stored in a session."""
        self._kinds[session_id] = (profile_id, SessionTouched.type)
        self._has_news.set()

    def reply_grew(self, session_id: UUID, profile_id: str) -> None:
        """More of a reply is kept that is still being streamed."""
        self._kinds.setdefault(session_id, (profile_id, ReplyGrew.type))
        self._has_news.set()

    def happened(self, event: PluginEvent) -> None:
        """A plugin has stored something."""
        turn = event.turn
        said = _payload(self._database.boot_id, turn.session_id, turn.profile_id, event.type, event_text(event))
        if len(said.encode()) > LIMIT_BYTES:
            self.touched(turn.session_id, turn.profile_id)
        else:
            self._events.append(said)
            self._has_news.set()

    async def run(self) -> None:
        """Say what was gathered, for as long as the program runs."""
        while True:
            await self._has_news.wait()
            try:
                await self.flush()
            except DatabaseError as error:
                log.warning("other processes are told later: %s", error)
                await asyncio.sleep(AGAIN_SECONDS)
            await asyncio.sleep(GATHER_SECONDS)

    async def flush(self) -> None:
        """Say now what was gathered.

        Raises:
            DatabaseError: it could not be said, and will be the next time.
        """
        kinds, events, self._kinds, self._events = self._kinds, self._events, {}, []
        self._has_news.clear()
        boot_id = self._database.boot_id
        said = [_payload(boot_id, session_id, profile, kind) for session_id, (profile, kind) in kinds.items()]
        try:
            if said or events:
                await self._database.fetch(core_statements("telling")["tell"], {"said": said + events})
        except DatabaseError:
            self._kinds = kinds | self._kinds
            self._events = events + self._events
            self._has_news.set()
            raise


def _payload(boot_id: UUID, session_id: UUID, profile_id: str, kind: str, rest: str = "") -> str:
    return f"{boot_id} {session_id} {profile_id} {kind}" + (f" {rest}" if rest else "")
