"""Drives the app in tests: waits for what is to be seen instead of for time to pass."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cos.cli.running_core import Core
from cos.tui.app import CosApp, Opening
from cos.tui.preferences import Preferences
from cos.tui.timing import Timing
from cos.tui.transcript import ToolCall

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from cos.tui.screens.chat import ChatScreen
    from cos.tui.session_control import SessionControl
    from tests.fix_home import CoreHome

QUICK = Timing(arm_seconds=0.02, burst_seconds=0.0)
PATIENCE_SECONDS = 30.0
SLOW_ARM = Timing(arm_seconds=3600.0, burst_seconds=0.0)
"""The card never arms within a test."""


@dataclass
class Chat:
    """A running app with its core."""

    app: CosApp
    pilot: Pilot[None]
    home: CoreHome

    @property
    def core(self) -> Core:
        return self.home.opened[-1]

    @property
    def main(self) -> ChatScreen:
        return self.app.main

    @property
    def control(self) -> SessionControl:
        assert self.main.control is not None
        return self.main.control

    async def until(self, holds: Callable[[], object], what: str = "") -> None:
        """Let the app work until `holds()`.

        Raises:
            TimeoutError: that did not happen in time.
        """
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not holds():
                    await self.pilot.pause(0.005)
        except TimeoutError:
            seen = f"{self.screen_text()}\n{self.notices()}\n{self.app.failure}"
            raise TimeoutError(f"not reached: {what or 'what the test waits for'}\n{seen}") from None

    async def say(self, text: str) -> None:
        """Type a message and send it."""
        self.main.composer.focus()
        self.main.composer.load(text)
        await self.pilot.press("enter")

    async def ask(self, text: str) -> None:
        """Send a message and wait until the session rests."""
        await self.say(text)
        await self.until(lambda: f"{text}" in self.text(), f"{text!r} on screen")
        await self.rests()

    async def rests(self) -> None:
        def rests() -> bool:
            current = self.control.current
            return current is not None and not self.control.is_running and self.core.dispatcher.running(current) is None

        await self.until(rests, "the turn ends")

    async def database_goes(self) -> None:
        await self.until(lambda: "db ✗" in str(self.main.status_line.content), "the status line says it")

    async def requests(self, count: int) -> None:
        await self.until(lambda: self.main.approvals.count == count, f"{count} requests pending")

    async def answer(self, key: str) -> None:
        """Go to the approvals and press a key once the card takes it."""
        if not self.main.approvals.has_focus:
            await self.pilot.press("f4")
        await self.until(lambda: self.main.approvals.arming.is_armed, "the card is armed")
        await self.pilot.press(key)

    def text(self) -> str:
        """The whole conversation as plain text."""
        return "\n".join(row.entry.plain() for row in self.main.conversation._page.rows)

    def calls(self) -> list[ToolCall]:
        return [row.entry for row in self.main.conversation._page.rows if isinstance(row.entry, ToolCall)]

    async def told(self, words: str) -> None:
        """Wait for a notice with these words: it comes as a message of its own."""
        await self.until(lambda: words in self.notices(), f"a notice {words!r}")

    async def shows(self, words: str) -> None:
        """Wait until the terminal shows these words: what is known may not be drawn yet."""
        await self.until(lambda: words in self.screen_text(), f"{words!r} on screen")

    def notices(self) -> str:
        return "\n".join(notice.message for notice in self.app._notifications)

    def screen_text(self) -> str:
        """What the terminal shows."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)


@asynccontextmanager
async def chat_in(
    home: CoreHome,
    *,
    size: tuple[int, int] = (120, 40),
    session: str | None = None,
    timing: Timing = QUICK,
    preferences: Preferences | None = None,
    notifications: bool = False,
    tags: tuple[str, ...] = (),
) -> AsyncIterator[Chat]:
    """The app on a fresh core, connected. `notifications`: they are drawn, too."""
    looks = preferences or Preferences()
    app = CosApp(Opening(open_core=home.open, session=session, timing=timing, preferences=looks, tags=tags))
    async with app.run_test(size=size, notifications=notifications) as pilot:
        chat = Chat(app, pilot, home)
        await chat.until(lambda: app.control is not None or app.failure, "the core is there")
        assert app.failure is None
        try:
            yield chat
        finally:
            app.stop_drawing()
