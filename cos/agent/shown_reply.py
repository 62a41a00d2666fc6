"""A reply while it is being streamed, over several attempts: text already shown is never shown twice, never vanishes.

A retry usually begins with the same words. As long as it repeats what is on screen nothing is published; what goes
beyond is appended. When it differs, the old text stays as a message of its own, marked partial and inactive.

What is shown is in the journal first, so that a killed process loses nothing that anybody saw.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from cos.agent.cancellation import uninterrupted
from cos.agent.errors import CosError
from cos.agent.events import MessageAdded, MessageDelta, ThinkingDelta
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, stored_form

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.events import AgentEvent
    from cos.agent.identity import TurnInfo
    from cos.agent.journal import Journal

log = logging.getLogger("cos.agent")

KEEP_SECONDS: Final = 0.08
"""From one piece that is kept and shown to the next: as often as a screen is drawn, less often when keeping is slow."""
PATIENCE_SECONDS: Final = 0.25
"""How long a piece waits for a journal that is slow. Then it is shown all the same."""

Publish = Callable[["AgentEvent"], None]


class _Strand:
    """The text or the thinking of a reply: what is on screen, and how far the present attempt has repeated it."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._repeated = ""
        self._is_ahead = True
        """The attempt has repeated all that is shown (or nothing was): what comes next is new."""

    @property
    def shown(self) -> str:
        if len(self._shown) > 1:
            self._shown = ["".join(self._shown)]
        return self._shown[0] if self._shown else ""

    @property
    def of_attempt(self) -> str:
        return self.shown if self._is_ahead else self._repeated

    @property
    def attempt_has_begun(self) -> bool:
        """As `bool(of_attempt)`, at no cost."""
        return bool(self._shown if self._is_ahead else self._repeated)

    def begin_attempt(self) -> None:
        self._repeated = ""
        self._is_ahead = not self._shown

    def add(self, chunk: str) -> str | None:
        """What of `chunk` is new on screen, or None when the attempt differs from what is shown."""
        if self._is_ahead:
            if chunk:
                self._shown.append(chunk)
            return chunk
        self._repeated += chunk
        shown = self.shown
        if shown.startswith(self._repeated) and shown != self._repeated:
            return ""
        if not self._repeated.startswith(shown):
            return None
        self._shown, self._is_ahead = [self._repeated], True
        return self._repeated[len(shown) :]

    def restart_with_attempt(self) -> str:
        """Forget what was shown before the attempt; return the attempt's text so far."""
        attempt = self.of_attempt
        self._shown, self._is_ahead = [attempt] if attempt else [], True
        return attempt


