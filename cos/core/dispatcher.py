"""The Dispatcher: the way of every message on every surface, in the order of Hermes' gateway.

`pre_gateway_dispatch` → profile and session → slash commands → `post_gateway_admission` → the queue → frozen context →
tags → the turn. A message is durable in its session's queue before `dispatch` returns; its turn takes it from there,
first in first out.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from cos.agent.cancellation import CancelToken, uninterrupted
from cos.agent.compaction import NOTHING, is_worth_it
from cos.agent.errors import AlreadyAcceptedError, NotWaitingError, TurnBusyError
from cos.agent.identity import TurnInfo
from cos.agent.ids import new_id
from cos.agent.records import TurnStatus
from cos.agent.tags import Tag, merge_tags
from cos.core.cancelling import NEW_MESSAGE, Cancelling
from cos.core.errors import SessionError
from cos.core.gateway import Gateway
from cos.core.inbound import Accepted, Inbound
from cos.core.profiles import Profile
from cos.core.queue import queue_changed
from cos.core.running_turns import RunningTurns
from cos.core.sessions import QueuedMessage, Session
from cos.core.stuck_queues import StuckQueues

if TYPE_CHECKING:
    from cos.agent.identity import Source
    from cos.agent.journal import Journal
    from cos.agent.steering import DeliveryMode
    from cos.agent.tools import ToolSet
    from cos.agent.turn import Agent
    from cos.agent.turn_state import TurnState
    from cos.core.live import CoreEvent
    from cos.core.postgres.cancels import Cancels
    from cos.core.postgres.last_turns import LastTurn
    from cos.core.postgres.sessions import Sessions
    from cos.core.postgres.sweep import Sweeper
    from cos.core.session_contexts import SessionContexts

log = logging.getLogger("cos.dispatcher")

_COMPACT_LATER: Final = "a turn runs in this session; compact it when the turn has ended"


class _OnlyItsParentBegins(TurnBusyError):
    """A child agent's session: whoever delegated begins its turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileAgent:
    """A profile with what its turns run on."""

    profile: Profile
    agent: Agent
    child: Agent
    """For the turns that are delegated."""
    tools: ToolSet


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurns:
    """What is asked of the turns of all processes.

    `last_turn` and `again` raise SessionError when the session has no turn, or when one runs.
    """

    last_turn: Callable[[UUID], Awaitable[LastTurn]]
    again: Callable[[UUID, UUID, QueuedMessage], Awaitable[object]]
    """Session, turn, prompt: takes that turn back and lets the prompt wait in its place, in one transaction."""
    cancels: Cancels
    sweeper: Sweeper


