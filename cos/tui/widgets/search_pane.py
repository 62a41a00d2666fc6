"""A conversation with its search box."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from cos.tui.conversation_search import ConversationSearch, Found
from cos.tui.failing_work import TellsFailures
from cos.tui.transcript.view import Transcript
from cos.tui.widgets.search_bar import SearchBar

if TYPE_CHECKING:
    from textual.app import ComposeResult


class SearchPane(TellsFailures, Vertical):
    """Searching goes on while the user types; the marks stay until the search is ended."""

    DEFAULT_CSS = """
    SearchPane { height: 1fr; }
    SearchPane > Transcript { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", key_display="/"),
        Binding("n", "find(1)", "Next match", show=False),
        Binding("N,shift+n", "find(-1)", "Previous match", show=False),
        Binding("escape", "end_search", "End search", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = Transcript(id="conversation")
        self.search = ConversationSearch(self.view)
        self.bar = SearchBar(id="search")

    def compose(self) -> ComposeResult:
        yield self.view
        yield self.bar

    def action_search(self) -> None:
        """Open the search box; whatever it held before is selected, so that typing replaces it."""
        self.bar.open()
        if self.bar.box.value and not self.search.is_on:
            self._look_for(self.bar.box.value)

    def show_hit(self, key: str, text: str) -> None:
        """Go to what was found elsewhere, as if it had been looked for here."""
        self.workers.cancel_group(self, "search")
        self.bar.close()
        self.search.begin_at(key, text)
        self.view.focus()

    def action_end_search(self) -> None:
        self._end_search()

    def action_find(self, step: int) -> None:
        self.bar.show()
        self._move(step)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc has a meaning here only while something is looked for; n and N also take up again what was."""
        if action == "end_search":
            return self.search.is_on or self.bar.is_open
        return bool(self.search.last) if action == "find" else True

    @on(SearchBar.Changed)
    def _search_changed(self, event: SearchBar.Changed) -> None:
        if not self.search.is_on or event.text != self.search.last:
            self._look_for(event.text)

    @on(SearchBar.Moved)
    def _search_moved(self, event: SearchBar.Moved) -> None:
        self._move(event.step)

    @on(SearchBar.Taken)
    def _search_taken(self) -> None:
        self.screen.set_focus(self.view)
        if self.bar.box.value.strip():
            self._settle(self.bar.box.value)
        else:
            self._end_search()

    @on(SearchBar.Left)
    def _search_left(self) -> None:
        self.view.focus()
        if not self.search.is_on:
            self._end_search()

    @on(Transcript.Replaced)
    def _replaced(self) -> None:
        """Another session, or this one read again: the box holds what is looked for here too."""
        if self.bar.is_open:
            self._look_for(self.bar.box.value)

    @work(group="search", exclusive=True, exit_on_error=False)
    async def _look_for(self, text: str) -> None:
        await self._say_all(await self.search.look_for(text))

    @work(group="search-move", exclusive=True, exit_on_error=False)
    async def _settle(self, text: str) -> None:
        await self._say_all(await self.search.settle(text))

    @work(group="search-move", exclusive=True, exit_on_error=False)
    async def _move(self, step: int) -> None:
        await self._say_all(await self.search.move(step))

    async def _say_all(self, found: Found) -> None:
        """What is found now, then with what is not loaded."""
        self._say(found)
        if found.is_counting:
            self._say(await self.search.count_older())

    def _say(self, found: Found) -> None:
        self.bar.say(found.words if self.search.is_on else "")

    def _end_search(self) -> None:
        self.workers.cancel_group(self, "search")
        self.workers.cancel_group(self, "search-move")
        self.search.end()
        self.bar.close()
        if not self.view.has_focus:
            self.view.focus()