class ShownReply:
    """What the user has seen of one reply."""

    def __init__(self, turn: TurnInfo, journal: Journal, publish: Publish) -> None:
        self._turn = turn
        self._journal = journal
        self._publish = publish
        self.message_id: UUID = new_id()
        self._text = _Strand()
        self._thinking = _Strand()
        self._lead = ""
        """What the newest attempt that spoke had thought before."""
        self._unseen: list[MessageDelta | ThinkingDelta] = []
        """What has come and is not shown yet, in order."""
        self._has_come = asyncio.Event()
        self._is_kept = False
        self._one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """While the block runs, whatever comes is kept in the journal and then shown; all of it is when it ends.

        A journal that does not answer holds up only the end of the block; its errors are logged, as the append of the
        whole reply will meet them too.
        """
        ended, self._is_kept = asyncio.Event(), True
        keeper = asyncio.ensure_future(self._keep_until(ended))
        try:
            yield
        finally:
            ended.set()
            self._has_come.set()
            await uninterrupted(keeper)
            self._is_kept = False

    async def _keep_until(self, ended: asyncio.Event) -> None:
        while self._unseen or not ended.is_set():
            await self._has_come.wait()
            began = time.monotonic()
            if self._unseen:
                await self._keep_and_show()
            took = time.monotonic() - began
            with suppress(TimeoutError):
                async with asyncio.timeout(max(KEEP_SECONDS, took)):
                    await ended.wait()

    async def _keep_and_show(self) -> None:
        async with self._one_at_a_time:
            keeping = asyncio.ensure_future(self._keep())
            unseen = self._taken()
            while not (await asyncio.wait({keeping}, timeout=PATIENCE_SECONDS))[0]:
                self._publish_all([*unseen, *self._taken()])
                unseen = []
            self._publish_all(unseen)
            await keeping

    def _publish_all(self, events: list[MessageDelta | ThinkingDelta]) -> None:
        for event in events:
            self._publish(event)

    def _taken(self) -> list[MessageDelta | ThinkingDelta]:
        self._has_come.clear()
        unseen, self._unseen = self._unseen, []
        return unseen

    async def _keep(self) -> None:
        message = self._on_screen()
        if message is None:
            return
        try:
            await self._journal.keep_reply(self._turn, message, message_id=self.message_id)
        except CosError:
            log.exception("what is on screen of turn %s could not be kept", self._turn.turn_id)

    def _show(self, event: MessageDelta | ThinkingDelta) -> None:
        if self._is_kept:
            self._unseen.append(event)
            self._has_come.set()
        else:
            self._publish(event)

    def begin_attempt(self) -> None:
        self._text.begin_attempt()
        self._thinking.begin_attempt()

    async def add_text(self, chunk: str) -> None:
        if chunk and self._leaves_thinking_out():
            await uninterrupted(self._supersede())
        if not self._text.attempt_has_begun:
            self._lead = self._thinking.of_attempt
        fresh = self._text.add(chunk)
        if fresh is None:
            await uninterrupted(self._supersede())
        elif fresh:
            self._show(MessageDelta(turn=self._turn, message_id=self.message_id, text=fresh))

    async def add_thinking(self, chunk: str) -> None:
        fresh = self._thinking.add(chunk)
        if fresh is None:
            await uninterrupted(self._supersede())
        elif fresh:
            self._show(ThinkingDelta(turn=self._turn, message_id=self.message_id, text=fresh))

    async def end_attempt(self) -> None:
        """The attempt is complete: text on screen that it does not have is kept apart."""
        if any(strand.of_attempt != strand.shown for strand in (self._text, self._thinking)):
            await uninterrupted(self._supersede())

    def _leaves_thinking_out(self) -> bool:
        """Whether the attempt begins to speak, and what is on screen had thought before: it is another reply."""
        if self._text.attempt_has_begun:
            return False
        lead = self._lead if self._text.shown else self._thinking.shown
        return not self._thinking.of_attempt.startswith(lead)

    def partial_message(self) -> AssistantMessage | None:
        """What is on screen, as a cut message in its stored form; None when nothing is."""
        message = self._on_screen()
        stored = stored_form(message) if message is not None else None
        assert stored is None or isinstance(stored, AssistantMessage)
        return stored

    def _on_screen(self) -> AssistantMessage | None:
        text, thinking = self._text.shown, self._thinking.shown
        if not text.strip() and not thinking.strip():
            return None
        blocks = [{"type": "thinking", "thinking": thinking}] if thinking else []
        if blocks and text:
            blocks.append({"type": "text", "text": text})
        return AssistantMessage(text=text or None, blocks=blocks, partial=True)

    async def _supersede(self) -> None:
        """Cut short, it would leave a stored message whose id is used again."""
        async with self._one_at_a_time:
            await self._put_apart()

    async def _put_apart(self) -> None:
        message = self.partial_message()
        if message is not None:
            message = message.model_copy(update={"superseded": True})
            await self._journal.append_message(self._turn, message, message_id=self.message_id, active=False)
            self._publish_all(self._taken())
            self._publish(MessageAdded(turn=self._turn, message_id=self.message_id, message=message, active=False))
        self.message_id = new_id()
        thinking, text = self._thinking.restart_with_attempt(), self._text.restart_with_attempt()
        if thinking:
            self._show(ThinkingDelta(turn=self._turn, message_id=self.message_id, text=thinking))
        if text:
            self._show(MessageDelta(turn=self._turn, message_id=self.message_id, text=text))


class UnseenReply:
    """A reply that nobody watches: nothing of it is shown, and nothing kept before it is whole."""

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        yield

    def begin_attempt(self) -> None:
        """Nothing to repeat."""

    async def add_text(self, chunk: str) -> None:
        """Not shown."""

    async def add_thinking(self, chunk: str) -> None:
        """Not shown."""

    async def end_attempt(self) -> None:
        """Nothing was on screen."""
