"""Copying, and saying only what is known of it: a tool that ran has copied, a terminal was only told to.

OSC 52 reaches the clipboard of the machine that the user sits at, also over ssh, but no terminal confirms it.
"""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from cos.agent.text import storable
from cos.core.environment import without_secrets

if TYPE_CHECKING:
    from textual.app import App

TOOL_SECONDS: Final = 3.0
MANY_TERMINALS_TAKE: Final = 74_000
"""Bytes of an OSC 52 in base64; what is longer is often dropped."""
_REMOTE: Final = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")


async def copy(app: App[Any], text: str, what: str) -> None:
    """Copy `text`, which the user knows as `what`, and say what is known of it."""
    app.notify(await copied(app, storable(text), what), markup=False)


async def copied(app: App[Any], text: str, what: str) -> str:
    """Copy `text`; what became of it, as a sentence."""
    app.copy_to_clipboard(text)
    for tool in local_tools(os.environ, sys.platform):
        if await fed(tool, text):
            return f"Copied {what} with {tool[0]}."
    if os.environ.get("TMUX") and shutil.which("tmux"):
        if await fed(("tmux", "load-buffer", "-w", "-"), text):
            return f"Copied {what} into a tmux buffer; tmux hands it on to the terminal where its settings allow it."
        if await fed(("tmux", "load-buffer", "-"), text):
            _pass_through_tmux(app, text)
            return f"Copied {what} into a tmux buffer and sent it to the terminal's clipboard."
    size = (len(text.encode()) + 2) // 3 * 4
    warning = " Many terminals do not take that much: w saves it into a file." if size > MANY_TERMINALS_TAKE else ""
    return f"Sent {what} to the terminal's clipboard.{warning}"


def local_tools(env: Mapping[str, str], platform: str) -> list[Sequence[str]]:
    """Commands that take a clipboard's content on stdin, for the desktop that this process is shown on.

    Over ssh there is none: a clipboard of the far machine is not the user's.
    """
    if any(env.get(name) for name in _REMOTE):
        return []
    candidates: list[tuple[str, ...]] = [("pbcopy",)] if platform == "darwin" else []
    if env.get("WAYLAND_DISPLAY"):
        candidates.append(("wl-copy",))
    if env.get("DISPLAY"):
        candidates += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    return [tool for tool in candidates if shutil.which(tool[0], path=env.get("PATH"))]


async def fed(command: Sequence[str], text: str) -> bool:
    """Whether the command took `text` and ended well. It gets no terminal; a part of it may stay to serve the text."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=PIPE,
            stdout=DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,
            env=without_secrets(os.environ),
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(TOOL_SECONDS):
            await process.communicate(text.encode())
    except (TimeoutError, OSError):
        return False
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode == 0


def _pass_through_tmux(app: App[Any], text: str) -> None:
    """For a tmux too old for `load-buffer -w`, which passes on what is wrapped like this."""
    if app._driver is not None:
        encoded = base64.b64encode(text.encode()).decode()
        app._driver.write(f"\x1bPtmux;\x1b\x1b]52;c;{encoded}\x07\x1b\\")
