"""Search in all conversations: a line to type in, the sessions that were found below it, best first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from cos.agent.errors import CosError
from cos.agent.text import visible
from cos.core.fork_titles import marker_first
from cos.core.search_query import LONGEST
from cos.core.searching import SearchHit, SearchResult
from cos.tui import wording
from cos.tui.failing_work import TellsFailures

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.timer import Timer

    from cos.core.snippets import Snippet

DEBOUNCE_SECONDS = 0.15
HINT = 'All words must be there. OR: either · "a phrase" · -word: not there · word*: its beginning'
_LEAD_SHARE = 3
"""What stands before the first mark takes at most one part in this many of a row."""
_SPEAKERS = {"user": "you", "tool_result": "tool"}

Find = Callable[[str], Awaitable[SearchResult]]


class FindSessions(TellsFailures, ModalScreen[SearchHit | None]):
    """Its result is the hit that is to be opened. Typing never waits for the database; the last query counts."""

    DEFAULT_CSS = """
    FindSessions { background: $background; }
    FindSessions > .title { height: 1; padding: 0 1; background: $panel; text-style: bold; }
    FindSessions > Input, FindSessions > Input:focus {
        height: 3; border: round $primary; background: $background;
    }
    FindSessions > OptionList {
        height: 1fr; border: none; padding: 0 1; background: $background; text-wrap: nowrap; text-overflow: ellipsis;
        scrollbar-size-vertical: 1;
    }
    FindSessions > .note { height: auto; padding: 0 1; color: $text-muted; }
    FindSessions > .note.-trouble { color: $text-error; }
    """
    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f8", "leave", "Close", key_display="Esc", priority=True),
        Binding("down", "move('down')", "Next", key_display="↓", priority=True),
        Binding("up", "move('up')", "Before", key_display="↑", priority=True),
        Binding("pagedown", "move('page_down')", show=False, priority=True),
        Binding("pageup", "move('page_up')", show=False, priority=True),
        Binding("enter", "open", "Open at the hit", key_display="Enter", priority=True),
    ]

    def __init__(self, find: Find, text: str = "", *, debounce_seconds: float = DEBOUNCE_SECONDS) -> None:
        super().__init__()
        self._find = find
        self._begin_with = text
        self._debounce_seconds = debounce_seconds
        self._timer: Timer | None = None
        self._hits: tuple[SearchHit, ...] = ()
        self._searched = ""
        """What the rows are the answer to."""

    def compose(self) -> ComposeResult:
        yield Static("Search in all conversations", classes="title", markup=False)
        yield Input(self._begin_with, placeholder="words", select_on_focus=False, max_length=LONGEST)
        yield OptionList()
        yield Static(HINT, classes="note", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._rows.can_focus = False

    def on_resize(self) -> None:
        self._draw()

    @property
    def _rows(self) -> OptionList:
        return self.query_one(OptionList)

    @property
    def _text(self) -> str:
        return self.query_one(Input).value.strip()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._stop_timer()
        self._timer = self.set_timer(self._debounce_seconds, self._search)

    @work(group="find", exclusive=True, exit_on_error=False)
    async def _search(self) -> None:
        text = self._text
        try:
            result = await self._find(text) if text else SearchResult()
        except CosError as error:
            self._say(str(error), is_trouble=True)
            return
        if text == self._text:
            self._hits, self._searched = result.hits, text
            self._draw()
            self._rows.highlighted = 0 if result.hits else None
            self._say(_told(result) if text else HINT)

    def _draw(self) -> None:
        """The rows, as wide as there is room."""
        rows, chosen = self._rows, self._rows.highlighted
        rows.clear_options()
        rows.add_options([Option(hit_text(hit, self.size.width - 4)) for hit in self._hits])
        rows.highlighted = chosen if self._hits else None

    def _say(self, words: str, *, is_trouble: bool = False) -> None:
        note = self.query_one(".note", Static)
        note.update(visible(words))
        note.set_class(is_trouble, "-trouble")

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._hits[event.option_index])

    def action_move(self, where: str) -> None:
        getattr(self._rows, f"action_{'cursor_' if where in {'up', 'down'} else ''}{where}")()

    def action_open(self) -> None:
        chosen = self._rows.highlighted
        if self._searched != self._text:
            # The rows are still the answer to something else.
            self._stop_timer()
            self._search()
        elif chosen is not None and chosen < len(self._hits):
            self.dismiss(self._hits[chosen])

    def action_leave(self) -> None:
        self.dismiss(None)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None


def hit_text(hit: SearchHit, width: int) -> Text:
    """Two lines: which session and when, and the words around what was found."""
    title = wording.one_line(marker_first(hit.title or "untitled"))
    if hit.is_in_child:
        title += f" ↳ {wording.one_line(hit.own_title or 'untitled')}"
    line = Text(title, style="bold")
    for tag in hit.tags:
        line.append(f"  #{wording.one_line(tag)}", style="dim")
    also = [wording.moment(hit.created_at), hit.profile_id]
    also += [f"{hit.found} hits"] if hit.found > 1 else []
    also += ["archived"] if hit.is_archived else []
    end = f"  {' · '.join(also)}"
    line.truncate(max(8, width - len(end)), overflow="ellipsis")
    line.append(end, style="dim")
    speaker = f"  {_SPEAKERS.get(hit.role, hit.profile_id)}: "
    return Text("\n").join([line, Text(speaker, style="dim") + _marked(hit.snippet, width - len(speaker))])


def _marked(snippet: Snippet, room: int) -> Text:
    first = snippet.spans[0][0] if snippet.spans else 0
    begin = max(0, first - room // _LEAD_SHARE)
    line, at = Text("…" if begin else ""), begin
    for start, end in snippet.spans:
        line.append(visible(snippet.text[at:start]))
        line.append(visible(snippet.text[start:end]), style="bold reverse")
        at = end
    line.append(visible(snippet.text[at:]))
    return line


def _told(result: SearchResult) -> str:
    count = len(result.hits)
    if not count:
        return "Nothing found. Fewer words find more, and so does OR between them."
    capped = " · many match: the newest messages were ranked" if result.is_capped else ""
    left = f" · the last {result.left_out} words were not looked for" if result.left_out else ""
    return f"{count} session{'' if count == 1 else 's'}{capped}{left}"
