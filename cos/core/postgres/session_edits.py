"""Whole sessions changed in Postgres: one transaction a change, and word of it to the other processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString
from uuid import UUID

from cos.agent.ids import new_id
from cos.agent.messages import UserMessage, message_from_json
from cos.core.errors import SessionError
from cos.core.fork_titles import fork_title
from cos.core.live import SessionDeleted, SessionRewound, SessionUpdated
from cos.core.postgres.statements import core_statements
from cos.core.postgres.teller import tell_session
from cos.core.postgres.turn_waiting import waiting_of

if TYPE_CHECKING:
    from cos.core.postgres.database import Connection, Database, Row

UPDATED: Final = SessionUpdated.type
REWOUND: Final = SessionRewound.type
DELETED: Final = SessionDeleted.type


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyMember:
    """A session that was named, or a child session of one."""

    id: UUID
    profile_id: str
    title: str | None
    parent_session_id: UUID | None
    owner_boot_id: UUID | None
    """The process that runs a turn in it; None when none runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTurn:
    """A turn of the history, which no undone turn belongs to."""

    id: UUID
    has_ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewound:
    """What an undo took back."""

    turn_ids: tuple[UUID, ...]
    said: tuple[UserMessage, ...]
    """Every message to the model in those turns, oldest first, whoever wrote it."""
    profile_id: str


