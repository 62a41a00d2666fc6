"""Every key and every slash command, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from rich.cells import cell_len
from rich.console import Group
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from cos.tui.widgets.columns import Columns
from cos.tui.widgets.key_hints import KeyHints

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.app import ComposeResult

    from cos.core.commands import Command

KEYS: Final = """\
Everywhere
  F1            this help
  F2            the sessions; F3 the conversation; F4 what waits for your answer; F5 waiting messages
  F6            the profile of the next new session
  F7            cost: Tab or 1 to 7 group, Enter goes down to sessions and calls, o lets a budget spend more
  F8            search in all conversations; Enter opens one at the hit
  Ctrl+N        a new session
  Ctrl+Up/Down  the session above or below
  Ctrl+F        search in the conversation
  Ctrl+P        all commands
  Esc           closes what lies on top; in the composer it stops the running turn
  Ctrl+C        copies a selection, else clears the composer; pressed twice it quits
  +, -          make the side pane with the focus wider or narrower; its edge can be dragged, too

Composer
  Enter         sends; while a turn runs, the message waits for its end
  Ctrl+S        while a turn runs: say it into the turn, at its next step
  Ctrl+T        while a turn runs: stop the turn and send
  Ctrl+J        new line (also Shift+Enter and Alt+Enter where the terminal tells them apart)
  Up, Down      earlier messages of this profile, at the first and the last line; Ctrl+R searches in them
  /, @          complete a command, a file of the agent's folder; Tab takes it
  Ctrl+O        unfold a long paste
  Ctrl+G        write in $VISUAL or $EDITOR

Waiting messages (F5)
  e, d, s, n    edit, remove, say it into the running turn, send it now

Sessions (F2)
  Enter, Space  open; look at it, and answer it, without opening
  n, r, t, f    new, rename, tags, fork
  a, d          archive (again: take back), delete; what goes is said first
  A             the archived sessions, and back to the others; a on one takes it back
  right, left   show and hide child sessions
  /             filter: words, #tag, profile:work, since:2d, state:waiting (running, failed, unseen, archived …);
                Esc takes it away

Conversation (F3)
  up, down      move; with Shift they select entries
  Space         fold and unfold; End follows again
  /, n, N       search, Enter goes to the hit; then next and previous match from where you are, also after Esc has
                closed the search
  c, b, w       copy the entry, copy its next code block, write it to a file
  o, e          open in $PAGER, in $EDITOR
  u u, f, R     rewind to before this turn (twice: nothing brings it back), fork after it, run the last prompt again

Approvals (F4)
  y             allow this call, once
  s, a          allow it, and what a rule says, for this session or always; the rule is shown first and can be
                changed: digits or arrows choose, Tab edits, y keeps it, Esc goes back
  n             deny it
  r             deny it and tell the model why; Enter sends the reason
  e             edit the command or the arguments; Ctrl+S allows the call once with them
  v             the whole text on the full screen
  Space         mark a call among those of one step; then y and n answer all marked ones
  left, right   the request before or after
  1 to 9, t     of a question: choose, then y or Enter sends it; answer in your own words
"""
_CARE: Final = (
    "A request takes no answer until it has been on screen for a moment with a quiet keyboard, and until its end has "
    "been in view. Enter never allows a call."
)
_TEXT_AT: Final = 16
"""The column of KEYS from which on it says what a key does."""


class Help(ModalScreen[None]):
    """The keys and the commands."""

    DEFAULT_CSS = """
    Help { background: $background; }
    Help > VerticalScroll { height: 1fr; padding: 1 2; }
    Help > VerticalScroll > Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q", "dismiss", "Close", key_display="Esc")]

    def __init__(self, commands: Sequence[Command]) -> None:
        super().__init__()
        self._commands = commands

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(Group(*_keys(), Text(f"{_CARE}\n"), *_listed(self._commands)))
        yield KeyHints()


def _keys() -> Iterator[Text | Columns]:
    """The sections of KEYS, each a heading and two columns."""
    for section in KEYS.split("\n\n"):
        heading, *lines = section.splitlines()
        rows: list[tuple[str, str]] = []
        for line in lines:
            key, text = line[:_TEXT_AT].strip(), line[_TEXT_AT:]
            if key:
                rows.append((key, text))
            else:
                rows[-1] = (rows[-1][0], f"{rows[-1][1]} {text}")
        yield from _section(heading, rows, _TEXT_AT - 3)


def _listed(commands: Sequence[Command]) -> Iterator[Text | Columns]:
    """How the commands are written, what they do."""
    rows = [(f"/{command.name} {command.arguments}".rstrip(), command.summary) for command in commands]
    yield from _section(
        "Commands, written into the composer", rows, max((cell_len(name) for name, _ in rows), default=0)
    )


def _section(heading: str, rows: Sequence[tuple[str, str]], widest: int) -> Iterator[Text | Columns]:
    yield Text(heading, style="bold")
    yield Columns(rows=[(Text(), Text(name), Text(text)) for name, text in rows], widest=widest)
    yield Text()
