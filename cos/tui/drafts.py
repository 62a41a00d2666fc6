"""Keeps what is written and not sent: a moment after the last key, when another place is opened, and at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Protocol

from cos.agent.errors import CosError

if TYPE_CHECKING:
    from uuid import UUID

    from cos.tui.places import Place

log = logging.getLogger("cos.drafts")

PAUSE_SECONDS: Final = 0.4
"""From a key until it is written: what a crash may cost."""
AGAIN_SECONDS: Final = 5.0
Key = tuple[str, "UUID | None"]


class DraftStore(Protocol):
    """Where drafts are kept. Every method raises `CosError` when it cannot do so."""

    async def save(self, profile_id: str, session_id: UUID | None, body: str) -> None: ...

    async def of_session(self, profile_id: str, session_id: UUID) -> str: ...

    async def of_new_sessions(self) -> dict[str, str]: ...


class DraftKeeper:
    """`run` does the writing; nothing else here waits for the database but `flush` and what reads."""

    def __init__(
        self,
        store: DraftStore,
        now_open: Callable[[], tuple[Place, str]],
        told: Callable[[], None],
        unsent: Callable[[Place], Iterable[str]] = lambda place: (),
    ) -> None:
        """`now_open`: the open place and what is written there. `told` is called when `trouble` changes.

        `unsent`: drafts of what was sent from a place and is not stored yet; they are kept with what is written there.
        """
        self._store = store
        self._unsent = unsent
        self._now_open = now_open
        self._told = told
        self._stored: dict[Key, str] = {}
        self._pending: dict[Key, str] = {}
        self._is_touched = False
        self._wake = asyncio.Event()
        self._now = asyncio.Event()
        self._writing = asyncio.Lock()
        self.trouble = ""
        """Why what is written is not stored; empty when it is."""

    def touch(self) -> None:
        """Something was written in the open place."""
        self._is_touched = True
        self._wake.set()

    def put(self, place: Place, body: str) -> None:
        """Keep this as the draft of a place, without waiting for quiet."""
        self._keep(place, body)
        self._wake.set()
        self._now.set()

    def sent(self, place: Place) -> None:
        """A message was accepted or came back: what is stored must not bring it back, or must."""
        now_open, body = self._now_open()
        if place.session_id is None or place.is_read:
            self.put(place, body if place is now_open else place.draft)

    def born(self, place: Place) -> None:
        """The place has a session now: what was kept for the profile's next one is kept for it."""
        self._pending[place.profile_id, None] = ""
        self.sent(place)

    async def read_new(self) -> dict[str, str]:
        """The drafts of next new sessions, by profile."""
        drafts = await self._store.of_new_sessions()
        self._stored |= {(profile_id, None): body for profile_id, body in drafts.items()}
        return drafts

    async def read(self, profile_id: str, session_id: UUID) -> str:
        body = await self._store.of_session(profile_id, session_id)
        self._stored[profile_id, session_id] = body
        return body

    async def run(self) -> None:
        """Write what changes, until cancelled."""
        while True:
            await self._wake.wait()
            await self._pause()
            if not await self.flush():
                await asyncio.sleep(AGAIN_SECONDS)
                self._wake.set()

    async def flush(self) -> bool:
        """Write now. False when the database did not take it; the reason is shown."""
        async with self._writing:
            self._wake.clear()
            self._now.clear()
            if self._is_touched:
                self._is_touched = False
                place, body = self._now_open()
                self._keep(place, body)
            try:
                while self._pending:
                    key, body = next(iter(self._pending.items()))
                    if self._stored.get(key, "") != body:
                        await self._store.save(*key, body)
                        self._stored[key] = body
                    if self._pending.get(key) == body:
                        del self._pending[key]
            except CosError as error:
                log.warning("a draft is not stored: %s", error)
                self._report(f"the draft is not stored: {error}")
                return False
        self._report("")
        return True

    def _keep(self, place: Place, body: str) -> None:
        drafts = [*self._unsent(place), body]
        self._pending[place.profile_id, place.session_id] = "\n\n".join(draft for draft in drafts if draft)

    async def _pause(self) -> None:
        """Let more keys come, but not longer than what may be lost; a place that is left waits for nothing."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PAUSE_SECONDS):
                await self._now.wait()

    def _report(self, trouble: str) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self._told()
