"""The user's own editor on a text: which program that is, and what comes back."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from cos.agent.errors import CosError
from cos.core.environment import without_secrets
from cos.tui.outside import end_of

_FALLBACKS: Final = ("nano", "vim", "vi")


class EditorError(CosError):
    """No editor, or one that failed; the text is as it was."""


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The program and its arguments.

    Raises:
        EditorError: none is set and none of the usual ones is installed, or the setting cannot be read.
    """
    for name in ("VISUAL", "EDITOR"):
        if environment.get(name, "").strip():
            try:
                return shlex.split(environment[name])
            except ValueError as error:
                raise EditorError(f"{name}={environment[name]!r} cannot be read: {error}") from error
    for program in _FALLBACKS:
        if shutil.which(program, path=environment.get("PATH")):
            return [program]
    raise EditorError("there is no editor: set VISUAL or EDITOR to one, such as EDITOR=nano")


async def edited(
    text: str, command: list[str], environment: Mapping[str, str], suspended: Callable[[], AbstractContextManager[None]]
) -> str:
    """The text as the editor leaves it. The terminal is the editor's within `suspended`; everything else goes on.

    Raises:
        EditorError: it cannot be started, failed, or left something that is no text.
    """
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="cos-message-"))
    file = folder / "message.md"
    try:
        await asyncio.to_thread(file.write_text, text, encoding="utf-8", errors="replace", newline="")
        with suspended():
            # Nothing is raised in here: `App.suspend` would not take the terminal back.
            failure = await _run([*command, str(file)], environment)
        if failure is not None:
            raise failure
        after = await asyncio.to_thread(file.read_bytes)
        return _without_last_newline(after.decode("utf-8"), text)
    except OSError as error:
        raise EditorError(f"the text cannot be read back: {error}") from error
    except UnicodeDecodeError as error:
        raise EditorError(f"what {command[0]} left is no UTF-8 text; the message is as it was") from error
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _run(command: list[str], environment: Mapping[str, str]) -> EditorError | None:
    try:
        process = await asyncio.create_subprocess_exec(*command, env=without_secrets(environment))
    except OSError as error:
        reason = error.strerror or error
        return EditorError(f"the editor {command[0]!r} cannot be started: {reason}. Check VISUAL and EDITOR")
    code = await end_of(process)
    if code != 0:
        return EditorError(f"the editor {Path(command[0]).name!r} ended with code {code}; the message is as it was")
    return None


def _without_last_newline(text: str, before: str) -> str:
    """Editors end a file with a line feed whether there was one or not."""
    text = text.replace("\r\n", "\n")
    return text if before.endswith("\n") else text.removesuffix("\n")
