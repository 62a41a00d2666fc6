"""Shows what other processes do in the sessions on screen: read again from the tables, without moving what is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.tui.history import entries_of, thinking_of
from cos.tui.transcript.answer import AssistantText
from cos.tui.transcript.entries import Thinking

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.postgres.sessions import Sessions
    from cos.core.sessions import OpenReply
    from cos.tui.conversation import Conversation
    from cos.tui.conversations import Conversations
    from cos.tui.tally import Tally
    from cos.tui.turn_costs import TurnCosts


class Elsewhere:
    """Of one screen."""

    def __init__(self, sessions: Sessions, conversations: Conversations, tally: Tally, costs: TurnCosts) -> None:
        self._sessions = sessions
        self._conversations = conversations
        self._tally = tally
        self._costs = costs

    async def read_again(self, session_id: UUID) -> None:
        """Bring a conversation that is on screen up to date; any other is read when it is shown.

        Raises:
            CosError: it cannot be read. So does `read_reply`.
        """
        self._tally.forget_context(session_id)
        conversation = self._conversations.of(session_id)
        if not conversation.is_shown:
            self._conversations.forget(session_id)
            return
        page = await self._sessions.transcript(session_id)
        conversation.read_again(entries_of(page), page.messages[0].ordinal if page.has_older else None)
        self._conversations.begin_again(session_id, page.turns.values())
        await self.read_reply(session_id)
        await self._costs.read_page(session_id, page)
        await self._tally.read(session_id)

    async def read_reply(self, session_id: UUID) -> None:
        """Show what there is of the reply that is being streamed, in a conversation that is on screen."""
        conversation = self._conversations.of(session_id)
        if conversation.is_loaded and self._conversations.running_turn(session_id) is not None:
            reply = await self._sessions.open_reply(session_id)
            if reply is not None:
                _show(conversation, reply)


def _show(conversation: Conversation, reply: OpenReply) -> None:
    turn_key = f"turn:{reply.turn_id}"
    thought, text = thinking_of(reply.message), reply.message.text or ""
    if thought:
        conversation.stream_to(Thinking(key=f"think:{reply.message_id}", turn_key=turn_key), thought)
    if text:
        conversation.change(f"think:{reply.message_id}", streaming=False)
        conversation.stream_to(AssistantText(key=f"msg:{reply.message_id}", turn_key=turn_key), text)
