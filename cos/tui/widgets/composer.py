"""Where the user writes. It never waits for anything, and Enter here never answers a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

if TYPE_CHECKING:
    from textual import events

NEW_LINE_KEYS = frozenset({"shift+enter", "alt+enter", "ctrl+j"})


class Composer(TextArea):
    """A text area that grows to ten lines; Enter sends."""

    DEFAULT_CSS = """
    Composer {
        height: auto;
        min-height: 3;
        max-height: 12;
        border: round $border-blurred;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        &:focus { border: round $border; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", priority=False),
        Binding("ctrl+j", "new_line", "New line", key_display="^J"),
        # The text area has a command of its own on this key.
        Binding("f6", "app.next_profile", "Profile", show=False),
    ]
    """
    | Key | |
    | :- | :- |
    | enter | Send what is written. |
    | ctrl+j, shift+enter, alt+enter | New line. |
    | up, down | Earlier and later messages, at the first and last line. |
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

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(
            id=id, soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False, tab_behavior="focus",
            placeholder="Write a message. Enter sends, ^J makes a new line",
        )  # fmt: skip
        self._sent: list[str] = []
        self._position = 0
        self._draft = ""

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.action_submit()
        elif event.key in NEW_LINE_KEYS:
            event.stop()
            event.prevent_default()
            self.action_new_line()
        elif self._recalls(event.key):
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)

    def action_submit(self) -> None:
        text = self.text
        if text.strip():
            self._sent.append(text)
            self._position = len(self._sent)
            self._draft = ""
            self.clear()
            self.post_message(self.Submitted(self, text))

    def action_new_line(self) -> None:
        self.insert("\n")

    def put_back(self, text: str) -> None:
        """Return a text that could not be sent, unless something new is being written."""
        if not self.text:
            self.load(text)

    def load(self, text: str) -> None:
        """Replace what is written, cursor at the end."""
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
