"""What an empty conversation says: which profile it is, what is missing, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.tui.profile_choice import marked
from cos.tui.transcript.answer import AssistantText
from cos.tui.transcript.entries import Notice

if TYPE_CHECKING:
    from cos.tui.core_port import CorePort
    from cos.tui.transcript.entries import Entry

TEXT = """\
## Hello

A new session with the profile **{profile}**: the model is `{model}`, the folder is `{workspace}`.

Write a message below and press Enter to begin.

- **F2** your sessions
- **F4** what waits for your approval
- **F1** every key
"""


def welcome(core: CorePort, profile_id: str) -> list[Entry]:
    """The entries of a session that has not begun."""
    profile = core.profiles[profile_id]
    model = profile.settings.model or profile.settings.provider
    text = TEXT.format(profile=profile_id, model=model, workspace=profile.workspace)
    if len(core.profiles) > 1:
        text += (
            f"- **F6** another profile: {', '.join(marked(core.providers, name) for name in sorted(core.profiles))}\n"
        )
    entries: list[Entry] = [AssistantText(key="welcome", text=text)]
    missing = core.providers[profile_id].missing()
    if missing:
        entries.append(Notice(key="missing", level="warning", text=missing))
        if "demo" in core.profiles:
            hint = "F6 goes to demo: a scripted agent that needs no key and no network."
            entries.append(Notice(key="hint", level="info", text=hint))
    return entries
