"""A reply while it is being streamed, over several attempts: text already shown is never shown twice, never vanishes.

A retry usually begins with the same words. As long as it repeats what is on screen nothing is published; what goes
beyond is appended. When it differs, the old text stays as a message of its own, marked partial and inactive.

What is shown is in the journal first, so that a killed process loses nothing that anybody saw.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from cos.agent.cancellation import uninterrupted
from cos.agent.errors import CosError
from cos.agent.events import MessageAdded, MessageDelta, ThinkingDelta
from cos.agent.ids import new_id
from cos.agent.messages import partial_reply
from cos.agent.pace import Pace
from cos.agent.strand import Strand
from cos.agent.unkept import Unkept

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.events import AgentEvent
    from cos.agent.identity import TurnInfo
    from cos.agent.journal import Journal
    from cos.agent.messages import AssistantMessage

log = logging.getLogger("cos.agent")

KEEP_SECONDS: Final = 0.08
"""From one piece that is kept and shown to the next: as often as a screen is drawn, less often when keeping is slow."""
PATIENCE_SECONDS: Final = 0.25
"""How long a piece waits for a journal that is slow. Then it is shown all the same."""

Publish = Callable[["AgentEvent"], None]


class ShownReply:
    """What the user has seen of one reply."""

    def __init__(self, turn: TurnInfo, journal: Journal, publish: Publish) -> None:
        self._turn = turn
        self._journal = journal
        self._publish = publish
        self.message_id: UUID = new_id()
        self._text = Strand()
        self._thinking = Strand()
        self._lead = ""
        """What the newest attempt that spoke had thought before."""
        self._unseen: list[MessageDelta | ThinkingDelta] = []
        """What has come and is not shown yet, in order."""
        self._being_kept: list[MessageDelta | ThinkingDelta] = []
        """Shown when the journal has it, or when that takes too long."""
        self._unkept = Unkept()
        self._pace = Pace(KEEP_SECONDS, PATIENCE_SECONDS)
        self._is_kept = self._is_ending = False
        self._one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """While the block runs, whatever comes is kept in the journal and then shown; all of it is when it ends.

        A journal that does not answer holds up only the end of the block; its errors are logged, as the append of the
        whole reply will meet them too.
        """
        self._is_kept, self._is_ending, self._pace = True, False, Pace(KEEP_SECONDS, PATIENCE_SECONDS)
        keeper = asyncio.ensure_future(self._keep_until_the_end())
        try:
            yield
        finally:
            self._is_ending = True
            self._pace.hurry()
            await uninterrupted(keeper)
            self._is_kept = False

    async def _keep_until_the_end(self) -> None:
        while self._unseen or not self._is_ending:
            await self._pace.turn()
            is_behind = await self._keep_and_show()
            self._pace.rest()
            if self._unseen or is_behind:
                self._pace.want()

    async def _keep_and_show(self) -> bool:
        """Whether the journal took it, and more was shown meanwhile: that is to be kept whatever comes next."""
        async with self._one_at_a_time:
            self._being_kept = self._taken()
            self._show_late_after_patience()
            is_behind = False
            try:
                is_behind = await self.keep() and bool(self._unkept)
            except CosError:
                log.exception("what is on screen of turn %s could not be kept", self._turn.turn_id)
            self._late.cancel()
            self._publish_all(self._being_kept)
            return is_behind

    def _show_late_after_patience(self) -> None:
        self._late = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._show_late)

    def _show_late(self) -> None:
        late, self._being_kept = self._being_kept, []
        self._publish_all([*late, *self._taken()])
        self._show_late_after_patience()

    def _publish_all(self, events: list[MessageDelta | ThinkingDelta]) -> None:
        for event in events:
            self._publish(event)

    def _taken(self) -> list[MessageDelta | ThinkingDelta]:
        unseen, self._unseen = self._unseen, []
        return unseen

    async def keep(self) -> bool:
        """Hand the journal what is on screen and not kept yet; False when there is nothing.

        Raises:
            CosError: the journal does not take it; the next time it is handed over again.
        """
        pieces = self._unkept.pieces()
        if not pieces or self._is_blank():
            return False
        await self._journal.keep_reply(self._turn, pieces, message_id=self.message_id)
        self._unkept.forget(pieces)
        return True

    def _show(self, event: MessageDelta | ThinkingDelta) -> None:
        self._unkept.add(event)
        if self._is_kept:
            self._unseen.append(event)
            self._pace.want()
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

    def _is_blank(self) -> bool:
        return not self._text.shown.strip() and not self._thinking.shown.strip()

    def partial_message(self) -> AssistantMessage | None:
        """What is on screen, as a cut message in its stored form; None when nothing is."""
        if self._is_blank():
            return None
        return partial_reply(self._text.shown, self._thinking.shown)

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
        self._unkept.clear()
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