class Dispatcher:
    """One per process."""

    def __init__(
        self,
        *,
        agents: Mapping[str, ProfileAgent],
        gateway: Gateway,
        journal: Journal,
        sessions: Sessions,
        contexts: SessionContexts,
        stored: StoredTurns,
        publish: Callable[[CoreEvent], None],
    ) -> None:
        self._agents = agents
        self._journal = journal
        self._sessions = sessions
        self._contexts = contexts
        self._stored = stored
        self._publish = publish
        self._gateway = gateway
        self.commands = gateway.commands
        self.turns = RunningTurns(journal, publish)
        self.cancelling = Cancelling(self.turns, stored.cancels, stored.sweeper)
        self.goes_on_alone = True
        """False: this process ends with the turn that it begins, and leaves what waits then to others."""
        self._stuck = StuckQueues()
        self._left: set[UUID] = set()
        """Sessions where a message waits behind a turn of another process, which may end without going on."""

    async def dispatch(self, inbound: Inbound) -> Accepted:
        """Take a message in.

        Raises:
            CommandError: it is a slash command that does not exist or cannot do what was asked.
            ProfileError, SessionError, TagError: it names what is not there, or does not belong together.
            ProviderAuthError: the profile's model cannot be called, for want of a key; nothing was accepted.
            DatabaseError: it could not be kept; nothing was accepted.
        """
        return await self._dispatch(inbound)

    async def retry(self, session_id: UUID, source: Source = "cli") -> Accepted:
        """Send the session's last prompt again, before whatever waits; its turn is taken back.

        What waits to be sent now, such as a prompt that was taken back before, is started instead.

        Raises:
            SessionError: there is no turn, one runs, or it is a child agent's session.
            DatabaseError: nothing was accepted.
        """
        session = await self._sessions.get(session_id)
        if session.is_child:
            raise SessionError("a child agent's task is not run again from here; ask the session that it worked for")
        waiting = await self._sessions.queue(session_id)
        if waiting and waiting[0].mode == "now" and self.turns.of(session_id) is None:
            turn_id = await uninterrupted(self._go_on(session_id, waiting[0].id))
            trouble = self._stuck.trouble(session_id)
            return Accepted(session_id=session_id, message_id=waiting[0].id, turn_id=turn_id, trouble=trouble)
        last = await self._stored.last_turn(session_id)
        again = Inbound(
            text=last.prompt.text,
            parts=tuple(last.prompt.parts),
            profile_id=session.profile_id,
            source=source,
            session_id=session_id,
            mode="now",
            # With a context it may be a skill's command, which puts that there again.
            is_verbatim=last.prompt.context is None,
        )
        return await self._dispatch(again, in_place_of=last.id)

    async def send_now(
        self, session_id: UUID, message_id: UUID, keep: Callable[[], Awaitable[object]], mode: DeliveryMode = "now"
    ) -> UUID | None:
        """Let `keep` make the message wait with this mode while no turn can start here; then start what is first.

        `keep` answers False when the message is not new. Answers the message's turn if it is the one that starts.
        What `keep` raises is raised; once it has kept the message, a turn that cannot start is tried again later.
        """
        await self._let_wait(session_id, keep, mode)
        return await uninterrupted(self._go_on(session_id, message_id))

    async def _let_wait(self, session_id: UUID, keep: Callable[[], Awaitable[object]], mode: DeliveryMode) -> bool:
        """See `send_now`; whether the message is new."""
        async with self.turns.admission[session_id]:
            is_new = await keep() is not False
            running = self.turns.of(session_id)
            if running is not None and mode == "now" and is_new and not running.turn.depth:
                running.cancel.cancel(NEW_MESSAGE)
            if running is not None and running.cancel.is_set and is_new:
                running.goes_on = True
        return is_new

    async def go_on(self) -> None:
        """Look again at the queues that could not go on, and at those that were left to other processes."""
        for session_id, stuck in self._stuck.all():
            await uninterrupted(self._go_on(session_id, pause=stuck.pause))
        left, self._left = self._left, set()
        for session_id in left:
            try:
                if await self.cancelling.is_taken(session_id):
                    self._left.add(session_id)
                elif not (await self._sessions.get(session_id)).queue_paused:
                    await uninterrupted(self.start_waiting(session_id))
                    await self.announce_queue(session_id)
            except Exception as error:
                self._stuck.add(session_id, error, pause=False)

    async def _dispatch(self, inbound: Inbound, in_place_of: UUID | None = None) -> Accepted:
        """`in_place_of`: the turn that is taken back in the same transaction that takes the message in."""
        admitted = await self._gateway.admit(inbound, self)
        if isinstance(admitted, Accepted):
            return admitted
        session, message_id = admitted.session, admitted.message_id
        mode: DeliveryMode = "steer" if session.is_child else inbound.mode

        async def keep() -> object:
            if in_place_of is not None:
                prompt = QueuedMessage(
                    id=message_id, message=admitted.message, source=inbound.source, mode=inbound.mode
                )
                return await self._stored.again(session.id, in_place_of, prompt)
            return await self._sessions.enqueue(
                session, message_id, admitted.message, inbound.source, inbound.client_message_id, mode
            )

        is_new = await self._let_wait(session.id, lambda: uninterrupted(keep()), mode)
        if not is_new and inbound.client_message_id is not None:
            before = await self._sessions.taken_in(session.id, inbound.client_message_id)
            if before is not None and before.turn_id is not None:
                return Accepted(session_id=session.id, message_id=before.message_id, turn_id=before.turn_id)
            if before is not None:
                message_id = before.message_id
                if (await self._sessions.get(session.id)).queue_paused:
                    # It comes again because its sender heard nothing: nobody wants the queue to go on.
                    return Accepted(session_id=session.id, message_id=message_id)
        turn_id = await uninterrupted(self._go_on(session.id, message_id))
        trouble = self._stuck.trouble(session.id)
        return Accepted(session_id=session.id, message_id=message_id, turn_id=turn_id, trouble=trouble)

    async def resume_queue(self, session_id: UUID) -> None:
        """Go on with the messages that were left waiting when a turn was cancelled."""
        await self._sessions.pause_queue(session_id, paused=False)
        await uninterrupted(self.start_waiting(session_id))

    async def compact(self, session_id: UUID, instructions: str | None = None) -> UUID:
        """Begin a turn that replaces the session's conversation by a summary; the id of that turn.

        Raises:
            SessionError: there is no such session, a turn runs in it, or it has nothing to compact.
            ProviderAuthError: the profile's model cannot be called, for want of a key.
        """

        async def begin() -> UUID:
            async with self.turns.admission[session_id]:
                session = await self._sessions.get(session_id)
                self._gateway.need_model(session.profile_id)
                if self.turns.is_closing or self.turns.of(session_id) is not None:
                    raise SessionError(_COMPACT_LATER)
                if not is_worth_it(await self._journal.load_history(session_id)):
                    raise SessionError(NOTHING)
                try:
                    state = await self._open(session, None, instructions)
                except TurnBusyError as error:
                    raise SessionError(_COMPACT_LATER) from error
                await self.turns.begin(state, self._run_to_rest(state))
                return state.turn.turn_id

        return await uninterrupted(begin())

    def cancel(self, session_id: UUID, reason: str = "by the user") -> bool:
        """Stop the session's turn if this process runs one; says whether it does. `stop` reaches any process."""
        running = self.turns.of(session_id)
        if running is None:
            return False
        running.cancel.cancel(reason)
        return True

    async def stop(self, session_id: UUID, turn_id: UUID | None = None, reason: str = "by the user") -> bool:
        """Stop the session's turn, whichever process runs it: `turn_id` and no other, or (None) the one that is open.

        True when it was open: its process ends it as cancelled in a moment; one whose process is gone is closed at
        once as interrupted. Stopping nothing, or what has ended, is no error.

        Raises:
            DatabaseError: the turn does not run here, and its process could not be told.
        """
        return await self.cancelling.stop(session_id, turn_id, reason)

    def running(self, session_id: UUID) -> UUID | None:
        """The turn that this process runs in the session, if any."""
        running = self.turns.of(session_id)
        return running.turn.turn_id if running else None

    @property
    def profiles(self) -> dict[str, Profile]:
        return {name: entry.profile for name, entry in self._agents.items()}

    async def close(self) -> None:
        """Cancel every running turn and wait until the journal is whole."""
        await self.turns.close()

    async def start_waiting(self, session_id: UUID, wanted: UUID | None = None) -> UUID | None:
        """Start the turn of the first waiting message, unless one runs; its id if the message is the `wanted` one.

        Also for a message that was left behind by the process whose turn it waited for.
        """
        async with self.turns.admission[session_id]:
            running = self.turns.of(session_id)
            if self.turns.is_closing or running is not None:
                return running.turn.turn_id if running and running.message_id == wanted else None
            while True:
                session, waiting = await self._sessions.with_next(session_id)
                if waiting is None:
                    return None
                try:
                    state = await self._open(session, waiting)
                except AlreadyAcceptedError:
                    await self._sessions.dequeue(waiting.id)
                    continue
                except NotWaitingError:
                    continue  # It was edited, removed or taken while it was being read.
                except _OnlyItsParentBegins:
                    return None
                except TurnBusyError:
                    if not await self.cancelling.make_way(session_id, waiting.id):
                        self._left.add(session_id)  # Another process runs a turn here; it goes on with the queue.
                        return None
                    continue
                await self.turns.begin(state, self._run_to_rest(state))
                return state.turn.turn_id if waiting.id == wanted else None

    async def _go_on(self, session_id: UUID, wanted: UUID | None = None, *, pause: bool = False) -> UUID | None:
        """As `start_waiting`, or let the queue pause; what does not work is said in the log and tried again later."""
        turn_id = None
        try:
            if pause:
                async with self.turns.admission[session_id]:
                    if self.turns.of(session_id) is None:
                        paused = bool(await self._sessions.queue(session_id))
                        await self._sessions.pause_queue(session_id, paused=paused)
            else:
                turn_id = await self.start_waiting(session_id, wanted)
            if turn_id is None:
                await self.announce_queue(session_id)
        except Exception as error:
            self._stuck.add(session_id, error, pause=pause)
            return None
        self._stuck.remove(session_id)
        return turn_id

    async def _open(
        self, session: Session, waiting: QueuedMessage | None, instructions: str | None = None
    ) -> TurnState:
        """The turn of a waiting message; without one, a turn that compacts the session."""
        if session.is_child and waiting is not None:
            raise _OnlyItsParentBegins(session.id)
        entry = self._agents[session.profile_id]
        context = await self._contexts.of(session, entry.profile, entry.tools)
        turn = TurnInfo(
            profile_id=session.profile_id,
            session_id=session.id,
            turn_id=new_id(),
            tags=merge_tags(entry.profile.settings.tags, (Tag(tag) for tag in session.tags)),
        )
        if waiting is None:
            return await entry.agent.open_compaction(turn, context, instructions, CancelToken())
        return await entry.agent.open(turn, waiting.message, context, CancelToken(), prompt_id=waiting.id)

    async def _run_to_rest(self, state: TurnState) -> None:
        """A turn, then the next message of the queue."""
        try:
            outcome = await self.turns.run(self._agents[state.turn.profile_id].agent, state)
            was_cancelled = outcome is None or outcome.status is TurnStatus.CANCELLED
            await self._after(state.turn, was_cancelled=was_cancelled)
        finally:
            self.turns.forget(state.turn)

    async def _after(self, turn: TurnInfo, *, was_cancelled: bool) -> None:
        session_id, pause = turn.session_id, was_cancelled
        try:
            async with self.turns.admission[session_id]:
                ended = self.turns.forget(turn)
                if was_cancelled:
                    goes_on = (ended is not None and ended.goes_on) or await self.cancelling.goes_on(turn.turn_id)
                    pause = not goes_on
                waiting = await self._sessions.queue(session_id)
                if waiting and pause:
                    await self._sessions.pause_queue(session_id, paused=True)
            if waiting and not pause and self.goes_on_alone:
                await self.start_waiting(session_id)
            if waiting:
                await self.announce_queue(session_id)
        except Exception as error:
            self._stuck.add(session_id, error, pause=pause)

    async def announce_queue(self, session_id: UUID) -> None:
        """Tell the surfaces of this process how the session's queue stands."""
        self._publish(await queue_changed(self._sessions, session_id))
