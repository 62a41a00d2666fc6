"""The program as its user starts it: a process with its own COS_HOME and database, in a pipe or in a terminal."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.fix_database import shared_folder
from tests.program.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.api_server import ApiServer

ROOT = Path(__file__).parents[2]
COS = [sys.executable, "-m", "cos"]
PATIENCE_SECONDS = 60.0


@dataclass(slots=True)
class Program:
    """One user's cos. `database_url` None = the embedded Postgres in `home`."""

    home: Path
    database_url: str | None
    env: dict[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    terminals: list[Terminal] = field(default_factory=list)

    def use_api(self, api: ApiServer, key: str) -> None:
        """Let the profiles home and work talk to `api`."""
        self.env |= {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": key}

    def environment(self, **more: str) -> dict[str, str]:
        """Nothing of the tests' own settings reaches the program."""
        base = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
            "COS_HOME": str(self.home),
        }
        if self.database_url is not None:
            base["COS_DATABASE_URL"] = self.database_url
        return base | self.env | more

    def run(self, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run to the end. Its output goes into pipes."""
        return subprocess.run(
            [*COS, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environment(**env),
            cwd=self.home,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start and do not wait; it is killed after the test if it still runs."""
        process = subprocess.Popen(
            [*COS, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(**env),
            cwd=self.home,
        )
        self.processes.append(process)
        return process

    def chat(self, *arguments: str, columns: int = 120, rows: int = 40, **env: str) -> Terminal:
        """Open the app in a terminal of its own."""
        terminal = Terminal([*COS, "chat", *arguments], self.environment(**env), self.home, columns, rows)
        self.terminals.append(terminal)
        return terminal

    def setting(self, text: str) -> Path:
        """Write commonos.toml."""
        file = self.home / "commonos.toml"
        file.write_text(text)
        return file

    def profile(self, name: str, text: str) -> Path:
        """Write profiles/<name>/config.toml; the shipped profiles are not copied then."""
        file = self.home / "profiles" / name / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query (trusted text of a test) finds in the database."""
        assert self.database_url is not None
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(query.encode()).fetchall()

    def close(self) -> None:
        for process in self.processes:
            with process:
                process.kill()
        for terminal in self.terminals:
            terminal.close()


@pytest.fixture
def program(database_url: str) -> Iterator[Program]:
    """cos with an empty COS_HOME and an empty database on the server of the tests."""
    parts = conninfo_to_dict(database_url)
    url = f"postgresql://{parts['user']}@/{parts['dbname']}?host={parts['host']}&port={parts['port']}"
    home = shared_folder()
    made = Program(home, url)
    yield made
    made.close()
    shutil.rmtree(home)


def interrupt(process: subprocess.Popen[str]) -> None:
    """What Ctrl+C sends."""
    process.send_signal(signal.SIGINT)
