"""The whole text of a request on the full screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Static

from cos.tui.screens.request_panel import RequestPanel
from cos.tui.widgets.approval_card import whole_text
from cos.tui.widgets.key_hints import KeyHints
from cos.tui.widgets.reading import ReadToEnd

if TYPE_CHECKING:
    from textual.app import ComposeResult


class WholeText(RequestPanel[bool]):
    """Shows a request exactly. The result says whether its end was reached."""

    DEFAULT_CSS = """
    WholeText > ReadToEnd { height: 1fr; padding: 0 1; }
    WholeText > ReadToEnd > Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("v,q", "back", "Close", show=False)]

    def compose(self) -> ComposeResult:
        yield Static(self.heading, markup=False, classes="title")
        with ReadToEnd():
            yield Static(whole_text(self.card))
        yield KeyHints()

    def on_mount(self) -> None:
        scroll = self.query_one(ReadToEnd)
        scroll.focus()
        scroll.begin()

    def action_back(self) -> None:
        self.dismiss(self.query_one(ReadToEnd).was_read)