class SessionEditStore:
    """What `SessionEdits` needs of the database.

    A method that changes a session raises SessionError when there is none.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("session_edits")

    async def rename(self, session_id: UUID, title: str) -> str:
        """Answers, as the others, the session's profile."""
        return await self._database.transaction(
            lambda connection: self._update(connection, self._sql["rename_session"], session_id, {"title": title})
        )

    async def change_tags(
        self, session_id: UUID, change: Callable[[tuple[str, ...]], tuple[str, ...]]
    ) -> tuple[tuple[str, ...], str]:
        """Put what `change` makes of the tags in their place. What it raises leaves them as they were."""

        async def work(connection: Connection) -> tuple[tuple[str, ...], str]:
            row = await (await connection.execute(self._sql["session_tags"], {"id": session_id})).fetchone()
            if row is None:
                raise _none(session_id)
            tags = change(tuple(row["tags"]))
            return tags, await self._update(connection, self._sql["tag_session"], session_id, {"tags": list(tags)})

        return await self._database.transaction(work)

    async def see(self, session_id: UUID) -> str | None:
        """None when there was nothing new to see."""

        async def work(connection: Connection) -> str | None:
            row = await (await connection.execute(self._sql["see_session"], {"id": session_id})).fetchone()
            if row is not None:
                await tell_session(connection, self._database, session_id, row["profile_id"], UPDATED)
            return row["profile_id"] if row else None

        return await self._database.transaction(work)

    async def archive(self, session_id: UUID, *, archived: bool) -> list[FamilyMember]:
        """The session and its child sessions."""

        async def work(connection: Connection) -> list[FamilyMember]:
            members = await self._locked(connection, [session_id])
            row = {"ids": [member.id for member in members], "archived": archived}
            await connection.execute(self._sql["archive_sessions"], row)
            for member in members:
                await tell_session(connection, self._database, member.id, member.profile_id, UPDATED)
            return members

        return await self._database.transaction(work)

    async def family(self, session_ids: Sequence[UUID]) -> list[FamilyMember]:
        """The sessions and, to any depth, their child sessions, oldest first. Unknown ids are passed over."""
        return [FamilyMember(**row) for row in await self._database.fetch(self._sql["family"], {"ids": [*session_ids]})]

    async def contents(self, session_ids: Sequence[UUID]) -> dict[UUID, tuple[int, int]]:
        """How many turns and messages each session has, undone ones included."""
        rows = await self._database.fetch(self._sql["count_content"], {"ids": [*session_ids]})
        return {row["id"]: (row["turns"], row["messages"]) for row in rows}

    async def forks(self, session_ids: Sequence[UUID]) -> int:
        """How many other sessions were forked from these."""
        rows = await self._database.fetch(self._sql["count_forks"], {"ids": [*session_ids]})
        return int(rows[0]["forks"])

    async def delete(self, session_ids: Sequence[UUID]) -> list[FamilyMember] | None:
        """Delete the sessions with their child sessions; None, and nothing is gone, when a turn runs in one."""

        async def work(connection: Connection) -> list[FamilyMember] | None:
            members = await self._locked(connection, session_ids)
            if any(member.owner_boot_id for member in members):
                return None
            await connection.execute(self._sql["delete_sessions"], {"ids": [member.id for member in members]})
            for member in members:
                await tell_session(connection, self._database, member.id, member.profile_id, DELETED)
            return members

        return await self._database.transaction(work)

    async def undo(
        self,
        session_id: UUID,
        turns: int,
        then: Callable[[Connection, Rewound], Awaitable[None]] | None = None,
    ) -> Rewound:
        """Rewind the last turns, and do `then` in the same transaction: what it raises leaves all as it was.

        Raises:
            SessionError: a turn runs, or there is nothing to undo.
        """

        async def work(connection: Connection) -> Rewound:
            (member,) = await self._locked(connection, [session_id], alone=True)
            if member.owner_boot_id is not None:
                raise SessionError(f"a turn runs in session {session_id}; stop it, or wait for its end, then undo")
            taken = (await self._turns(connection, session_id))[-turns:]
            if not taken:
                raise SessionError(f"session {session_id} has no turn to undo")
            key = {"turns": [turn.id for turn in taken], "session_id": session_id}
            typed = await (await connection.execute(self._sql["typed_in_turns"], key)).fetchall()
            sql = self._sql
            for statement in (
                sql["undo_turns"], sql["undo_messages"], sql["take_out_again"], sql["undo_calls"],
                sql["undo_approvals"], sql["rewind_context"],
            ):  # fmt: skip
                await connection.execute(statement, key)
            ids = ",".join(str(turn.id) for turn in taken)
            await tell_session(connection, self._database, session_id, member.profile_id, REWOUND, ids)
            messages = (message_from_json(row["body"]) for row in typed)
            said = tuple(message for message in messages if isinstance(message, UserMessage))
            rewound = Rewound(turn_ids=tuple(turn.id for turn in taken), said=said, profile_id=member.profile_id)
            if then is not None:
                await then(connection, rewound)
            return rewound

        return await self._database.transaction(work)

    async def turns_from(self, session_id: UUID, turn_id: UUID) -> int:
        """
        Raises:
            SessionError: it is no turn of the session, or it was undone.
        """
        key = {"session_id": session_id, "turn_id": turn_id}
        rows = await self._database.fetch(self._sql["turns_from"], key)
        if not rows[0]["count"]:
            raise SessionError("this turn is not part of the session any more")
        return int(rows[0]["count"])

    async def fork(
        self, session_id: UUID, stem: str, cut: Callable[[list[HistoryTurn]], list[HistoryTurn]]
    ) -> tuple[UUID, str]:
        """Copy the turns that `cut` keeps into a new session; its title is the next fork's of `stem`."""

        async def work(connection: Connection) -> tuple[UUID, str]:
            (member,) = await self._locked(connection, [session_id], alone=True)
            turns = await self._turns(connection, session_id)
            kept = cut(turns)
            made, title = new_id(), await self._fork_title(connection, member.profile_id, stem)
            row = {
                "id": made, "from_id": session_id, "title": title, "is_whole": len(kept) == len(turns),
                "last_turn_id": kept[-1].id if kept else None,
            }  # fmt: skip
            await connection.execute(self._sql["fork_session"], row)
            await self._copy(connection, made, [turn.id for turn in kept])
            await tell_session(connection, self._database, made, member.profile_id, UPDATED)
            return made, title

        return await self._database.transaction(work)

    async def _fork_title(self, connection: Connection, profile_id: str, stem: str) -> str:
        """One that no session of the profile has; a fork made at the same instant waits for this transaction."""
        key = {"profile_id": profile_id, "stem": f"{stem} (fork"}
        await connection.execute(self._sql["lock_fork_titles"], key)
        rows = await (await connection.execute(self._sql["fork_titles"], key)).fetchall()
        return fork_title(stem, [row["title"] for row in rows])

    async def turn_numbered(self, session_id: UUID, ordinal: int) -> UUID | None:
        """The turn with this number, unless it was undone."""
        key = {"session_id": session_id, "ordinal": ordinal}
        rows = await self._database.fetch(self._sql["turn_numbered"], key)
        return rows[0]["id"] if rows else None

    async def _copy(self, connection: Connection, session_id: UUID, turns: list[UUID]) -> None:
        """The bodies never leave the database, so that every byte of them stays."""
        found = await (await connection.execute(self._sql["messages_in_order"], {"turns": turns})).fetchall()
        messages = [row["id"] for row in found]
        waiting = await waiting_of(connection, turns)
        row = {
            "session_id": session_id, "turns": turns, "new_turns": [new_id() for _ in turns],
            "waited": [waiting[turn].seconds if turn in waiting else None for turn in turns],
            "messages": messages, "new_messages": [new_id() for _ in messages],
        }  # fmt: skip
        for statement in (self._sql["copy_turns"], self._sql["copy_messages"], self._sql["copy_calls"]):
            await connection.execute(statement, row)

    async def _turns(self, connection: Connection, session_id: UUID) -> list[HistoryTurn]:
        rows = await (await connection.execute(self._sql["turns_in_order"], {"session_id": session_id})).fetchall()
        return [HistoryTurn(**row) for row in rows]

    async def _locked(
        self, connection: Connection, session_ids: Sequence[UUID], *, alone: bool = False
    ) -> list[FamilyMember]:
        """The family (`alone`: only the named ones), locked: no turn begins and no child is added meanwhile."""
        locked: set[UUID] = set()
        while True:
            rows = await (await connection.execute(self._sql["family"], {"ids": [*session_ids]})).fetchall()
            members = [FamilyMember(**row) for row in rows if not alone or row["id"] in session_ids]
            if not members:
                raise _none(*session_ids)
            ids = {member.id for member in members}
            if ids <= locked:
                return members
            await connection.execute(self._sql["lock_sessions"], {"ids": [*ids]})
            locked |= ids

    async def _update(self, connection: Connection, statement: LiteralString, session_id: UUID, values: Row) -> str:
        row = await (await connection.execute(statement, values | {"id": session_id})).fetchone()
        if row is None:
            raise _none(session_id)
        profile_id: str = row["profile_id"]
        await tell_session(connection, self._database, session_id, profile_id, UPDATED)
        return profile_id


def _none(*session_ids: UUID) -> SessionError:
    return SessionError(f"there is no session {', '.join(map(str, session_ids))}")
