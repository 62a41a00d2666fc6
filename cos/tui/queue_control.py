"""What the user does to waiting messages: change the text, remove, steer with it, send it now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cos.agent.errors import CosError

if TYPE_CHECKING:
    from uuid import UUID

    from cos.tui.outgoing import Outgoing, SendMode
    from cos.tui.places import Place
    from cos.tui.screens.chat import ChatScreen
    from cos.tui.sending import Sending
    from cos.tui.widgets.queue_strip import QueueStrip


class WaitingQueue(Protocol):
    """Each method raises `CosError`, with a sentence for the user, when the message waits no longer."""

    async def edit(self, message_id: UUID, text: str) -> None: ...

    async def remove(self, message_id: UUID) -> None: ...

    async def change_mode(self, message_id: UUID, mode: SendMode) -> None: ...


class QueueControl:
    """Of one screen. The strip is drawn again by the event that follows each change."""

    def __init__(self, queue: WaitingQueue, screen: ChatScreen, sending: Sending) -> None:
        self._queue = queue
        self._screen = screen
        self._sending = sending

    async def change(self, event: QueueStrip.Change) -> None:
        """Do what the user wants; why it cannot be done is shown."""
        if event.what == "edit":
            self._screen.composer.edit_waiting(event.message_id, event.row.text)
            return
        try:
            if event.what == "remove":
                await self._queue.remove(event.message_id)
            elif event.what in {"queue", "steer", "now"}:
                await self._queue.change_mode(event.message_id, event.what)  # type: ignore[arg-type]  # one of SendMode
        except CosError as error:
            self._say(str(error))
        else:
            if event.what == "remove":
                self._screen.composer.prompts.sent(event.row.text)
                self._screen.notify("Removed. Up in the composer brings it back.", markup=False)

    async def replace(self, outgoing: Outgoing, place: Place) -> None:
        """Give a waiting message its new text; when it waits no longer, the text goes back to the composer."""
        assert outgoing.replaces is not None
        try:
            await self._queue.edit(outgoing.replaces, outgoing.text)
            if outgoing.mode != "queue":
                await self._queue.change_mode(outgoing.replaces, outgoing.mode)
        except CosError as error:
            self._sending.give_back(outgoing, place)
            self._say(f"{error}. Your text is in the composer, or one Up away")

    def _say(self, sentence: str) -> None:
        self._screen.notify(sentence, title="Queue", severity="warning", markup=False)
