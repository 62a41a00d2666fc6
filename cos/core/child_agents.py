"""The sessions and turns of child agents: made for one task, run to their end by whoever delegated it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from cos.agent.cancellation import CancelToken, uninterrupted
from cos.agent.identity import NewSession
from cos.agent.text import title_of
from cos.agent.tools import ToolSet
from cos.core.errors import SessionError
from cos.core.live import SessionCreated
from cos.core.running_turns import SHUTDOWN

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from cos.agent.identity import TurnInfo
    from cos.agent.journal import Journal
    from cos.agent.messages import UserMessage
    from cos.agent.outcomes import TurnOutcome
    from cos.agent.session_context import SessionContext
    from cos.core.dispatcher import ProfileAgent
    from cos.core.live import CoreEvent
    from cos.core.postgres.sessions import Sessions
    from cos.core.running_turns import RunningTurns
    from cos.core.session_contexts import SessionContexts
    from cos.core.sessions import QueuedMessage, Session

STOPPED: Final = "the call that delegated it was stopped"


class ChildAgents:
    """One per process."""

    def __init__(
        self,
        agents: Mapping[str, ProfileAgent],
        turns: RunningTurns,
        journal: Journal,
        sessions: Sessions,
        contexts: SessionContexts,
        publish: Callable[[CoreEvent], None],
    ) -> None:
        self._agents = agents
        self._turns = turns
        self._journal = journal
        self._sessions = sessions
        self._contexts = contexts
        self._publish = publish

    async def new_session(self, turn: TurnInfo, goal: str) -> Session:
        """A session below that of `turn`, titled with the goal, with the tags of the turn."""
        title = title_of(goal)
        new = NewSession(
            profile_id=turn.profile_id, source="subagent", title=title, tags=turn.tags,
            parent_session_id=turn.session_id,
        )  # fmt: skip
        session_id = await self._journal.create_session(new)
        self._publish(SessionCreated(session_id=session_id, profile_id=turn.profile_id, title=title))
        return await self._sessions.get(session_id)

    async def context(
        self, parent: TurnInfo, session_id: UUID, blocked: frozenset[str], workspace: Path, instructions: str
    ) -> SessionContext:
        """What comes before the child's conversation: its tools are those of its profile without the blocked ones.

        Its model is the profile's for children, or that of the session that delegates.
        """
        session = await self._sessions.get(session_id)
        entry = self._agents[session.profile_id]
        tools = ToolSet({name: tool for name, tool in entry.tools.tools.items() if name not in blocked})
        model = entry.profile.settings.delegation.model
        if model is None:
            above = await self._contexts.of(await self._sessions.get(parent.session_id), entry.profile, entry.tools)
            model = above.prompt.model
        return await self._contexts.of_child(session, entry.profile, tools, workspace, model, instructions)

    async def waiting(self, session_id: UUID) -> QueuedMessage | None:
        """What was said to a child too late to go into its turn."""
        return next(iter(await self._sessions.queue(session_id)), None)

    async def run(
        self,
        turn: TurnInfo,
        prompt: UserMessage,
        context: SessionContext,
        cancel: CancelToken,
        prompt_id: UUID | None,
    ) -> TurnOutcome | None:
        """Run a turn to its end; None when that could not be stored. A caller that is cancelled cancels the turn.

        Raises:
            SessionError: the program is ending.
            NotWaitingError: the prompt `prompt_id` does not wait any more.
            DatabaseError: it could not begin.
        """
        agent = self._agents[turn.profile_id].child

        async def begin() -> asyncio.Task[TurnOutcome | None]:
            async with self._turns.admission[turn.session_id]:
                if self._turns.is_closing:
                    raise SessionError(SHUTDOWN)
                state = await agent.open(turn, prompt, context, cancel, prompt_id=prompt_id)
                return await self._turns.begin(state, self._turns.run(agent, state))

        task = await uninterrupted(begin())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            cancel.cancel(STOPPED)
            await uninterrupted(asyncio.wait({task}))
            raise
        finally:
            self._turns.forget(turn)
