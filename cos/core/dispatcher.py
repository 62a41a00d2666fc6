"""The Dispatcher: the way of every message on every surface, in the order of Hermes' gateway.

`pre_gateway_dispatch` → profile and session → slash commands → `post_gateway_admission` → the queue → frozen context →
tags → the turn. A message is durable in its session's queue before `dispatch` returns; its turn takes it from there,
first in first out.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from cos.agent.cancellation import CancelToken, uninterrupted
from cos.agent.compaction import NOTHING, is_worth_it
from cos.agent.errors import AlreadyAcceptedError, CosError, TurnBusyError
from cos.agent.events import TurnCompleted, Usage
from cos.agent.hook_rules import first_action
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.agent.records import TurnStatus
from cos.agent.session_context import SessionContext
from cos.agent.tags import Tag, merge_tags
from cos.agent.text import title_of
from cos.core.attachments import kept_parts
from cos.core.commands import Commands
from cos.core.errors import SessionError
from cos.core.frozen import build_prompt, prompt_from_json, prompt_json
from cos.core.inbound import Accepted, Inbound
from cos.core.live import QueueChanged, SessionCreated
from cos.core.profiles import Profile, open_workspace, profile_named

if TYPE_CHECKING:
    from cos.agent.hooks import HookBus
    from cos.agent.journal import Journal
    from cos.agent.tools import ToolSet
    from cos.agent.turn import Agent
    from cos.agent.turn_state import TurnState
    from cos.core.live import CoreEvent
    from cos.core.plugins import LoadedPlugins
    from cos.core.postgres.blobs import PostgresBlobs
    from cos.core.postgres.sessions import Sessions
    from cos.core.sessions import QueuedMessage, Session

log = logging.getLogger("cos.dispatcher")

SHUTDOWN: Final = "the program is ending"
_COMPACT_LATER: Final = "a turn runs in this session; compact it when the turn has ended"
_CLOSE_SECONDS: Final = 8.0
_CLOSE_LOST_SECONDS: Final = 0.5
_CLOSE_LOST_LONGEST_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileAgent:
    """A profile with what its turns run on."""

    profile: Profile
    agent: Agent
    tools: ToolSet


@dataclass(slots=True)
class _Running:
    turn: TurnInfo
    message_id: UUID
    cancel: CancelToken
    task: asyncio.Task[None]
    goes_on: bool = False
    """A message came in after the turn was cancelled: the queue is not to wait when the turn has ended."""


class Dispatcher:
    """One per process."""

    def __init__(
        self,
        *,
        agents: Mapping[str, ProfileAgent],
        hooks: HookBus,
        journal: Journal,
        sessions: Sessions,
        blobs: PostgresBlobs,
        plugins: LoadedPlugins,
        publish: Callable[[CoreEvent], None],
    ) -> None:
        self.commands = Commands()
        """The slash commands of this process; whoever composes the core adds to them."""
        self._agents = agents
        self._hooks = hooks
        self._journal = journal
        self._sessions = sessions
        self._blobs = blobs
        self._plugins = plugins
        self._publish = publish
        self._running: dict[UUID, _Running] = {}
        self._admission: defaultdict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._is_closing = False

    async def dispatch(self, inbound: Inbound) -> Accepted:
        """Take a message in.

        Raises:
            CommandError: it is a slash command that does not exist or cannot do what was asked.
            ProfileError, SessionError, TagError: it names what is not there, or does not belong together.
            DatabaseError: it could not be kept; nothing was accepted.
        """
        returns = await self._hooks.fire(
            "pre_gateway_dispatch", event=inbound, gateway=self, session_store=self._sessions
        )
        action = first_action(returns, frozenset({"skip", "rewrite", "allow"}))
        if action and action["action"] == "skip":
            return Accepted(session_id=None, handled=True)
        if action and action["action"] == "rewrite" and isinstance(action.get("text"), str):
            inbound.text = action["text"]
        session = await self._existing_session(inbound)
        answer = await self.commands.run(inbound, session)
        if answer is not None:
            began, session_id = answer.turn_id, inbound.session_id
            return Accepted(session_id=session_id, turn_id=began, handled=began is None, command=answer)
        session = session or await self._new_session(inbound)
        message_id = new_id()
        reply = await self._admitted(inbound, session, message_id)
        if reply is not None:
            return Accepted(session_id=session.id, handled=True, reply=reply or None)
        if inbound.client_message_id is not None:
            turn_id = await self._sessions.turn_of(session.id, inbound.client_message_id)
            if turn_id is not None:
                return Accepted(session_id=session.id, turn_id=turn_id)
        parts = await kept_parts(inbound.attachments, session.profile_id, self._blobs)
        message = UserMessage(text=inbound.text, parts=parts)
        async with self._admission[session.id]:
            await self._sessions.enqueue(session, message_id, message, inbound.source, inbound.client_message_id)
            running = self._running.get(session.id)
            if running is None:
                await self._sessions.pause_queue(session.id, paused=False)
            elif running.cancel.is_set:
                running.goes_on = True
        turn_id = await uninterrupted(self._start_next(session.id, message_id))
        if turn_id is None:
            await self._queue_changed(session.id)
        return Accepted(session_id=session.id, message_id=message_id, turn_id=turn_id)

    async def start_waiting(self, session_id: UUID, message_id: UUID) -> UUID | None:
        """Start what waits in the session if nothing runs there any more; the turn of `message_id` if it was that one.

        For a message that was left behind by the process whose turn it waited for.
        """
        return await self._start_next(session_id, message_id)

    async def resume_queue(self, session_id: UUID) -> None:
        """Go on with the messages that were left waiting when a turn was cancelled."""
        await self._sessions.pause_queue(session_id, paused=False)
        await uninterrupted(self._start_next(session_id))

    async def compact(self, session_id: UUID, instructions: str | None = None) -> UUID:
        """Begin a turn that replaces the session's conversation by a summary; the id of that turn.

        Raises:
            SessionError: there is no such session, a turn runs in it, or it has nothing to compact.
        """

        async def begin() -> UUID:
            async with self._admission[session_id]:
                await self._sessions.get(session_id)
                if self._is_closing or session_id in self._running:
                    raise SessionError(_COMPACT_LATER)
                if not is_worth_it(await self._journal.load_history(session_id)):
                    raise SessionError(NOTHING)
                try:
                    state = await self._open(session_id, None, instructions)
                except TurnBusyError as error:
                    raise SessionError(_COMPACT_LATER) from error
                task = asyncio.create_task(self._run(state), name=f"turn-{state.turn.turn_id}")
                self._running[session_id] = _Running(state.turn, state.prompt_id, state.cancel, task)
                return state.turn.turn_id

        return await uninterrupted(begin())

    def cancel(self, session_id: UUID, reason: str = "by the user") -> bool:
        """Stop the session's turn if this process runs one. Says so; cancelling nothing is no error."""
        running = self._running.get(session_id)
        if running is None:
            return False
        running.cancel.cancel(reason)
        return True

    def running(self, session_id: UUID) -> UUID | None:
        """The turn that this process runs in the session, if any."""
        running = self._running.get(session_id)
        return running.turn.turn_id if running else None

    @property
    def profiles(self) -> dict[str, Profile]:
        return {name: entry.profile for name, entry in self._agents.items()}

    async def close(self) -> None:
        """Cancel every running turn and wait until the journal is whole."""
        self._is_closing = True
        for admission in list(self._admission.values()):
            async with admission:
                pass  # A turn that is being opened is in `_running` afterwards.
        tasks = [running.task for running in self._running.values()]
        for running in self._running.values():
            running.cancel.cancel(SHUTDOWN)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _existing_session(self, inbound: Inbound) -> Session | None:
        """The session that the message names; None when it is to begin one."""
        profile = profile_named(self.profiles, inbound.profile_id)
        tags = merge_tags(inbound.tags)
        if inbound.session_id is None:
            return None
        session = await self._sessions.get(inbound.session_id)
        if session.profile_id != profile.id:
            raise SessionError(f"session {session.id} belongs to profile {session.profile_id}, not to {profile.id}")
        if tags:
            raise SessionError(f"session {session.id} exists; tags can only be given with its first message")
        return session

    async def _new_session(self, inbound: Inbound) -> Session:
        title = title_of(inbound.text) or f"Session of {datetime.now().astimezone():%Y-%m-%d %H:%M}"
        tags = merge_tags(inbound.tags)
        new = NewSession(profile_id=inbound.profile_id, source=inbound.source, title=title, tags=tags)
        session_id = await self._journal.create_session(new)
        self._publish(SessionCreated(session_id=session_id, profile_id=inbound.profile_id, title=title))
        return await self._sessions.get(session_id)

    async def _admitted(self, inbound: Inbound, session: Session, message_id: UUID) -> str | None:
        """None when a turn is to run; otherwise the reply of the hook that took the message."""
        returns = await self._hooks.fire(
            "post_gateway_admission",
            session_key=str(session.id),
            platform=inbound.source,
            source={"platform": inbound.source, "profile": session.profile_id},
            message_id=str(message_id),
            text=inbound.text,
        )
        action = first_action(returns, frozenset({"handled"}))
        return None if action is None else str(action.get("reply") or "")

    async def _start_next(self, session_id: UUID, wanted: UUID | None = None) -> UUID | None:
        """Start the turn of the first waiting message, unless one runs; its id if the message is the `wanted` one."""
        async with self._admission[session_id]:
            running = self._running.get(session_id)
            if self._is_closing or running is not None:
                return running.turn.turn_id if running and running.message_id == wanted else None
            for waiting in await self._sessions.queue(session_id):
                try:
                    state = await self._open(session_id, waiting)
                except AlreadyAcceptedError:
                    await self._sessions.dequeue(waiting.id)
                    continue
                except TurnBusyError:
                    return None  # Another process runs a turn here; it goes on with the queue.
                task = asyncio.create_task(self._run(state), name=f"turn-{state.turn.turn_id}")
                self._running[session_id] = _Running(state.turn, state.prompt_id, state.cancel, task)
                return state.turn.turn_id if waiting.id == wanted else None
            return None

    async def _open(
        self, session_id: UUID, waiting: QueuedMessage | None, instructions: str | None = None
    ) -> TurnState:
        """The turn of a waiting message; without one, a turn that compacts the session."""
        session = await self._sessions.get(session_id)
        entry = self._agents[session.profile_id]
        context = await self._context(session, entry)
        turn = TurnInfo(
            profile_id=session.profile_id,
            session_id=session.id,
            turn_id=new_id(),
            tags=merge_tags(entry.profile.settings.tags, (Tag(tag) for tag in session.tags)),
        )
        if waiting is None:
            return await entry.agent.open_compaction(turn, context, instructions, CancelToken())
        return await entry.agent.open(turn, waiting.message, context, CancelToken(), prompt_id=waiting.id)

    async def _context(self, session: Session, entry: ProfileAgent) -> SessionContext:
        workspace = Path(session.cwd) if session.cwd else await asyncio.to_thread(open_workspace, entry.profile)
        if session.frozen_prompt is None:
            contexts = await self._plugins.context_for(session.profile_id)
            today = datetime.now(UTC).astimezone().date()
            prompt = build_prompt(entry.profile, entry.tools, workspace, contexts, today)
            await self._sessions.freeze_prompt(session.id, prompt_json(prompt), str(workspace))
            stored = (await self._sessions.get(session.id)).frozen_prompt
        else:
            stored = session.frozen_prompt
        assert stored is not None
        return SessionContext(
            prompt=prompt_from_json(stored),
            tools=entry.tools,
            workspace=workspace,
            platform=session.source,
            is_new=not session.has_turns,
            parent_session_id=session.parent_session_id,
            meter=session.context,
        )

    async def _run(self, state: TurnState) -> None:
        """A turn from its first model call to its end, then the next message of the queue."""
        agent = self._agents[state.turn.profile_id].agent
        was_cancelled = True
        try:
            try:
                outcome = await agent.run(state)
                was_cancelled = outcome.status is TurnStatus.CANCELLED
            except Exception as error:
                log.exception("turn %s could not be closed", state.turn.turn_id)
                self._publish(_lost(state, error))
                await self._close_lost(state.turn)
            await self._after(state.turn, was_cancelled=was_cancelled)
        finally:
            self._forget(state.turn)

    def _forget(self, turn: TurnInfo) -> _Running | None:
        """The turn's entry, taken out; None when it was taken out before."""
        running = self._running.get(turn.session_id)
        return self._running.pop(turn.session_id) if running and running.turn == turn else None

    async def _close_lost(self, turn: TurnInfo) -> None:
        """Close the turn as soon as the journal answers: an open turn of a living process is swept by nobody."""
        for attempt in itertools.count():
            if self._is_closing:
                return
            try:
                await self._journal.finish_turn(turn, TurnStatus.FAILED, error="the end of this turn was stored late")
            except CosError as error:
                log.warning("turn %s is still open: %s", turn.turn_id, error)
                await asyncio.sleep(min(_CLOSE_LOST_SECONDS * 2**attempt, _CLOSE_LOST_LONGEST_SECONDS))
            else:
                return

    async def _after(self, turn: TurnInfo, *, was_cancelled: bool) -> None:
        session_id = turn.session_id
        try:
            async with self._admission[session_id]:
                ended = self._forget(turn)
                waiting = await self._sessions.queue(session_id)
                pause = was_cancelled and not (ended and ended.goes_on)
                if waiting and pause:
                    await self._sessions.pause_queue(session_id, paused=True)
            if waiting and not pause:
                await self._start_next(session_id)
            if waiting:
                await self._queue_changed(session_id)
        except Exception:
            log.exception("the queue of session %s could not go on", session_id)

    async def _queue_changed(self, session_id: UUID) -> None:
        session, waiting = await self._sessions.get(session_id), await self._sessions.queue(session_id)
        self._publish(
            QueueChanged(
                session_id=session_id, profile_id=session.profile_id, waiting=len(waiting), paused=session.queue_paused
            )
        )


def _lost(state: TurnState, error: Exception) -> TurnCompleted:
    """The end of a turn that the journal did not take: said on screen now, stored when it answers again."""
    return TurnCompleted(
        turn=state.turn,
        status=TurnStatus.FAILED,
        stop_reason=None,
        error=f"the end of this turn could not be stored ({error})",
        text=state.text,
        usage=Usage(),
        started_at=state.started_at,
        completed_at=datetime.now(UTC),
        had_output=state.had_output,
    )
