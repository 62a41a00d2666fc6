"""Shows a text in the user's pager or editor while the app steps aside. Turns go on meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from textual.app import SuspendNotSupported

from cos.agent.errors import CosError
from cos.core.environment import without_secrets

if TYPE_CHECKING:
    from textual.app import App

Program = Literal["pager", "editor"]
_VARIABLES: dict[Program, tuple[str, ...]] = {"pager": ("PAGER",), "editor": ("VISUAL", "EDITOR")}
_DEFAULTS: dict[Program, tuple[str, ...]] = {"pager": ("less", "more"), "editor": ("nano", "vi")}


class OutsideError(CosError):
    """A program of the user could not show something."""


def command_of(program: Program, env: Mapping[str, str]) -> list[str]:
    """The user's choice as an argument list, else the first default that is installed.

    Raises:
        OutsideError: the choice is no command or is not installed, or there is no default.
    """
    for variable in _VARIABLES[program]:
        if not (text := env.get(variable, "").strip()):
            continue
        try:
            command = shlex.split(text)
        except ValueError as error:
            raise OutsideError(f"{variable}={text!r} is no command ({error}); set it to one, such as less") from None
        if shutil.which(command[0], path=env.get("PATH")) is None:
            raise OutsideError(f"{variable}={text!r}: there is no program {command[0]!r}; install it or change it")
        return command
    for name in _DEFAULTS[program]:
        if shutil.which(name, path=env.get("PATH")):
            return [name]
    names = " nor ".join(_DEFAULTS[program])
    raise OutsideError(f"no {program} found: neither {names} is installed; set {_VARIABLES[program][-1]} to one")


def harmless_environment(env: Mapping[str, str]) -> dict[str, str]:
    """`env` without secrets, in which less runs no preprocessor, command or editor: its text may be a stranger's."""
    return without_secrets(env, ("LESSOPEN", "LESSCLOSE")) | {"LESSSECURE": "1", "LESSHISTFILE": "-"}


async def show(app: App[Any], program: Program, text: str, suffix: str = ".txt") -> None:
    """Let the program show `text` from a file of its own that nobody else may read and that is gone afterwards.

    Raises:
        OutsideError: the program cannot be started, or says that it failed.
    """
    command = command_of(program, os.environ)
    with tempfile.TemporaryDirectory(prefix="cos-") as folder:
        file = Path(folder, f"text{suffix}")
        await asyncio.to_thread(_write, file, text)
        await run(app, [*command, str(file)], harmless_environment(os.environ))


async def run(app: App[Any], command: list[str], env: Mapping[str, str]) -> None:
    """Hand the terminal to a command until it ends.

    Raises:
        OutsideError: it cannot be started, or says that it failed.
    """
    code, failure = 0, ""
    try:
        with app.suspend():
            try:
                process = await asyncio.create_subprocess_exec(*command, env=env)
            except OSError as error:
                failure = error.strerror or str(error)
            else:
                code = await end_of(process)
    except SuspendNotSupported:
        failure = "this terminal cannot be handed over"
    if failure:
        raise OutsideError(f"{command[0]} could not be started: {failure}")
    if code:
        raise OutsideError(f"{command[0]} ended with exit code {code}")


async def end_of(process: asyncio.subprocess.Process) -> int:
    """The exit code; when nobody waits for it any more, the process is ended first."""
    try:
        return await process.wait()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
        raise


def _write(file: Path, text: str) -> None:
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")
