"""The composer with what belongs to it: waiting messages, completion, earlier messages, the user's editor."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import SuspendNotSupported
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets._toast import ToastRack

from cos.agent.errors import CosError
from cos.tui.burst import BURST_SECONDS
from cos.tui.completing import Completing
from cos.tui.external_editor import EditorError, edited, editor_command
from cos.tui.failing_work import TellsFailures
from cos.tui.prompt_history import PromptHistory
from cos.tui.widgets.completion_list import CompletionList
from cos.tui.widgets.composer import Composer
from cos.tui.widgets.history_search import HistorySearch
from cos.tui.widgets.queue_strip import QueueStrip

if TYPE_CHECKING:
    from pathlib import Path

    from textual import events
    from textual.app import ComposeResult

    from cos.tui.completion import Completions
    from cos.tui.prompt_history import PromptSource

PAGE = 50
LINES_BELOW = 2
"""Of the screen: the status line and the keys."""


class Writing(TellsFailures, Vertical):
    """`at` says for which profile; what is sent comes out as `Composer.Submitted`."""

    DEFAULT_CSS = """
    Writing { height: auto; }
    """

    class Touched(Message):
        """What is written has changed."""

    def __init__(self, *, id: str | None = None, burst_seconds: float = BURST_SECONDS) -> None:
        super().__init__(id=id)
        self._burst_seconds = burst_seconds
        self._profile_id = ""
        self._histories: dict[str, PromptHistory] = {}
        self._is_reading = False
        self.prompts: PromptSource | None = None
        """Where earlier messages are read; None until the core is there."""

    def compose(self) -> ComposeResult:
        yield QueueStrip(id="queue")
        yield HistorySearch(id="history")
        yield CompletionList(id="completions")
        yield Composer(id="composer", burst_seconds=self._burst_seconds)

    def on_mount(self) -> None:
        self.completing = Completing(self.composer, self.query_one("#completions", CompletionList))
        self.composer.take_key = self._take_key

    def on_resize(self, event: events.Resize) -> None:
        """Notices lie above what is written, however high it is."""
        for rack in self.screen.query(ToastRack):
            rack.styles.margin = (0, 0, LINES_BELOW + event.size.height, 0)

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    @property
    def queue(self) -> QueueStrip:
        return self.query_one(QueueStrip)

    def connect(self, prompts: PromptSource, completions: Completions | None) -> None:
        """The core is there."""
        self.prompts = prompts
        self.completing.commands = completions

    def at(self, profile_id: str, workspace: Path) -> None:
        """Write in another place: its profile, and the folder that its files are in."""
        self.completing.at(workspace)
        if profile_id == self._profile_id:
            return
        self._profile_id = profile_id
        before = self.composer.prompts
        self.composer.prompts = self._histories.setdefault(
            profile_id, before if not self._histories else PromptHistory()
        )
        if not self.composer.prompts.is_read:
            self._read_older(shows=False)

    def _take_key(self, key: str) -> bool:
        """A key of the composer that is for the open list, or that goes up into the waiting messages."""
        if self.completing.take_key(key):
            return True
        goes_up = key == "up" and not self.composer.text and not self.composer.prompts.is_browsing
        if goes_up and self.queue.display and self.queue.can_change:
            self.queue.choose_last()
            return True
        return False

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._look()
        self.post_message(self.Touched())

    @on(TextArea.SelectionChanged)
    def _moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self._look()

    def _look(self) -> None:
        query = self.completing.look()
        if query is not None:
            self._list_files()
            self._match_files(query)

    @work(group="list-files", exclusive=False, exit_on_error=False)
    async def _list_files(self) -> None:
        await self.completing.list_files()

    @work(group="match-files", exclusive=True, exit_on_error=False)
    async def _match_files(self, query: str) -> None:
        await self.completing.match_files(query)

    @on(Composer.Wanted)
    def _wanted(self, event: Composer.Wanted) -> None:
        event.stop()
        if event.what == "editor":
            self._edit_outside()
        elif self.prompts is None:
            self.notify("Earlier messages come with the database, which is not there yet.", markup=False)
        elif event.what == "search":
            self.completing.close()
            self.query_one(HistorySearch).open(self._find)
        elif not self._is_reading:
            self._read_older(shows=True)

    async def _find(self, words: list[str]) -> list[str]:
        assert self.prompts is not None
        # What is typed next makes this one superfluous before the database is asked.
        await asyncio.sleep(0.05)
        return [prompt.text for prompt in await self.prompts.search(self._profile_id, words)]

    @work(group="history", exit_on_error=False)
    async def _read_older(self, *, shows: bool) -> None:
        """One more page of what was sent in this profile; `shows` = the user is waiting for it."""
        history = self.composer.prompts
        if self.prompts is None or self._is_reading:
            return
        self._is_reading = True
        try:
            history.add(await self.prompts.page(self._profile_id, before=history.oldest, limit=PAGE), PAGE)
        except CosError as error:
            if shows:
                self.notify(str(error), title="No earlier messages", severity="warning", markup=False)
            return
        finally:
            self._is_reading = False
        if shows and history is self.composer.prompts:
            self.composer.recall("up")

    @on(HistorySearch.Closed)
    def _search_closed(self, event: HistorySearch.Closed) -> None:
        if event.text is not None:
            self.composer.replace_all(event.text)
        self.composer.focus()

    @on(QueueStrip.Left)
    def _left_queue(self, event: QueueStrip.Left) -> None:
        event.stop()
        self.composer.focus()
        if event.older:
            self.composer.recall("up")

    @work(group="editor", exclusive=True, exit_on_error=False)
    async def _edit_outside(self) -> None:
        """Nothing but this composer waits: sessions go on, and what they show is drawn when the editor has ended."""
        composer = self.composer
        before = composer.full_text
        try:
            after = await edited(before, editor_command(os.environ), os.environ, self.app.suspend)
        except EditorError as error:
            self.notify(str(error), title="Editor", severity="warning", markup=False)
        except SuspendNotSupported:
            self.notify("This terminal cannot be handed to an editor.", severity="warning", markup=False)
        else:
            if after != before:
                composer.replace_all(after, with_images=True)
        composer.focus()
