"""The running core of one process: what every surface works with, and the order in which it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cos.core.approval_desk import ApprovalDesk
from cos.core.background import Background
from cos.core.config import Config
from cos.core.dispatcher import Dispatcher
from cos.core.embedded.server import EmbeddedPostgres
from cos.core.live import LiveFeed
from cos.core.paths import Paths
from cos.core.plugins import LoadedPlugins
from cos.core.postgres.database import Database
from cos.core.postgres.drafts import Drafts
from cos.core.postgres.prompts import Prompts
from cos.core.postgres.pulse import Pulse
from cos.core.postgres.session_list import SessionList
from cos.core.postgres.session_options import SessionOptions
from cos.core.postgres.session_search import SessionSearch
from cos.core.postgres.session_text import SessionText
from cos.core.postgres.session_turns import SessionTurns
from cos.core.postgres.sessions import Sessions
from cos.core.postgres.waiting import WaitingMessages
from cos.core.profiles import Profile
from cos.core.queue import QueueEditor
from cos.core.rule_book import RuleBook
from cos.core.session_edits import SessionEdits
from cos.core.skills.commands import SkillCommands

if TYPE_CHECKING:
    from cos.agent.provider import Provider

from cos.cli.opening import close_database
from cos.core.postgres.exports import Exports


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """The running core of one process."""

    paths: Paths
    config: Config
    profile: Profile
    """The profile to begin with."""
    profiles: Mapping[str, Profile]
    providers: Mapping[str, Provider]
    database: Database
    embedded: EmbeddedPostgres | None
    """None when a given server is used."""
    sessions: Sessions
    edits: SessionEdits
    desk: ApprovalDesk
    feed: LiveFeed
    dispatcher: Dispatcher
    plugins: LoadedPlugins
    skills: SkillCommands
    background: Background
    rule_books: Mapping[str, RuleBook]
    reduced_motion: bool

    @property
    def pulse(self) -> Pulse:
        return self.database.pulse

    @property
    def session_turns(self) -> SessionTurns:
        return SessionTurns(self.database)

    @property
    def options(self) -> SessionOptions:
        return SessionOptions(self.database, self.feed.publish)

    @property
    def drafts(self) -> Drafts:
        return Drafts(self.database)

    @property
    def prompts(self) -> Prompts:
        return Prompts(self.database)

    @property
    def session_text(self) -> SessionText:
        return SessionText(self.database)

    @property
    def session_search(self) -> SessionSearch:
        return SessionSearch(self.database)

    @property
    def session_list(self) -> SessionList:
        return SessionList(self.database, self.plugins.offered("bill"))

    @property
    def exports(self) -> Exports:
        return Exports(self.database)

    @property
    def queue(self) -> QueueEditor:
        return QueueEditor(WaitingMessages(self.database), self.dispatcher)

    async def findings(self) -> list[str]:
        """What is not as it should be, as sentences for the user."""
        return [*await self.broken_rules(), *await self.plugins.findings(), *await self.skills.findings()]

    async def broken_rules(self) -> list[str]:
        """Which profiles' rules are not those of their files as they are now, and why, as sentences for the user."""
        for book in self.rule_books.values():
            await asyncio.to_thread(book.rules)
        return [book.warning for book in self.rule_books.values() if book.warning]

    def hurry(self) -> None:
        """The program ends: see `Database.hurry`."""
        self.database.hurry()

    async def close(self) -> None:
        """End turns, plugins and connections in this order; the last process of the user stops the embedded server."""
        self.hurry()
        await self.dispatcher.close()
        await self.background.close()
        await self.plugins.close()
        for provider in self.providers.values():
            await provider.close()
        await close_database(self.database, self.embedded)
