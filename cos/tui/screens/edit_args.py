"""Edit a call's arguments, then allow it with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Static, TextArea

from cos.core.edited_args import NotArguments, args_of, shows_command_only, text_of
from cos.tui.screens.request_panel import RequestPanel
from cos.tui.widgets.key_hints import KeyHints

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from cos.tui.widgets.approval_card import Card


class EditArgs(RequestPanel[dict[str, Any]]):
    """The result is the arguments that shall run."""

    DEFAULT_CSS = """
    EditArgs > TextArea { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "allow", "Allow once, as edited", priority=True)]
    DECIDING = frozenset({"ctrl+s"})

    def __init__(self, card: Card, args: dict[str, Any], *, arm_seconds: float) -> None:
        super().__init__(card, arm_seconds=arm_seconds)
        self._args = args

    def compose(self) -> ComposeResult:
        what = "command" if shows_command_only(self.card.tool, self._args) else "arguments"
        yield Static(f"Edit the {what}: {self.heading}", markup=False, classes="title")
        yield TextArea(text_of(self.card.tool, self._args), soft_wrap=True, tab_behavior="indent")
        yield Static(markup=False, classes="problem")
        yield KeyHints()

    def on_mount(self) -> None:
        editor = self.query_one(TextArea)
        editor.move_cursor(editor.document.end)

    def action_allow(self) -> None:
        if not self.arming.is_armed:
            self.refuse()
            return
        try:
            args = args_of(self.card.tool, self._args, self.query_one(TextArea).text)
        except NotArguments as error:
            self.say(str(error))
        else:
            self.dismiss(args)
