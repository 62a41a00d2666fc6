"""Fixtures: a real core on a real Postgres, composed as the command line does it, with providers that tests script."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest
from psycopg.conninfo import conninfo_to_dict

from cos.agent.events import TurnCompleted
from cos.agent.providers.mock import MockProvider
from cos.agent.providers.scripted import ScriptedProvider
from cos.agent.retry import RetryPolicy
from cos.cli.compose import open_core
from cos.cli.opening import StartRequest
from cos.cli.running_core import Core
from cos.core.effective import Flags
from cos.core.inbound import Inbound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from uuid import UUID

    from cos.agent.provider import Provider
    from cos.agent.providers.scripted import Script
    from cos.core.profiles import Profile

AT_ONCE = RetryPolicy(base_seconds=0.0, cap_seconds=0.0)

PROFILES = {
    "home": 'provider = "mock"\ntags = ["area:home"]\n',
    "work": 'provider = "mock"\ntags = ["client:acme"]\n',
}


ASK_ABOUT_COMMANDS = '[[approvals.rules]]\ntool = "terminal"\ndecision = "ask"\n'
"""Also the harmless ones."""


def as_url(conninfo: str) -> str:
    """A connection string in the form that settings take."""
    return "postgresql:///?" + urlencode(conninfo_to_dict(conninfo), quote_via=quote)


class CoreHome:
    """A COS_HOME with profiles, and cores that start in it."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        self.env = {"COS_HOME": str(folder), "COS_DATABASE_URL": as_url(database_url)}
        self.retry = AT_ONCE
        self.providers: dict[str, Provider] = {}
        self.opened: list[Core] = []
        for name, text in PROFILES.items():
            self.write_profile(name, text)

    def write_profile(self, name: str, text: str, rules: str = ASK_ABOUT_COMMANDS) -> None:
        folder = self._profiles / name
        folder.mkdir(parents=True, exist_ok=True)
        workspace = self.folder / "workspaces" / name
        workspace.mkdir(parents=True, exist_ok=True)
        written = folder / "config.toml.new"
        written.write_text(text + f'workspace = "{workspace}"\n' + rules)
        written.replace(folder / "config.toml")  # As an editor does: nobody reads half of it.

    def write_skill(self, name: str, text: str, profile: str = "home") -> Path:
        file = self._profiles / profile / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    @property
    def _profiles(self) -> Path:
        return self.folder / "profiles"

    def script(self, *scripts: Script, profile: str = "home") -> ScriptedProvider:
        """What the model of a profile will say, one script a model call. Profiles without scripts run the demo."""
        provider = ScriptedProvider(scripts)
        self.providers[profile] = provider
        return provider

    async def open(self, say: Callable[[str], None] = lambda line: None) -> Core:
        """Start a core; what `Opening.open_core` wants."""
        request = StartRequest(
            env=self.env, flags=Flags(), surface="tui", say=say, provider_for=self._provider, retry=self.retry
        )
        core = await open_core(request)
        self.opened.append(core)
        return core

    def _provider(self, profile: Profile, env: Mapping[str, str]) -> Provider:
        return self.providers.get(profile.id) or MockProvider(delay_seconds=0)


async def asked(core: Core, text: str, session: UUID | None = None, profile: str = "home") -> TurnCompleted:
    """Send a message and wait for the end of its turn."""
    inbound = Inbound(text=text, profile_id=profile, source="cli", session_id=session)
    with core.feed.subscribe() as events:
        accepted = await core.dispatcher.dispatch(inbound)
        async for live in events:
            if isinstance(live.event, TurnCompleted) and live.event.turn.turn_id == accepted.turn_id:
                return live.event
    raise AssertionError("no end")


OpenCore = Callable[[], Awaitable[Core]]


@pytest.fixture
async def core_home(tmp_path: Path, database_url: str) -> AsyncIterator[CoreHome]:
    """A home without a running core; cores that a test leaves open are closed."""
    home = CoreHome(tmp_path, database_url)
    yield home
    for core in home.opened:
        await core.close()
