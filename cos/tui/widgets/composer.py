"""Where the user writes. It never waits for anything, and Enter here never answers a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive

from cos.core.attachments import AttachmentError
from cos.tui.burst import BURST_SECONDS, Burst
from cos.tui.dropped_paths import image_paths, images_at
from cos.tui.long_text import LongText
from cos.tui.outgoing import Outgoing
from cos.tui.prompt_history import PromptHistory
from cos.tui.widgets.folding_area import FoldingArea

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from textual import events
    from textual.timer import Timer

    from cos.tui.outgoing import SendMode

NEW_LINE_KEYS = frozenset({"shift+enter", "alt+enter", "ctrl+j"})
IDLE_HINT = "Write a message. Enter sends, ^J makes a new line"
RUNNING_HINT = "Enter queues, ^S steers, ^T stops and sends"
CHILD_RUNNING_HINT = "Enter tells this child agent at its next step"
QUESTION_HINT = "F4 answers the question, a message does not"
CHILD_IDLE_HINT = "This child agent has ended; /fork goes on"


class Composer(FoldingArea):
    """A text area that grows to ten lines; Enter sends."""

    DEFAULT_CSS = """
    Composer {
        height: auto;
        min-height: 3;
        max-height: 12;
        border: round $foreground 35%;
        border-title-color: $text-warning;
        border-subtitle-color: $text-warning;
        background: $background;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        &:focus { border: round $primary; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", priority=False),
        Binding("ctrl+s", "submit('steer')", "Steer"),
        Binding("ctrl+t", "submit('now')", "Send now"),
        Binding("ctrl+j", "new_line", "New line"),
        Binding("ctrl+o", "unfold", "Unfold", show=False),
        Binding("ctrl+g", "want('editor')", "Editor", show=False),
        Binding("ctrl+r", "want('search')", "History", show=False),
        Binding("ctrl+d", "delete_or_leave", "Quit", show=False),
    ]
    """
    | Key | |
    | :- | :- |
    | enter | Send what is written; while a turn runs, it waits in the queue. |
    | ctrl+s | While a turn runs: into it, at its next step. |
    | ctrl+t | While a turn runs: stop it and send. |
    | ctrl+j, shift+enter, alt+enter | New line. |
    | up, down | Earlier and later messages, at the first and last line. |
    | ctrl+r | Search in earlier messages. |
    | ctrl+o | Unfold a paste. |
    | ctrl+g | Write in $VISUAL or $EDITOR. |
    | ctrl+d | Delete the character to the right; in an empty composer: quit, when nothing waits or runs. |
    """

    turn_runs: reactive[bool] = reactive(default=False, init=False)
    """A turn of the open session runs: what is sent waits, unless the user wants otherwise."""
    is_of_child: reactive[bool] = reactive(default=False, init=False)
    """The open session is a child agent's: what is sent has one way to go."""

    class Submitted(Message):
        """The user sent a text."""

        def __init__(self, composer: Composer, outgoing: Outgoing) -> None:
            super().__init__()
            self.composer = composer
            self.outgoing = outgoing

        @property
        def text(self) -> str:
            return self.outgoing.text

        @property
        def control(self) -> Composer:
            return self.composer

    class LeaveWanted(Message):
        """The user pressed Ctrl+D with nothing written."""

    class Wanted(Message):
        """Something that takes more than the composer: `older` messages, a `search` in them, an `editor`."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    def __init__(self, *, id: str | None = None, burst_seconds: float = BURST_SECONDS) -> None:
        super().__init__(id=id, placeholder=IDLE_HINT)
        self.prompts = PromptHistory()
        """Of the profile that is written to."""
        self.take_key: Callable[[str], bool] = lambda key: False
        """Asked before the composer acts on a key; True = it was for somebody else, such as an open list."""
        self.editing: UUID | None = None
        """The waiting message whose text this is."""
        self._before_editing = ""
        self._long = LongText()
        self._restored = ""
        """What came back to be written on, until a key is pressed."""
        self._burst = Burst(burst_seconds)
        self._held_enter: Timer | None = None

    def watch_turn_runs(self) -> None:
        running, idle = (CHILD_RUNNING_HINT, CHILD_IDLE_HINT) if self.is_of_child else (RUNNING_HINT, IDLE_HINT)
        self.placeholder = running if self.turn_runs else idle
        self.refresh_bindings()

    watch_is_of_child = watch_turn_runs

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The two ways past the queue are offered only while there is something to pass."""
        return (
            self.turn_runs and not self.is_of_child
            if action == "submit" and parameters
            else super().check_action(action, parameters)
        )

    async def _on_key(self, event: events.Key) -> None:
        """What is not handled here goes on to the text area: Textual calls the handlers of every class in turn."""
        is_pasted = self._burst.is_inside(event.time)
        self._burst.note(event.time, counts=event.is_printable or event.key == "enter")
        if self._held_enter is not None:
            self._release_enter(self.action_new_line)
        if not self._handles(event.key, is_pasted=is_pasted):
            return
        event.stop()
        event.prevent_default()

    def _handles(self, key: str, *, is_pasted: bool) -> bool:
        restored, self._restored = self._restored, ""
        if not is_pasted and self.take_key(key):
            return True
        if key == "slash" and restored and restored == self.packed and self.cursor_location == self.document.end:
            # A command begins on its own line: glued to a text that came back, it would be sent as a message.
            self.prompts.sent(self.packed)
            self.load("")
            self.app.notify("What stood here is one Up away; a command begins on an empty line.", markup=False)
            return False
        if key == "enter":
            self._enter(is_pasted=is_pasted)
        elif key in NEW_LINE_KEYS:
            self.action_new_line()
        elif key == "escape" and self.editing is not None:
            self._end_editing()
        elif key in {"ctrl+s", "ctrl+t"} and not self.turn_runs:
            self.app.notify("No turn runs: Enter sends.", markup=False)
        elif key in {"up", "down"}:
            self.recall(key)
        else:
            return False
        return True

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
        """Keys that follow wait until it is known whether dropped paths are images; nothing else of the app waits."""
        event.stop()
        event.prevent_default()
        self._burst.never_again()
        try:
            images = await images_at(image_paths(event.text))
        except AttachmentError as error:
            self.app.notify(str(error), title="Not attached", severity="warning", markup=False)
            images = []
        if images:
            for image in images:
                self.insert_image(image)
        else:
            self.insert_paste(event.text)

    def action_submit(self, mode: SendMode = "queue") -> None:
        text = self.full_text
        if not text.strip():
            return
        if warning := self._long.warning(text):
            self.app.notify(warning, severity="warning", markup=False)
            return
        outgoing = Outgoing(
            text=text, draft=self.packed, mode=mode, attachments=self.attachments, replaces=self.editing
        )  # fmt: skip
        self.prompts.sent(outgoing.remembered)
        if self.editing is not None:
            self._end_editing()
        else:
            self.load("")
        # Straight to the screen: on the way up through what holds the composer, the screen would be drawn first.
        self.screen.post_message(self.Submitted(self, outgoing))

    def action_new_line(self) -> None:
        self.insert("\n")

    def action_want(self, what: str) -> None:
        self.post_message(self.Wanted(what))

    def action_delete_or_leave(self) -> None:
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(self.LeaveWanted())

    def go_on_from(self, before: Composer) -> None:
        """Take over what is written in another composer, and the Enter that it may hold."""
        self.prompts = before.prompts
        self.unpack(before.packed)
        self.selection = before.selection
        if before._held_enter is not None:
            before._release_enter(lambda: self._enter(is_pasted=True))

    def begin(self, draft: str, typed: str = "") -> None:
        """Write somewhere else: the draft of that place, with no way to undo into the one before.

        `typed` is being written at this moment and comes after it.
        """
        self.editing = None
        self.border_title = ""
        if typed:
            self.unpack("\n".join(text for text in (draft, typed) if text))
        else:
            self.restore(draft)
        self.history.clear()
        self.prompts.rest()

    def put_back(self, draft: str) -> None:
        """Return a text that could not be sent; while something new is being written it is one Up away."""
        if not self.text:
            self.restore(draft)
        elif draft:
            self.prompts.sent(draft)

    def restore(self, draft: str) -> None:
        """Show a text that was written before. A `/` as the next key begins a command, not the text's next word."""
        self.unpack(draft)
        self._restored = self.packed

    @property
    def draft(self) -> str:
        """What is to be kept for this place, also while another text is being changed."""
        return self.packed if self.editing is None else self._before_editing

    def edit_waiting(self, message_id: UUID, draft: str) -> None:
        """Take a waiting message back. What was being written comes back after it."""
        self._before_editing = self.draft
        self.editing = message_id
        self.border_title = "changes a waiting message · Esc leaves it as it was"
        self.unpack(draft)
        self.focus()

    def recall(self, key: str) -> None:
        """Up and Down: through what was sent at the first and the last line on screen, else through the lines.

        The cursor moves at once: as a binding it would move after the next key has looked where it is.
        """
        text = None
        if key == "up" and self.navigator.is_first_wrapped_line(self.cursor_location):
            text = self.prompts.older(self.packed)
            if text is None and (self.prompts.has_more or not self.prompts.is_read):
                self.post_message(self.Wanted("older"))
                return
        elif key == "down" and self.navigator.is_last_wrapped_line(self.cursor_location):
            text = self.prompts.newer(self.packed)
        if text is not None:
            self.unpack(text)
        elif key == "up":
            self.action_cursor_up()
        else:
            self.action_cursor_down()

    def _end_editing(self) -> None:
        self.editing = None
        self.border_title = ""
        self.unpack(self._before_editing)
