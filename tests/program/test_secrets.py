"""Keys and passwords: real processes, and everything that they leave behind or hand to others."""

from __future__ import annotations

import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil

from tests.api_server.script import http_error
from tests.api_server.server import KEY
from tests.web.test_serve import serving

if TYPE_CHECKING:
    from tests.api_server import ApiServer
    from tests.program.fix_program import Program

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-PLANTED-1", "MY_MODEL": "PLANTED-2", "GITHUB_TOKEN": "PLANTED-3"}


def test_no_process_of_ours_but_cos_itself_holds_a_key(program: Program) -> None:
    """The server may run as another account, so its environment is open to that account's other processes."""
    program.database_url = None
    program.env |= KEYS
    process, _ = serving(program)
    server = int((next(program.home.glob("pg/*/data/postmaster.pid"))).read_text().splitlines()[0])
    assert "PLANTED" in str(psutil.Process(process.pid).environ())
    for one in (psutil.Process(server), *psutil.Process(server).children(recursive=True)):
        assert "PLANTED" not in str(one.environ()), one.cmdline()
        assert "PLANTED" not in str(one.cmdline())


def test_nothing_that_is_written_is_open_to_others(program: Program) -> None:
    """Also where the folder itself is open, as root's has to be for the account of the database."""
    program.home.chmod(0o755)
    program.env |= KEYS
    done = program.run("ask", "hello", "--profile", "demo")
    assert done.returncode == 0, done.stderr
    serving(program)
    assert program.run("db", "backup", "all.dump").returncode == 0
    line = (
        "import logging, pathlib; from cos.cli.logs import log_to; log_to(pathlib.Path('cos.log')); logging.error('x')"
    )
    subprocess.run([sys.executable, "-c", line], cwd=program.home, env=program.environment(), check=True)
    files = [path for path in program.home.iterdir() if path.is_file()]
    assert {path.name for path in files} >= {"commonos.toml", "web.key", "all.dump", "cos.log"}
    assert [path.name for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_a_key_stands_nowhere_that_cos_writes(program: Program, api: ApiServer) -> None:
    """Also when the server echoes it in its error."""
    key = KEY
    program.use_api(api, key)
    api.push(*[http_error(401, "authentication_error", f"no such key: {key}") for _ in range(2)])
    said = [program.run(*command.split()) for command in (
        "ask hello --profile home", "ask hello --profile home --json", "config", "doctor --json",
        "config --profile home", "sessions list --json", "approvals list", "cost --format json", "db status --json",
    )]  # fmt: skip
    assert len(api.requests) == 2, "the key was used"
    (session,) = {str(row[0]) for row in program.rows("SELECT id FROM sessions LIMIT 1")}
    said += [program.run("export", session, "--format", form) for form in ("markdown", "json")]
    assert [done.args for done in said if key in done.stdout + done.stderr] == []
    tables = program.rows("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    rows = [row for (table,) in tables for row in program.rows(f'SELECT t::text FROM "{table}" AS t')]
    assert rows
    assert [row for row in rows if key in row[0]] == []
    files = [path for path in program.home.rglob("*") if path.is_file()]
    assert [path for path in files if key.encode() in path.read_bytes()] == []
