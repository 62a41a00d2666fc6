"""PostgreSQL's own client programs: which ones fit a server, and how they reach a database with no secret in sight."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from psycopg.conninfo import conninfo_to_dict

from cos.core.embedded.account import clean_environment
from cos.core.embedded.binaries import WHEEL, program_folders
from cos.core.environment import without_secrets
from cos.core.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVICE = "cos"


class ProgramsError(DatabaseError):
    """A client program that is needed is not on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What a client program must be able to talk to."""

    major: int
    has_tls: bool
    """The connection is encrypted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """A folder of client programs of one version."""

    folder: Path
    major: int

    def path(self, name: str) -> Path:
        return self.folder / name


def find_programs(names: tuple[str, ...], server: Server, bin_dir: Path | None) -> Programs:
    """The first folder with all programs `names` that fits `server`: configured, the wheel's, the machine's, PATH.

    Raises:
        ProgramsError: there is none; it says what was found instead.
    """
    unfit = []
    for folder in _folders(bin_dir):
        if not all(os.access(folder / name, os.X_OK) for name in names):
            continue
        version = _version(folder / names[0])
        if version is None:
            continue
        major = int(version.partition(".")[0])
        if major < server.major:
            unfit.append(f"{version} in {folder}")
        elif server.has_tls and WHEEL in folder.parts:
            unfit.append(f"{version} in {folder}, which cannot encrypt")
        else:
            return Programs(folder=folder, major=major)
    encrypting = " that can encrypt" if server.has_tls else ""
    raise ProgramsError(
        f"this needs {' and '.join(names)} of PostgreSQL {server.major} or newer{encrypting}, and there is none here "
        f"(found: {'; '.join(dict.fromkeys(unfit)) or 'none'}). Install PostgreSQL's client programs, on Debian "
        f"postgresql-client-{server.major}, or set database.bin_dir to their folder"
    )


@contextmanager
def service_environment(conninfo: str, server: Server, *, interactive: bool = False) -> Iterator[dict[str, str]]:
    """An environment in which client programs connect to `conninfo`, until the block ends.

    The address and the password stand in a private file: command lines and environments are open to others.
    """
    settings = {key: str(value) for key, value in conninfo_to_dict(conninfo).items() if value not in (None, "")}
    if server.has_tls and settings.get("sslmode") in (None, "allow", "prefer"):
        settings["sslmode"] = "require"
    if bad := next((key for key, value in settings.items() if "\n" in value), None):
        raise DatabaseError(f"the address of the database has a line break in {bad}")
    handle, name = tempfile.mkstemp(prefix="cos-service-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"[{SERVICE}]\n" + "".join(f"{key}={value}\n" for key, value in settings.items()))
        base = without_secrets(os.environ) if interactive else clean_environment()
        yield base | {"PGSERVICEFILE": name, "PGSERVICE": SERVICE}
    finally:
        Path(name).unlink(missing_ok=True)


def first_error(output: bytes) -> str:
    """What a client program complains about, in its first words; never the data that follows them."""
    lines = output.decode(errors="replace").strip().splitlines()
    grave = next((line for line in lines if re.search(r"(error|ERROR|FATAL):", line)), next(iter(lines), "no reason"))
    return re.sub(r"^\S*?(pg_dump|pg_restore|psql)(:<stdin>:\d+)?: ", "", grave).strip()


def _folders(bin_dir: Path | None) -> Iterator[Path]:
    if bin_dir is not None:
        yield bin_dir
    yield from program_folders()
    yield from (Path(folder) for folder in os.get_exec_path() if folder)


def _version(program: Path) -> str | None:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, env=clean_environment(), check=False)
    except OSError:
        return None
    found = re.search(r"\(PostgreSQL\) (\d+\S*)", said.stdout.decode(errors="replace"))
    return found[1] if found else None
