"""The messages that wait, above the composer: what is shown of them, and what the user does to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from cos.agent.errors import CosError
from cos.core.pictures import read_pictures
from cos.tui.paste_fold import packed_message
from cos.tui.widgets.queue_strip import Waiting

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.pictures import Picture
    from cos.core.sessions import QueuedMessage
    from cos.tui.outgoing import Outgoing, SendMode
    from cos.tui.places import Place
    from cos.tui.screens.chat import ChatScreen
    from cos.tui.sending import Sending
    from cos.tui.unsent import Unsent, UnsentMessages
    from cos.tui.widgets.queue_strip import QueueStrip


class WaitingQueue(Protocol):
    """Each method raises `CosError`, with a sentence for the user, when the message waits no longer."""

    async def edit(self, message_id: UUID, text: str, pictures: Sequence[Picture] | None = None) -> None: ...

    async def remove(self, message_id: UUID) -> None: ...

    async def change_mode(self, message_id: UUID, mode: SendMode) -> None: ...


class QueueControl:
    """Of one screen. The strip is drawn again by the event that follows each change."""

    def __init__(
        self,
        queue: WaitingQueue,
        screen: ChatScreen,
        sending: Sending,
        unsent: UnsentMessages,
        place: Callable[[], Place],
    ) -> None:
        """`place`: the open one."""
        self._queue = queue
        self._screen = screen
        self._sending = sending
        self._unsent = unsent
        self._place = place
        self._stored: list[Waiting] = []
        self._why = ""

    def show(self, waiting: Sequence[QueuedMessage], why: str, *, is_running: bool = False) -> None:
        """What is stored of the open place's queue, and what it waits for; below it, what is not stored yet."""
        self._why = why
        self._stored = [
            Waiting(id=it.id, text=it.text, mode=it.mode, draft=packed_message(it.message))
            for it in as_they_go(waiting, is_running=is_running)
        ]
        self.draw()

    def draw(self) -> None:
        unsent = [message for message in self._unsent.of(self._place()) if message.is_shown]
        why = self._why
        if not self._stored:
            why = "for the database" if any(not message.why for message in unsent) else "for you, not sent"
        self._screen.queue.show([*self._stored, *map(_row, unsent)], why)

    async def change(self, event: QueueStrip.Change) -> None:
        """Do what the user wants; why it cannot be done is shown."""
        if event.what == "edit":
            self._screen.composer.edit_waiting(event.message_id, event.row.draft)
            return
        refused = self._unsent.refused(event.message_id)
        if refused is not None and event.what != "remove":
            await self._again(refused, replace(refused.outgoing, mode=event.what))  # type: ignore[arg-type]  # a SendMode
            return
        try:
            if refused is not None:
                self._unsent.end(refused)
            elif event.what == "remove":
                await self._queue.remove(event.message_id)
            elif event.what in {"queue", "steer", "now"}:
                await self._queue.change_mode(event.message_id, event.what)  # type: ignore[arg-type]  # one of SendMode
        except CosError as error:
            self._say(str(error))
        else:
            if event.what == "remove":
                self._screen.composer.prompts.sent(event.row.draft)
                self._screen.notify("Removed. Up in the composer brings it back.", markup=False)

    async def replace(self, outgoing: Outgoing, place: Place) -> None:
        """Give a waiting message its new text; when it waits no longer, the text goes back to the composer."""
        assert outgoing.replaces is not None
        refused = self._unsent.refused(outgoing.replaces)
        if refused is not None:
            await self._again(refused, outgoing)
            return
        try:
            await self._queue.edit(outgoing.replaces, outgoing.text, await read_pictures(outgoing.attachments))
            if outgoing.mode != "queue":
                await self._queue.change_mode(outgoing.replaces, outgoing.mode)
        except CosError as error:
            self._sending.came_back(replace(outgoing, replaces=None), place, error)
            self._say(f"{error}. Your text is in the composer, or above it")

    async def _again(self, refused: Unsent, outgoing: Outgoing) -> None:
        """Send a message that was not taken in."""
        self._unsent.end(refused)
        await self._sending.send(replace(outgoing, replaces=None), refused.place)

    def _say(self, sentence: str) -> None:
        self._screen.notify(sentence, title="Queue", severity="warning", markup=False)


def as_they_go(waiting: Sequence[QueuedMessage], *, is_running: bool) -> list[QueuedMessage]:
    """In the order in which the model will read them, which `waiting` has but for what steers: that goes into the turn
    of what is sent now, if it was written after it, else into the running one, before all that waits for its own turn.
    """
    first = [it for it in waiting if it.mode == "now"]
    rest = [it for it in waiting if it.mode != "now"]
    if not first and not is_running:
        return rest
    into = [it for it in rest if it.mode == "steer" and (not first or it.id > first[-1].id)]
    return [*first, *into, *(it for it in rest if it not in into)]


def waits_for(waiting: Sequence[QueuedMessage]) -> str:
    """What messages wait for while a turn runs: what steers goes in at its next step, unless it is being stopped."""
    steers = 0 if any(it.mode == "now" for it in waiting) else sum(it.mode == "steer" for it in waiting)
    if not steers:
        return "for the running turn to end"
    if steers == len(waiting):
        return "for the next step of the running turn"
    return f"{steers} for the next step, {len(waiting) - steers} for the running turn to end"


def _row(message: Unsent) -> Waiting:
    """It can be changed only when nothing is on its way any more."""
    outgoing = message.outgoing
    return Waiting(
        id=message.id if message.why else None,
        text=outgoing.text,
        mode=outgoing.mode,
        draft=outgoing.draft,
        note="not sent" if message.why else "not stored yet",
    )
