"""The slash commands that no plugin may take: those of the core, and those of the terminal app on top of them.

They are written down so that a clash is found wherever plugins are loaded, also where no app and no session is.
"""

from __future__ import annotations

from typing import Final

CORE_COMMANDS: Final = frozenset(
    {"agents", "compact", "export", "fork", "model", "plugins", "queue", "retry", "steer", "stop", "tag", "title",
     "tools", "undo", "usage"}
)  # fmt: skip
APP_COMMANDS: Final = frozenset({"approvals", "cost", "help", "new", "profile", "quit", "resume", "sessions", "theme"})


def owner_of(name: str) -> str | None:
    """Who has the command, in words; None when it is free."""
    if name in CORE_COMMANDS:
        return "the core"
    return "the terminal app" if name in APP_COMMANDS else None
