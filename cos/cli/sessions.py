"""`cos sessions`: what there is, and what a user does with whole sessions. Opens the database and nothing else."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import termios
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.errors import CosError
from cos.agent.tags import Tag, merge_tags
from cos.agent.text import visible
from cos.cli.opening import StartRequest, close_database, open_database
from cos.cli.session_hits import searched
from cos.cli.session_text import session_object, session_text
from cos.cli.table import table
from cos.core.cancelling import Cancelling
from cos.core.config import load_config
from cos.core.config_errors import ConfigError, FolderError
from cos.core.effective import Flags
from cos.core.paths import Paths
from cos.core.postgres.cancels import Cancels
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.listed_sessions import ListedSession, listed_sessions
from cos.core.postgres.schema import apply_core_schema
from cos.core.postgres.session_search import SessionSearch
from cos.core.postgres.sessions import Sessions
from cos.core.postgres.sweep import Sweeper
from cos.core.profiles import load_profile, profile_folders
from cos.core.running_turns import RunningTurns
from cos.core.session_edits import SessionEdits

if TYPE_CHECKING:
    from cos.core.live import CoreEvent
    from cos.core.postgres.database import Database
    from cos.core.session_edits import Doomed
    from cos.core.sessions import Transcript

DONE, NOT_DONE = 0, 1
_SHORT_IDS = (13, 18, 36)
"""Lengths at which an id may be cut: 13 characters tell the millisecond in which the session began."""
_PAGE = 500


@dataclass(frozen=True, slots=True)
class _Opened:
    database: Database
    sessions: Sessions
    edits: SessionEdits

    async def named(self, ids: Sequence[str]) -> list[UUID]:
        return [await self.sessions.find(text) for text in ids]


def run(options: argparse.Namespace) -> int:
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    async with _opened() as opened:
        if options.action == "list":
            found = await listed_sessions(
                opened.database, profile_id=options.profile, archived=options.archived, limit=options.limit
            )
            print(_json_list(found) if options.json else _listed(found, options))
            return DONE
        if options.action == "search":
            print(await searched(SessionSearch(opened.database), options))
            return DONE
        if options.action == "delete":
            return await _delete(opened, options)
        if options.action in {"archive", "unarchive"}:
            for session_id in await opened.named(options.ids):
                await opened.edits.archive(session_id, options.action == "archive")
                print(f"{options.action}d: {session_id}")
            return DONE
        session_id = await opened.sessions.find(options.id)
        print(await _on_one(opened, session_id, options))
        return DONE


async def _on_one(opened: _Opened, session_id: UUID, options: argparse.Namespace) -> str:
    """Do what is wanted with one session; what to print then."""
    edits = opened.edits
    match options.action:
        case "show":
            session, history = await opened.sessions.get(session_id), await _whole(opened.sessions, session_id)
            if options.json:
                return json.dumps(session_object(session, history), ensure_ascii=False)
            return session_text(session, history)
        case "rename":
            return f"renamed: {visible(await edits.rename(session_id, options.title))}"
        case "tag":
            if not options.add and not options.remove:
                raise CosError("nothing to change; give --add KEY:VALUE or --remove KEY:VALUE")
            tags = await edits.change_tags(session_id, add=options.add, remove=options.remove)
            return f"tags: {' '.join(tags) or '(none)'}"
        case "fork":
            before, through = [
                await edits.turn_numbered(session_id, number) if number else None
                for number in (options.before, options.through)
            ]
            return f"forked: {await edits.fork(session_id, before_turn=before, through_turn=through)}"
        case _:
            undone = await edits.undo(session_id, options.turns)
            said = "\n".join(visible(prompt.text) for prompt in undone.prompts)
            return f"undone: {_count(undone.turns, 'turn')}. What you had said there:\n{said}"


async def _whole(sessions: Sessions, session_id: UUID) -> Transcript:
    whole = await sessions.transcript(session_id, limit=_PAGE)
    while whole.has_older:
        page = await sessions.transcript(session_id, before=whole.messages[0].ordinal, limit=_PAGE)
        whole = replace(
            page,
            messages=page.messages + whole.messages,
            turns=page.turns | whole.turns,
            calls=page.calls | whole.calls,
        )
    return whole


async def _delete(opened: _Opened, options: argparse.Namespace) -> int:
    ids = await opened.named(options.ids)
    doomed = await opened.edits.what_goes(ids)
    if not options.yes:
        print(_what_goes(doomed), file=sys.stderr)
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise CosError("nothing was deleted: there is no terminal to ask at; give --yes to delete without asking")
        if not await _is_confirmed():
            print("cos: nothing was deleted", file=sys.stderr)
            return NOT_DONE
    await opened.edits.delete(ids)
    print(f"deleted: {_count(len(doomed.sessions), 'session')}")
    return DONE


async def _is_confirmed() -> bool:
    """Read one line from the terminal; Ctrl+C ends the wait. What was typed before the question does not count."""
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    print("Type yes to delete, then Enter: ", end="", file=sys.stderr, flush=True)
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        loop.remove_reader(sys.stdin.fileno())
        line.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin.fileno(), read)
    try:
        return (await line).strip().lower() == "yes"
    finally:
        loop.remove_reader(sys.stdin.fileno())


def _what_goes(doomed: Doomed) -> str:
    def line(title: str | None, turns: int, messages: int, note: str) -> str:
        words = f"{title or '(no title)'}: {_count(turns, 'turn')}, {_count(messages, 'message')}{note}"
        return f"  {' '.join(visible(words).split())}"

    children = {session.id for session in doomed.children}
    lines = ["This goes for good:"]
    for session in doomed.sessions:
        note = " (child session)" if session.id in children else ""
        lines.append(line(session.title, session.turns, session.messages, note))
    if doomed.forks_kept:
        lines.append(f"{_count(doomed.forks_kept, 'fork')} of it stay{'s' if doomed.forks_kept == 1 else ''} whole.")
    return "\n".join(lines)


def _unheard(event: CoreEvent) -> None:
    """Nobody reads the live feed of this process."""


@asynccontextmanager
async def _opened() -> AsyncIterator[_Opened]:
    config = load_config(Paths.from_environment(os.environ))
    request = StartRequest(env=os.environ, flags=Flags(), surface="cli", say=_progress)
    database, embedded = await open_database(config, request)
    try:
        await apply_core_schema(database)
        # A turn whose process has died would be in the way of an undo or a deletion.
        journal = PostgresJournal(database)
        sweeper = Sweeper(database, journal, _unheard)
        await sweeper.sweep()
        turns = Cancelling(RunningTurns(journal, _unheard), Cancels(database), sweeper)
        yield _Opened(database, Sessions(database), SessionEdits(database, turns, _unheard))
    finally:
        await close_database(database, embedded)


def _progress(line: str) -> None:
    print(f"cos: {visible(line)}", file=sys.stderr, flush=True)


def _listed(found: list[ListedSession], options: argparse.Namespace) -> str:
    if not found:
        whose = f" of profile {options.profile}" if options.profile else ""
        return f"There is no {'archived ' if options.archived else ''}session{whose}."
    of_profiles = _profile_tags({one.profile_id for one in found})
    length = next(length for length in _SHORT_IDS if len({str(one.id)[:length] for one in found}) == len(found))
    rows = [
        (
            str(one.id)[:length], f"{one.last_activity_at.astimezone():%Y-%m-%d %H:%M}", one.profile_id, one.state,
            f"{'↳ ' if one.parent_session_id else ''}{one.title or '(no title)'}",
            " ".join(merge_tags(of_profiles.get(one.profile_id, ()), one.tags)),
        )
        for one in found
    ]  # fmt: skip
    return table(("ID", "LAST ACTIVE", "PROFILE", "STATE", "TITLE", "TAGS"), rows)


def _profile_tags(profiles: Collection[str]) -> dict[str, tuple[Tag, ...]]:
    """What a turn of these profiles has beside its session's own tags; a profile that cannot be read is left out."""
    paths, tags = Paths.from_environment(os.environ), dict[str, tuple[Tag, ...]]()
    with suppress(FolderError):
        for folder in profile_folders(paths):
            if folder.name in profiles:
                with suppress(ConfigError):
                    tags[folder.name] = load_profile(folder, paths).settings.tags
    return tags


def _json_list(found: list[ListedSession]) -> str:
    objects = [asdict(one) | {"state": one.state} for one in found]
    return json.dumps(objects, ensure_ascii=False, default=_plain)


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
