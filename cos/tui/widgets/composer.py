"""Where the user writes. It never waits for anything, and Enter here never answers a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.timer import Timer

NEW_LINE_KEYS = frozenset({"shift+enter", "alt+enter", "ctrl+j"})
BURST_SECONDS = 0.02
BURST_KEYS = 3
WRAPPED_CHARACTERS = 100_000
"""A longer paste is shown in long lines: to wrap it would take seconds."""


class Burst:
    """Tells keys of a paste that the terminal did not mark as one: they follow each other faster than anybody types."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._last = 0.0
        self._fast_keys = 0

    def is_inside(self, at: float) -> bool:
        """Whether a key at this time (seconds) goes on with a burst."""
        return self._fast_keys >= BURST_KEYS and at - self._last < self.seconds

    def note(self, at: float, *, counts: bool) -> None:
        """A key came; `counts` when it is part of a text."""
        self._fast_keys = self._fast_keys + 1 if counts and at - self._last < self.seconds else 0
        self._last = at

    def end(self) -> None:
        self._fast_keys = 0

    def never_again(self) -> None:
        """The terminal marks its pastes, so fast keys are keys."""
        self.seconds = 0.0


class Composer(TextArea):
    """A text area that grows to ten lines; Enter sends."""

    DEFAULT_CSS = """
    Composer {
        height: auto;
        min-height: 3;
        max-height: 12;
        border: round $foreground 35%;
        background: $background;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        &:focus { border: round $primary; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", priority=False),
        Binding("ctrl+j", "new_line", "New line"),
        Binding("ctrl+d", "delete_or_leave", "Quit", show=False),
    ]
    """
    | Key | |
    | :- | :- |
    | enter | Send what is written. |
    | ctrl+j, shift+enter, alt+enter | New line. |
    | up, down | Earlier and later messages, at the first and last line. |
    | ctrl+d | Delete the character to the right; in an empty composer: quit, when nothing waits or runs. |
    """

    class Submitted(Message):
        """The user sent a text."""

        def __init__(self, composer: Composer, text: str) -> None:
            super().__init__()
            self.composer = composer
            self.text = text

        @property
        def control(self) -> Composer:
            return self.composer

    class LeaveWanted(Message):
        """The user pressed Ctrl+D with nothing written."""

    def __init__(self, *, id: str | None = None, burst_seconds: float = BURST_SECONDS) -> None:
        super().__init__(
            id=id, soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False, tab_behavior="focus",
            placeholder="Write a message. Enter sends, ^J makes a new line",
        )  # fmt: skip
        self._sent: list[str] = []
        self._position = 0
        self._draft = ""
        self._burst = Burst(burst_seconds)
        self._held_enter: Timer | None = None

    async def _on_key(self, event: events.Key) -> None:
        """What is not handled here goes on to the text area: Textual calls the handlers of every class in turn."""
        is_pasted = self._burst.is_inside(event.time)
        self._burst.note(event.time, counts=event.is_printable or event.key == "enter")
        if self._held_enter is not None:
            self._release_enter(self.action_new_line)
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self._enter(is_pasted=is_pasted)
        elif event.key in NEW_LINE_KEYS:
            event.stop()
            event.prevent_default()
            self.action_new_line()
        elif self._recalls(event.key):
            event.stop()
            event.prevent_default()

    def _enter(self, *, is_pasted: bool) -> None:
        """Send; but hold an Enter that came within a burst until it is clear that no text follows it."""
        if is_pasted:
            self._held_enter = self.set_timer(2 * self._burst.seconds, lambda: self._release_enter(self.action_submit))
        else:
            self._burst.end()
            self.action_submit()

    def _release_enter(self, action: Callable[[], None]) -> None:
        if self._held_enter is not None:
            self._held_enter.stop()
            self._held_enter = None
            action()

    async def _on_paste(self, event: events.Paste) -> None:
        self._burst.never_again()
        if len(event.text) > WRAPPED_CHARACTERS:
            self.soft_wrap = False

    def action_submit(self) -> None:
        text = self.text
        if text.strip():
            self._sent.append(text)
            self._position = len(self._sent)
            self._draft = ""
            self.load("")
            self.post_message(self.Submitted(self, text))

    def action_new_line(self) -> None:
        self.insert("\n")

    def action_delete_or_leave(self) -> None:
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(self.LeaveWanted())

    def begin(self, draft: str) -> None:
        """Write somewhere else: the draft of that place, with no way to undo into the one before."""
        self.load(draft)
        self.history.clear()
        self._position = len(self._sent)

    def put_back(self, text: str) -> None:
        """Return a text that could not be sent, unless something new is being written."""
        if not self.text:
            self.load(text)

    def load(self, text: str) -> None:
        """Replace what is written, cursor at the end."""
        self.soft_wrap = len(text) <= WRAPPED_CHARACTERS
        self.text = text
        self.move_cursor(self.document.end)

    def _recalls(self, key: str) -> bool:
        """Whether the key moved through what was sent: up on the first line, down on the last."""
        row = self.cursor_location[0]
        if key == "up" and row == 0:
            return self._recall(-1)
        return key == "down" and row == self.document.line_count - 1 and self._recall(1)

    def _recall(self, step: int) -> bool:
        """Show the message `step` places away in what was sent; False when there is none."""
        position = self._position + step
        if not 0 <= position <= len(self._sent):
            return False
        if self._position == len(self._sent):
            self._draft = self.text
        self._position = position
        self.load(self._draft if position == len(self._sent) else self._sent[position])
        return True
