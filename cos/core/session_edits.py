"""What a user does with whole sessions: rename, tag, archive, fork, undo, delete.

Each change is one transaction, is published here, and is told to the other processes on the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from cos.agent.tags import merge_tags
from cos.agent.text import title_of, visible
from cos.core.errors import SessionError
from cos.core.fork_titles import fork_stem
from cos.core.live import SessionCreated, SessionDeleted, SessionRewound, SessionUpdated
from cos.core.postgres.last_turns import wait_again
from cos.core.postgres.session_edits import SessionEditStore
from cos.core.postgres.sessions import Sessions

if TYPE_CHECKING:
    from cos.agent.messages import UserMessage
    from cos.core.live import CoreEvent
    from cos.core.postgres.database import Database
    from cos.core.postgres.session_edits import FamilyMember, HistoryTurn, Rewound
    from cos.core.sessions import QueuedMessage

STOP_SECONDS: Final = 10.0
"""How long a turn may take to end before its session is deleted."""
_LOOK_SECONDS: Final = 0.02
_NOT_TYPED: Final = frozenset({"loop", "compaction"})
"""Origins of messages to the model that no user has written."""


class RunningTurns(Protocol):
    """The turns of all processes; the Dispatcher is one."""

    async def stop(self, session_id: UUID, turn_id: UUID | None = None, reason: str = ...) -> bool:
        """Stop it, whichever process runs it; False when none runs anywhere."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DoomedSession:
    """A session that would go."""

    id: UUID
    profile_id: str
    title: str | None
    parent_session_id: UUID | None
    turns: int
    messages: int
    is_running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """What goes when sessions are deleted.

    Past cost: the token counts of their turns go too. What plugins have written down, such as each model call in the
    bill, stays: their tables do not refer to sessions, so totals of money never change when something is deleted.
    """

    named: tuple[DoomedSession, ...]
    children: tuple[DoomedSession, ...]
    """Child sessions that go with them and were not named."""
    forks_kept: int
    """Sessions that were forked from these. They stay whole."""

    @property
    def sessions(self) -> tuple[DoomedSession, ...]:
        return self.named + self.children

    @property
    def turns(self) -> int:
        return sum(session.turns for session in self.sessions)

    @property
    def messages(self) -> int:
        return sum(session.messages for session in self.sessions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What an undo took back."""

    turns: int
    prompts: tuple[UserMessage, ...]
    """What the user had said in those turns, steering included, oldest first."""


def where_undone(turns: int) -> str:
    """What becomes of turns that are taken back, said before and after, on every surface."""
    they, them = ("It stays", "it") if turns == 1 else ("They stay", "them")
    return f"{they} in the database, but nothing brings {them} back into the conversation."


class SessionEdits:
    """One per process. Every method raises SessionError when there is no such session."""

    def __init__(self, database: Database, turns: RunningTurns, publish: Callable[[CoreEvent], None]) -> None:
        self._store = SessionEditStore(database)
        self._sessions = Sessions(database)
        self._turns = turns
        self._publish = publish

    async def rename(self, session_id: UUID, title: str) -> str:
        """Give it another title; the title as it was stored: one line, no control characters, cut as every title.

        Raises:
            SessionError: nothing visible is left of the title.
        """
        kept = title_of(title)
        if kept is None:
            raise SessionError(f"the title {title!r} is empty; give at least one visible character")
        self._updated(session_id, await self._store.rename(session_id, kept))
        return kept

    async def set_tags(self, session_id: UUID, tags: Sequence[str]) -> tuple[str, ...]:
        """Replace the session's own tags. Past turns keep theirs; the next turn takes these.

        Raises:
            TagError: one of them breaks a rule; it names both.
        """
        checked = merge_tags(tags)
        return await self._change_tags(session_id, lambda _: checked)

    async def change_tags(
        self, session_id: UUID, *, add: Iterable[str] = (), remove: Iterable[str] = ()
    ) -> tuple[str, ...]:
        """Add and remove single tags; the tags that it has then.

        Raises:
            TagError: one breaks a rule.
            SessionError: one that is to be removed is not there.
        """
        added, removed = merge_tags(add), merge_tags(remove)

        def change(tags: tuple[str, ...]) -> tuple[str, ...]:
            for tag in removed:
                if tag not in tags:
                    having = f"its own tags: {' '.join(tags)}" if tags else "it has no tags of its own"
                    raise SessionError(f"session {session_id} has no tag {tag} to remove; {having}")
            return merge_tags([tag for tag in tags if tag not in removed], added)

        return await self._change_tags(session_id, change)

    async def archive(self, session_id: UUID, archived: bool = True) -> None:
        """Take it out of the lists with its child sessions, or bring both back. A new message does so too."""
        for member in await self._store.archive(session_id, archived=archived):
            self._updated(member.id, member.profile_id)

    async def seen(self, session_id: UUID) -> None:
        """Somebody looks at it now: what ended in it until now is no news."""
        profile_id = await self._store.see(session_id)
        if profile_id is not None:
            self._updated(session_id, profile_id)

    async def fork(
        self, session_id: UUID, *, before_turn: UUID | None = None, through_turn: UUID | None = None
    ) -> UUID:
        """A new session that begins with a copy of this one's history, up to its last ended turn unless told otherwise.

        The frozen prompt and every message are copied byte for byte, so the provider's cache and its bound thinking
        blocks hold. Undone turns, waiting messages, approvals and grants are not copied.

        Raises:
            SessionError: the turn is not in its history, or still runs.
        """
        if before_turn is not None and through_turn is not None:
            raise ValueError("a fork is cut before a turn or after one, not both")
        source = await self._sessions.get(session_id)

        def cut(turns: list[HistoryTurn]) -> list[HistoryTurn]:
            return _cut(turns, before_turn, through_turn, session_id)

        made, title = await self._store.fork(session_id, fork_stem(source.title), cut)
        self._publish(SessionCreated(session_id=made, profile_id=source.profile_id, title=title))
        return made

    async def turn_numbered(self, session_id: UUID, number: int) -> UUID:
        """The turn with this number in the session's history.

        Raises:
            SessionError: there is none, or it was undone.
        """
        turn_id = await self._store.turn_numbered(session_id, number)
        if turn_id is None:
            raise SessionError(f"session {session_id} has no turn {number}, or it was undone")
        return turn_id

    async def undo(self, session_id: UUID, turns: int = 1) -> Undone:
        """Rewind to before the last turns; all of them when it has fewer.

        They are kept, and their tokens count, but neither a reader nor a model sees them again.

        Raises:
            SessionError: a turn runs, there is nothing to undo, or `turns` is below 1.
        """
        if turns < 1:
            raise SessionError(f"cannot undo {turns} turns; give a number from 1")
        rewound = await self._store.undo(session_id, turns)
        self._rewound(session_id, rewound)
        return Undone(
            turns=len(rewound.turn_ids),
            prompts=tuple(message for message in rewound.said if message.origin not in _NOT_TYPED),
        )

    async def again(self, session_id: UUID, turn_id: UUID, prompt: QueuedMessage) -> None:
        """Take the session's last turn back and let `prompt` wait in its place, with what steered that turn: all or
        nothing.

        Raises:
            SessionError: a turn runs, or `turn_id` is not the last turn any more.
        """
        wait = partial(wait_again, session_id=session_id, turn_id=turn_id, prompt=prompt)
        self._rewound(session_id, await self._store.undo(session_id, 1, then=wait))

    async def turns_from(self, session_id: UUID, turn_id: UUID) -> int:
        """How many turns `undo` has to take back for this one to be gone.

        Raises:
            SessionError: it is no turn of the session, or it is gone.
        """
        return await self._store.turns_from(session_id, turn_id)

    async def what_goes(self, session_ids: Sequence[UUID]) -> Doomed:
        """What `delete` would take away now."""
        members = await self._store.family(session_ids)
        for session_id in session_ids:
            if all(member.id != session_id for member in members):
                raise SessionError(f"there is no session {session_id}")
        ids = [member.id for member in members]
        contents = await self._store.contents(ids)
        doomed = {member.id: _doomed(member, contents.get(member.id, (0, 0))) for member in members}
        named = tuple(doomed.pop(session_id) for session_id in dict.fromkeys(session_ids))
        return Doomed(named=named, children=tuple(doomed.values()), forks_kept=await self._store.forks(ids))

    async def delete(self, session_ids: Sequence[UUID]) -> None:
        """Delete the sessions, their child sessions and all that belongs to them: all or nothing.

        Their turns are stopped first, and awaited, whichever process runs them.

        Raises:
            SessionError: a turn does not end in time. Nothing was deleted.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STOP_SECONDS
        while True:
            members = await self._store.family(session_ids)
            running = [member for member in members if member.owner_boot_id is not None]
            for member in running:
                await self._turns.stop(member.id, reason="its session is being deleted")
            gone = await self._store.delete(session_ids) if not running else None
            if gone is not None:
                break
            if loop.time() > deadline:
                raise SessionError(
                    f"a turn in {_names(running or members)} did not end within {STOP_SECONDS:g} s, so nothing was "
                    "deleted; try again in a moment"
                )
            await asyncio.sleep(_LOOK_SECONDS)
        for member in gone:
            self._publish(SessionDeleted(session_id=member.id, profile_id=member.profile_id))

    async def _change_tags(
        self, session_id: UUID, change: Callable[[tuple[str, ...]], tuple[str, ...]]
    ) -> tuple[str, ...]:
        tags, profile_id = await self._store.change_tags(session_id, change)
        self._updated(session_id, profile_id)
        return tags

    def _rewound(self, session_id: UUID, rewound: Rewound) -> None:
        self._publish(SessionRewound(session_id=session_id, profile_id=rewound.profile_id, turn_ids=rewound.turn_ids))

    def _updated(self, session_id: UUID, profile_id: str) -> None:
        self._publish(SessionUpdated(session_id=session_id, profile_id=profile_id))


def _cut(turns: list[HistoryTurn], before: UUID | None, through: UUID | None, session_id: UUID) -> list[HistoryTurn]:
    wanted = before or through
    if wanted is None:
        return [turn for turn in turns if turn.has_ended]
    position = next((place for place, turn in enumerate(turns) if turn.id == wanted), None)
    if position is None:
        raise SessionError(f"turn {wanted} is not in the history of session {session_id}; it may have been undone")
    if through is not None and not turns[position].has_ended:
        raise SessionError(f"turn {wanted} still runs; fork before it, or when it has ended")
    return turns[: position + (through is not None)]


def _doomed(member: FamilyMember, content: tuple[int, int]) -> DoomedSession:
    turns, messages = content
    return DoomedSession(
        id=member.id, profile_id=member.profile_id, title=member.title, parent_session_id=member.parent_session_id,
        turns=turns, messages=messages, is_running=member.owner_boot_id is not None,
    )  # fmt: skip


def _names(members: Sequence[FamilyMember]) -> str:
    return ", ".join(f"{visible(member.title or 'session')} ({member.id})" for member in members)
