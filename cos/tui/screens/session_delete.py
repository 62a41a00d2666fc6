"""Delete a session: says first what goes with it. Enter deletes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from cos.agent.errors import CosError
from cos.agent.text import visible
from cos.tui import wording
from cos.tui.failing_work import TellsFailures
from cos.tui.widgets.key_hints import KeyHints

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.app import ComposeResult

    from cos.core.session_edits import Doomed

MOST_TITLES = 8


class SessionDelete(TellsFailures, ModalScreen[bool]):
    """Its result says whether the session is gone."""

    DEFAULT_CSS = """
    SessionDelete { align: center middle; background: $background 60%; }
    SessionDelete > Vertical {
        width: 64; max-width: 100%; height: auto; max-height: 100%; border: round $error; background: $background;
        padding: 0 1;
    }
    SessionDelete Static { height: auto; }
    SessionDelete .problem { color: $text-error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "delete", "Delete for ever"),
        Binding("escape,n", "keep", "Keep", key_display="Esc"),
    ]

    def __init__(self, doomed: Doomed, delete: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self._doomed = doomed
        self._delete = delete

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Delete"
            yield Static(doomed_text(self._doomed))
            yield Static(classes="problem", markup=False)
        yield KeyHints()

    @work(group="delete", exclusive=True, exit_on_error=False)
    async def action_delete(self) -> None:
        try:
            await self._delete()
        except CosError as error:
            self.query_one(".problem", Static).update(visible(str(error)))
        else:
            self.dismiss(True)

    def action_keep(self) -> None:
        self.dismiss(False)


def doomed_text(doomed: Doomed) -> Text:
    """Everything that goes, counted, the first titles by name."""
    text = Text().append("This goes, for ever:\n\n", style="bold")
    for session in doomed.sessions[:MOST_TITLES]:
        text.append(f"  {wording.one_line(session.title or '') or 'untitled'}\n")
    hidden = len(doomed.sessions) - MOST_TITLES
    if hidden > 0:
        text.append(f"  … and {hidden:,} more\n")
    counts = [_counted(doomed.turns, "turn"), _counted(doomed.messages, "message")]
    if doomed.children:
        counts.append(_counted(len(doomed.children), "child session"))
    text.append(f"\n{', '.join(counts)}.\n")
    return text.append("A running turn is stopped first. y deletes, Esc keeps; a on the list archives instead.", "dim")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
