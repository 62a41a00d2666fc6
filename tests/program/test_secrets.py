"""Keys and passwords: real processes, and everything that they leave behind or hand to others."""

from __future__ import annotations

import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil

from tests.web.test_serve import serving

if TYPE_CHECKING:
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
