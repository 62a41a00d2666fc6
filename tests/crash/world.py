"""What the crash matrix plays in: a COS_HOME with its own embedded Postgres, profiles, and somebody who answers."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

from cos.agent.errors import CosError
from cos.agent.records import ApprovalAnswer
from cos.core.embedded import EmbeddedPostgres
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.database import Database
from tests.api_server.server import KEY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api_server import ApiServer

PROFILES = {"home": "ask", "work": "auto"}
_SETTINGS = """[database]
data_dir = "{pg}"
[bill.prices."claude-sonnet-5-5"]
input = 2
output = 10
"""
_PROFILE = """provider = "anthropic"
model = "claude-sonnet-5-5"
tags = ["area:{name}"]
workspace = "{workspace}"
[approvals]
mode = "{mode}"
[[approvals.rules]]
tool = "delegate_task"
decision = "allow"
"""


class World:
    """Everything outside the cos process."""

    def __init__(self, folder: Path, api: ApiServer) -> None:
        self.folder = folder
        self.env = {
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            "HOME": str(folder), "LANG": "C.UTF-8", "COS_HOME": str(folder),
            "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY,
        }  # fmt: skip
        self.server = EmbeddedPostgres(folder / "pg")
        (folder / "commonos.toml").write_text(_SETTINGS.format(pg=folder / "pg"))
        for name, mode in PROFILES.items():
            made = folder / "profiles" / name
            made.mkdir(parents=True)
            self.workspace(name).mkdir(parents=True)
            (self.workspace(name) / "notes.txt").write_text("Nothing lost.\n")
            (made / "config.toml").write_text(_PROFILE.format(name=name, mode=mode, workspace=self.workspace(name)))
        target = self.server.attach()
        self.conninfo = make_conninfo(**target.conninfo_parameters() | {"application_name": "crash-harness"})

    def workspace(self, profile: str) -> Path:
        return self.folder / "workspaces" / profile

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.conninfo, autocommit=True)

    def strays(self) -> list[int]:
        """Processes that bear this COS_HOME. Postgres does not: it is told nothing."""
        mark = f"COS_HOME={self.folder}".encode()
        found = []
        for entry in os.scandir("/proc"):
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                try:
                    with open(f"/proc/{entry.name}/environ", "rb") as environ:
                        if mark in environ.read().split(b"\0"):
                            found.append(int(entry.name))
                except OSError:
                    continue
        return found


class Answerer:
    """A person at another terminal: answers every request for approval after a moment, on a connection of its own."""

    def __init__(self, conninfo: str, seed: int) -> None:
        self.answered: dict[str, str] = {}
        """The answers that counted, by approval."""
        self._conninfo = conninfo
        self._chance = random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join(30)

    async def _run(self) -> None:
        database = await Database(self._conninfo, size=2).open()
        approvals = Approvals(database)
        while not self._over.is_set():
            await asyncio.sleep(self._chance.random() * 0.06)
            try:
                for pending in await approvals.pending():
                    if self._chance.random() < 0.7:
                        answer = ApprovalAnswer(
                            decision="allowed" if self._chance.random() < 0.75 else "denied", answered_by="harness"
                        )
                        if await approvals.answer(pending.id, answer) == answer:
                            self.answered[str(pending.id)] = answer.decision
            except CosError:
                await asyncio.sleep(0.05)  # Postgres was killed.
            except LookupError:
                continue  # Its turn ended meanwhile.
        await database.close()
