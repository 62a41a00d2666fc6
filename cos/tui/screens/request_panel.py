"""What all panels of one request share: they show whose it is, arm like the card, and end with the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static

from cos.agent.text import visible
from cos.tui import wording
from cos.tui.widgets.arming import ARM_SECONDS, Arming

if TYPE_CHECKING:
    from textual import events

    from cos.tui.widgets.approval_card import Card

Result = TypeVar("Result")


class RequestPanel(ModalScreen[Result | None]):
    """A modal screen about one request. Its result is None when the user goes back or the request ends."""

    DEFAULT_CSS = """
    RequestPanel { background: $background; }
    RequestPanel > .title { height: auto; max-height: 3; padding: 0 1; background: $panel; }
    RequestPanel > .problem { height: auto; max-height: 4; padding: 0 1; color: $text-error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        # A text area takes Esc for itself.
        Binding("escape", "back", "Back", priority=True)
    ]
    DECIDING: ClassVar[frozenset[str]] = frozenset()
    """Keys that decide; every other one means that the keyboard is not quiet."""

    def __init__(self, card: Card, *, arm_seconds: float = ARM_SECONDS) -> None:
        super().__init__()
        self.card = card
        self.arming = Arming(self, arm_seconds, may_arm=lambda: self.is_current, changed=lambda: None)

    @property
    def heading(self) -> str:
        """The request on one line."""
        place = f" in {self.card.cwd}" if self.card.cwd else ""
        what = self.card.title if self.card.is_question else f"{self.card.tool}{place}"
        return wording.one_line(f"{what} · {self.card.asker}")

    def on_mount(self) -> None:
        self.arming.watch_window()
        self.arming.disarm()

    def on_resize(self) -> None:
        self.arming.disarm()

    def on_key(self, event: events.Key) -> None:
        if event.key not in self.DECIDING:
            self.arming.disarm()

    def refuse(self) -> None:
        """A key that decides came before the panel was armed."""
        self.arming.refuse()
        self.say("That key came too early and was not taken: press it again.")

    def say(self, problem: str) -> None:
        """Say in the panel's line why nothing happens."""
        self.query_one(".problem", Static).update(visible(problem))

    def action_back(self) -> None:
        self.dismiss(None)

    def request_ended(self) -> None:
        """Somebody else answered it, or its time or its turn is over."""
        if self.is_current:
            self.dismiss(None)
            self.app.notify("The request that was open here has ended.", severity="warning", markup=False)
