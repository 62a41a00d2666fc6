"""Search in what was sent before: a line to type in, and what is found above it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from cos.agent.errors import CosError
from cos.tui import wording
from cos.tui.failing_work import TellsFailures
from cos.tui.widgets.completion_list import Choice, CompletionList

if TYPE_CHECKING:
    from textual.app import ComposeResult

SHOWN_CHARACTERS = 300

Find = Callable[[list[str]], Awaitable[list[str]]]


class HistorySearch(TellsFailures, Vertical):
    """Hidden until it is opened; it closes with its answer."""

    DEFAULT_CSS = """
    HistorySearch {
        display: none;
        height: auto;
        margin: 0 1;
        & > Input, & > Input:focus { border: none; height: 1; padding: 0 1; background: $surface; }
        & > CompletionList { margin: 0; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "Take", priority=True),
        Binding("down,ctrl+r", "move(1)", "Older", key_display="↓", priority=True),
        Binding("up", "move(-1)", "Newer", show=False, priority=True),
        Binding("escape", "leave", "Leave", priority=True),
    ]

    class Closed(Message):
        """`text` is what was chosen, None when nothing was."""

        def __init__(self, text: str | None) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._find: Find | None = None

    def compose(self) -> ComposeResult:
        yield CompletionList()
        yield Input(placeholder="Search in what you sent: Enter takes it, Esc leaves")

    def open(self, find: Find) -> None:
        """`find` gives the newest messages that contain all words; it may raise `CosError`."""
        self._find = find
        self.display = True
        field = self.query_one(Input)
        with self.prevent(Input.Changed):
            field.value = ""
        field.focus()
        self._search("")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._search(event.value)

    @work(group="history-search", exclusive=True, exit_on_error=False)
    async def _search(self, query: str) -> None:
        assert self._find is not None
        try:
            texts = list(dict.fromkeys(await self._find(query.split())))
        except CosError as error:
            self._list.show((), wording.one_line(str(error)))
            return
        choices = [Choice(value=text, label=wording.one_line(text[:SHOWN_CHARACTERS])) for text in texts]
        self._list.show(choices, "" if choices else "nothing that you sent has these words")

    def on_descendant_blur(self) -> None:
        """The user went elsewhere."""
        self.display = False

    def action_move(self, step: int) -> None:
        self._list.move(step)

    def action_take(self) -> None:
        chosen = self._list.chosen
        if chosen is not None:
            self._close(chosen.value)

    def action_leave(self) -> None:
        self._close(None)

    def _close(self, text: str | None) -> None:
        self.display = False
        self.post_message(self.Closed(text))

    @property
    def _list(self) -> CompletionList:
        return self.query_one(CompletionList)
