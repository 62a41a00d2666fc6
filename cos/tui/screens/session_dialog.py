"""A small dialog about one session: one line to edit, what is wrong with it, and nothing lost when it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from cos.agent.errors import CosError
from cos.agent.text import visible
from cos.tui.failing_work import TellsFailures
from cos.tui.widgets.key_hints import KeyHints

if TYPE_CHECKING:
    from textual.app import ComposeResult


class SessionDialog(TellsFailures, ModalScreen[bool]):
    """Its result says whether something was changed."""

    DEFAULT_CSS = """
    SessionDialog { align: center middle; background: $background 60%; }
    SessionDialog > Vertical {
        width: 64; max-width: 100%; height: auto; max-height: 100%; border: round $primary; background: $background;
        padding: 0 1;
    }
    SessionDialog Static { height: auto; }
    SessionDialog .problem { color: $text-error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", priority=True),
    ]
    NAME: ClassVar[str]
    LONGEST: ClassVar[int] = 500

    def __init__(self, heading: str, hint: str, value: str) -> None:
        """`heading` and `hint` may hold any text."""
        super().__init__()
        self._heading = visible(heading)
        self._hint = visible(hint)
        self._value = value

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self.NAME
            yield Static(self._heading, markup=False)
            yield Input(self._value, select_on_focus=False, max_length=self.LONGEST)
            yield Static(self._hint, markup=False)
            yield Static(classes="problem", markup=False)
        yield KeyHints()

    async def change(self, value: str) -> None:
        """Do what the line says. For the subclass.

        Raises:
            CosError: it cannot be done.
        """
        raise NotImplementedError

    @on(Input.Submitted)
    @work(group="change", exclusive=True, exit_on_error=False)
    async def _submitted(self, event: Input.Submitted) -> None:
        try:
            await self.change(event.value)
        except CosError as error:
            self.query_one(".problem", Static).update(visible(str(error)))
        else:
            self.dismiss(True)

    def action_leave(self) -> None:
        self.dismiss(False)
