"""What was sent from here and is not stored yet. It stands where it was written until it is stored or taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.ids import new_id
from cos.core.commands import parse_command

if TYPE_CHECKING:
    from cos.tui.outgoing import Outgoing
    from cos.tui.places import Place


@dataclass(slots=True, eq=False)
class Unsent:
    """One message."""

    outgoing: Outgoing
    place: Place
    id: UUID = field(default_factory=new_id)
    """Also its client message id: handed over again, it is taken in once."""
    is_shown: bool = False
    why: str = ""
    """Why it was not taken in, for good; empty while it is on its way."""


class UnsentMessages:
    """In the order in which they were sent."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """`changed`: there is something else to show."""
        self._changed = changed
        self._messages: list[Unsent] = []

    def begin(self, outgoing: Outgoing, place: Place) -> Unsent:
        """It was sent. It is shown only when it takes long: most are stored before an eye could follow."""
        message = Unsent(outgoing, place)
        self._messages.append(message)
        return message

    def show(self, message: Unsent, why: str = "") -> None:
        """Show that it is not stored yet, or that it was not taken in, and `why`: that is final."""
        if message in self._messages and (why or not message.is_shown):
            message.is_shown, message.why = True, why
            self._changed()

    def end(self, message: Unsent) -> None:
        """It is stored, or back where it was written."""
        if message in self._messages:
            self._messages.remove(message)
            if message.is_shown:
                self._changed()

    def of(self, place: Place) -> list[Unsent]:
        """Those of a place, shown or not."""
        return [message for message in self._messages if message.place is place]

    @property
    def texts(self) -> list[str]:
        """Of all places. A command that is being carried out is none, such as the one that quits."""
        return [it.outgoing.text for it in self._messages if it.why or parse_command(it.outgoing.text) is None]

    def move_refused(self, session_id: UUID, place: Place) -> None:
        """The session is gone: what it did not take goes along to another place."""
        for message in self._messages:
            if message.why and message.place.session_id == session_id:
                message.place = place
        self._changed()

    def refused(self, message_id: UUID) -> Unsent | None:
        """The message with this id, if it was not taken in for good."""
        return next((it for it in self._messages if it.id == message_id and it.why), None)
