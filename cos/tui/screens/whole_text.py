"""The whole text of a request on the full screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from cos.agent.text import visible

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from cos.tui.widgets.approval_card import Card


class WholeText(ModalScreen[bool]):
    """Shows a request exactly. The result says whether its end was reached."""

    DEFAULT_CSS = """
    WholeText { background: $background; }
    WholeText > Static { height: auto; padding: 0 1; background: $panel; }
    WholeText > VerticalScroll { height: 1fr; padding: 0 1; }
    WholeText > VerticalScroll > Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,v,q", "close", "Close", key_display="Esc")]

    def __init__(self, card: Card) -> None:
        super().__init__()
        self._card = card
        self._reached_end = False

    def compose(self) -> ComposeResult:
        place = f" in {self._card.cwd}" if self._card.cwd else ""
        yield Static(visible(f"{self._card.tool}{place} · {self._card.session_title}"), markup=False)
        with VerticalScroll():
            yield Static(Text(visible(self._card.detail)))
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        scroll = self.query_one(VerticalScroll)
        self.watch(scroll, "scroll_y", self._note_end)
        self.call_after_refresh(self._note_end)
        scroll.focus()

    def _note_end(self) -> None:
        scroll = self.query_one(VerticalScroll)
        if scroll.size.height > 0 and scroll.is_vertical_scroll_end:
            self._reached_end = True

    def action_close(self) -> None:
        self.dismiss(self._reached_end)
