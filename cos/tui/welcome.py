"""What an empty conversation says: which profile it is, what is missing, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.tui.transcript.entries import AssistantText, Notice

if TYPE_CHECKING:
    from cos.tui.core_port import CorePort
    from cos.tui.transcript.entries import Entry


def welcome(core: CorePort, profile_id: str) -> list[Entry]:
    """The entries of a session that has not begun."""
    settings = core.profiles[profile_id].settings
    model = settings.model or settings.provider
    text = f"**{profile_id}** · {model}\n\nWrite a message to begin. F6 changes the profile, F1 shows every key."
    entries: list[Entry] = [AssistantText(key="welcome", text=text)]
    missing = getattr(core.providers[profile_id], "sentence", "")
    if missing:
        entries.append(Notice(key="missing", level="warning", text=missing))
        if "demo" in core.profiles:
            hint = "F6 until it says demo: a scripted agent that needs no key and no network."
            entries.append(Notice(key="hint", level="info", text=hint))
    return entries
