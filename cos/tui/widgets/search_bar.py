"""The line below the conversation in which the user says what to look for."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

if TYPE_CHECKING:
    from textual.app import ComposeResult


class SearchBar(Horizontal):
    """Hidden until it is opened. It searches nothing itself."""

    DEFAULT_CSS = """
    SearchBar {
        display: none;
        height: 1;
        background: $panel;
        &.-open { display: block; }
        & > #search-mark { width: 2; padding-left: 1; text-style: bold; }
        & > Input { width: 1fr; background: $panel; }
        & > #search-count { width: auto; max-width: 70%; padding: 0 1; color: $foreground 80%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        # The box has a meaning for these, too.
        Binding("enter", "take", "To the hit", key_display="Enter", priority=True),
        Binding("down", "move(1)", "Next", key_display="Down", priority=True),
        Binding("up", "move(-1)", "Previous", key_display="Up", priority=True),
        Binding("escape", "leave", "Leave the box", key_display="Esc"),
    ]
    """
    | Key | |
    | :- | :- |
    | enter | Leave the box at the match: n and N go on from there. Older messages are loaded when it is there. |
    | down | The next match. |
    | up | The match before. |
    | escape | Leave the box where the search is. Once more ends the search. |
    """

    class Changed(Message):
        """Another text is looked for."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Moved(Message):
        """The user wants the match below (1) or above (-1)."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Taken(Message):
        """The user has said what to look for, and goes on in the conversation."""

    class Left(Message):
        """The user goes back to the conversation."""

    def compose(self) -> ComposeResult:
        yield Static("/", id="search-mark")
        yield Input(compact=True, id="search-text", select_on_focus=True)
        yield Static("", id="search-count", markup=False)

    @property
    def box(self) -> Input:
        return self.query_one(Input)

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    def open(self) -> None:
        self.show()
        self.box.focus()

    def show(self) -> None:
        """Let it be seen; the keys stay where they are."""
        self.add_class("-open")

    def close(self) -> None:
        self.remove_class("-open")
        self.say("")

    def say(self, words: str) -> None:
        """Show where the search stands."""
        self.query_one("#search-count", Static).update(words)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    def action_move(self, step: int) -> None:
        self.post_message(self.Moved(step))

    def action_take(self) -> None:
        self.post_message(self.Taken())

    def action_leave(self) -> None:
        self.post_message(self.Left())
