"""Does what a key in the conversation asks for: rewind to before a turn, fork after it, run the last prompt again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.core.session_edits import where_undone
from cos.tui import wording
from cos.tui.notices import take_away
from cos.tui.paste_fold import packed_message
from cos.tui.transcript.lines import shorten
from cos.tui.widgets.conversation_pane import ConversationPane

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.dispatcher import Dispatcher
    from cos.tui.session_control import SessionControl
    from cos.tui.session_editing import SessionEditing

TurnWish = ConversationPane.RewindWanted | ConversationPane.ForkWanted | ConversationPane.RetryWanted


SURE_SECONDS = 5.0
"""How long a first `u` waits for the second."""
_PROMPT_CELLS = 40


class TurnActions:
    """On the open session."""

    def __init__(self, control: SessionControl, editing: SessionEditing, dispatcher: Dispatcher) -> None:
        self._control = control
        self._editing = editing
        self._dispatcher = dispatcher
        self._asked: tuple[UUID, float] | None = None
        """Which turn a first `u` was for, and when."""
        self._question = ""
        """What was said to it."""

    async def do(self, wish: TurnWish) -> None:
        """Do it; what cannot be done is said."""
        session_id = self._control.current
        if session_id is None:
            return
        try:
            match wish:
                case ConversationPane.RewindWanted(turn_id=turn_id, prompt=prompt):
                    await self._rewind(session_id, turn_id, prompt)
                case ConversationPane.ForkWanted(turn_id=turn_id):
                    fork = await self._editing.fork(session_id, through_turn=turn_id)
                    self._control.screen.query_one(ConversationPane).action_end_search()
                    await self._control.open(fork)
                    self._control.screen.close_panes()
                    self._say("This is a copy up to that turn; the other session stays as it is.")
                case _:
                    accepted = await self._dispatcher.retry(session_id)
                    if accepted.trouble:
                        self._say(accepted.trouble)
        except CosError as error:
            self._control.screen.notify(str(error), severity="warning", markup=False)

    async def _rewind(self, session_id: UUID, turn_id: UUID, prompt: str) -> None:
        """The prompts that are taken back come into an empty composer."""
        count = await self._editing.turns_from(session_id, turn_id)
        turns = "1 turn" if count == 1 else f"{count} turns"
        asked, self._asked = self._asked, (turn_id, time.monotonic())
        if asked is None or asked[0] != turn_id or time.monotonic() - asked[1] > SURE_SECONDS:
            self._question = f"u once more takes back {turns}{_from(prompt, count)}. {where_undone(count)}"
            self._say(self._question)
            return
        self._asked = None
        take_away(self._control.screen.app, self._question)
        undone = await self._editing.undo(session_id, count)
        screen = self._control.screen
        where = "one Up away in the composer" if screen.composer.full_text else "in the composer"
        screen.composer.put_back("\n\n".join(packed_message(prompt) for prompt in undone.prompts))
        screen.close_panes()
        self._say(f"Took back {turns}. {where_undone(count)} What you wrote is {where}.")

    def _say(self, sentence: str) -> None:
        self._control.screen.notify(sentence, markup=False)


def _from(prompt: str, turns: int) -> str:
    """`: "the start of its prompt"`, or `, from "…" on`; empty when nobody typed one."""
    start = shorten(wording.one_line(prompt), _PROMPT_CELLS)
    if not start:
        return ""
    return f': "{start}"' if turns == 1 else f', from "{start}" on'
