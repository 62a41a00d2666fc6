"""The middle pane: a conversation that can be searched, and what can be done with the entry under the cursor."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar
from uuid import UUID

from textual import on, work
from textual.binding import Binding, BindingType
from textual.message import Message

from cos.tui.clipboard import copy
from cos.tui.outside import OutsideError, Program, show
from cos.tui.screens.save_as import SaveAs
from cos.tui.transcript.answer import AssistantText
from cos.tui.transcript.entries import Entry, Thinking, UserMessage
from cos.tui.transcript.pieces import pieces_of
from cos.tui.transcript.view import Transcript
from cos.tui.widgets.search_pane import SearchPane


class ConversationPane(SearchPane):
    """Letters act only while the conversation has the focus; the composer never loses one to it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy"),
        Binding("b", "copy_piece", "Code"),
        Binding("w", "save", "Save", show=False),
        Binding("o", "open('pager')", "Open"),
        Binding("e", "open('editor')", "Editor", show=False),
        Binding("u", "rewind", "Rewind", show=False),
        Binding("f", "fork", "Fork", show=False),
        Binding("R,shift+r", "retry", "Retry", show=False),
    ]
    """
    | Key | |
    | :- | :- |
    | up, down | The entry before and after; a long one is scrolled through first. |
    | pageup, pagedown, home, end | A screenful; the start; the end, where the view follows what comes. |
    | shift+up, shift+down | Select entries; c and Ctrl+C copy the selection. |
    | space, enter | Fold and unfold. |
    | slash, ctrl+f | Search the session, loaded or not. n and N go to the next match and the one before. |
    | c | Copy the selection, else the entry. |
    | b | Copy a block of code of the entry, or the command or the output of a call; pressed again, the next one. |
    | w | Save the entry as a new file. |
    | o, e | Open the whole entry in $PAGER, in $EDITOR. |
    | u | Rewind to before this turn. |
    | f | Fork the session after this turn. |
    | R | Try the last turn again. |
    | escape | End the search. |
    """

    class TurnMessage(Message):
        """Something is wanted of one turn."""

        def __init__(self, turn_id: UUID, prompt: str = "") -> None:
            """`prompt`: what the user said first in it."""
            super().__init__()
            self.turn_id = turn_id
            self.prompt = prompt

    class RewindWanted(TurnMessage):
        """Go back to before this turn."""

    class ForkWanted(TurnMessage):
        """Begin a session that holds everything up to and with this turn."""

    class RetryWanted(Message):
        """Run the last turn of the open session again."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._piece: tuple[str, int] = ("", -1)
        """The entry of which a piece was copied last, and the index of the piece."""

    @on(Transcript.EntryActivated)
    def _activated(self, event: Transcript.EntryActivated) -> None:
        self.view.toggle(event.key)

    def _seen_entry(self) -> Entry | None:
        """The entry that a key acts on; None after the cursor, which was out of view, came to where the user looks."""
        if self.view.take_along():
            self.notify("The cursor was out of view and is here now; press the key again.", markup=False)
            return None
        return self.view.pointed

    def action_copy(self) -> None:
        selected = self.screen.get_selected_text()
        if selected:
            self._copy(selected, "the selection")
        elif (entry := self._seen_entry()) is not None:
            self._copy(entry.plain(), _name_of(entry))

    def action_copy_piece(self) -> None:
        entry = self._seen_entry()
        if entry is None:
            return
        pieces = pieces_of(entry)
        if not pieces:
            self.notify("There is no code in this entry; c copies all of it.", severity="warning", markup=False)
            return
        key, before = self._piece
        index = (before + 1) % len(pieces) if key == entry.key else 0
        self._piece = (entry.key, index)
        piece = pieces[index]
        kind = "code block" if isinstance(entry, AssistantText | UserMessage) else "part"
        label = f"{piece.label}, " if piece.label else ""
        self._copy(piece.text, f"{kind} {index + 1} of {len(pieces)} ({label}{piece.amount})")

    @work(group="copy", exit_on_error=False)
    async def _copy(self, text: str, what: str) -> None:
        await copy(self.app, text, what)

    @work(group="outside", exclusive=True, exit_on_error=False)
    async def action_save(self) -> None:
        if (entry := self._seen_entry()) is None:
            return
        written = await self.app.push_screen_wait(
            SaveAs(entry.plain(), _name_of(entry), Path.cwd(), f"cos{_suffix_of(entry)}")
        )
        if written is not None:
            self.notify(f"Saved {_name_of(entry)} as {written}.", markup=False)

    @work(group="outside", exclusive=True, exit_on_error=False)
    async def action_open(self, program: Program) -> None:
        if (entry := self._seen_entry()) is None:
            return
        try:
            await show(self.app, program, entry.plain(), _suffix_of(entry))
        except OutsideError as error:
            self.notify(f"{error}.", severity="error", markup=False)

    def action_rewind(self) -> None:
        self._ask_of_turn(self.RewindWanted)

    def action_fork(self) -> None:
        self._ask_of_turn(self.ForkWanted)

    def action_retry(self) -> None:
        self.post_message(self.RetryWanted())

    def _ask_of_turn(self, kind: type[TurnMessage]) -> None:
        entry = self._seen_entry()
        if entry is None:
            return
        if entry.turn_key:
            self.post_message(kind(UUID(entry.turn_key.removeprefix("turn:")), self._prompt_of(entry.turn_key)))
        else:
            self.notify("This entry belongs to no turn; go to one that does.", severity="warning", markup=False)

    def _prompt_of(self, turn_key: str) -> str:
        """What the user said first in a turn; empty when that is not loaded, or nobody typed it."""
        own = (entry for entry in self.view.entries if entry.turn_key == turn_key)
        return next((entry.text for entry in own if isinstance(entry, UserMessage)), "")


def _name_of(entry: Entry) -> str:
    return {UserMessage: "your message", AssistantText: "the answer", Thinking: "the thinking"}.get(
        type(entry), "the entry"
    )


def _suffix_of(entry: Entry) -> str:
    return ".md" if isinstance(entry, AssistantText) else ".txt"
