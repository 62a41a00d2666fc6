"""Does what a key in the conversation asks for: rewind to before a turn, fork after it, run the last prompt again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.tui.widgets.conversation_pane import ConversationPane

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.dispatcher import Dispatcher
    from cos.tui.session_control import SessionControl
    from cos.tui.session_editing import SessionEditing

TurnWish = ConversationPane.RewindWanted | ConversationPane.ForkWanted | ConversationPane.RetryWanted


class TurnActions:
    """On the open session."""

    def __init__(self, control: SessionControl, editing: SessionEditing, dispatcher: Dispatcher) -> None:
        self._control = control
        self._editing = editing
        self._dispatcher = dispatcher

    async def do(self, wish: TurnWish) -> None:
        """Do it; what cannot be done is said."""
        session_id = self._control.current
        if session_id is None:
            return
        try:
            match wish:
                case ConversationPane.RewindWanted(turn_id=turn_id):
                    await self._rewind(session_id, turn_id)
                case ConversationPane.ForkWanted(turn_id=turn_id):
                    await self._control.open(await self._editing.fork(session_id, through_turn=turn_id))
                    self._say("This is a copy up to that turn; the other session stays as it is.")
                case _:
                    await self._dispatcher.retry(session_id)
        except CosError as error:
            self._control.screen.notify(str(error), severity="warning", markup=False)

    async def _rewind(self, session_id: UUID, turn_id: UUID) -> None:
        """The prompts that are taken back come into an empty composer."""
        count = await self._editing.turns_from(session_id, turn_id)
        undone = await self._editing.undo(session_id, count)
        screen = self._control.screen
        screen.composer.put_back("\n\n".join(undone.prompts))
        screen.close_panes()
        taken = "1 turn" if undone.turns == 1 else f"{undone.turns} turns"
        self._say(f"Took back {taken}; kept in the database, and what you wrote is in the composer.")

    def _say(self, sentence: str) -> None:
        self._control.screen.notify(sentence, markup=False)
