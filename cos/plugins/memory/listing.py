"""What is remembered, for the user to read, beside what the prompt of a session holds of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cos.agent.text import visible
from cos.plugins.memory.block import shown_entry
from cos.plugins.memory.entries import Entry, Target, contents_of, size_of, usage_words

TITLES: dict[Target, str] = {"memory": "The agent's notes (memory)", "user": "What it knows about you (user)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The memory in the prompt of a session."""

    entries: Mapping[Target, list[str]]
    """As they are shown there."""
    frozen_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The memory of a profile, and the snapshot of one of its sessions; None = there is no session that has one."""

    entries: Sequence[Entry]
    limits: Mapping[Target, int]
    snapshot: Snapshot | None = None

    def shown(self, entry: Entry) -> str:
        """As the prompt of a new session has it."""
        return shown_entry(entry, self.limits.get(entry.target, len(entry.content)))

    def of(self, target: Target) -> list[Entry]:
        return [entry for entry in self.entries if entry.target == target]

    def is_lacking(self, entry: Entry) -> bool:
        """Whether the session's prompt is without this entry."""
        return self.snapshot is not None and self.shown(entry) not in self.snapshot.entries[entry.target]

    def outdated(self, target: Target) -> list[str]:
        """What the session's prompt still holds and nobody stores any more."""
        if self.snapshot is None:
            return []
        stored = {self.shown(entry) for entry in self.of(target)}
        return [shown for shown in self.snapshot.entries[target] if shown not in stored]


def memory_words(memory: Memory) -> str:
    """The whole of it, ready for a screen."""
    lines: list[str] = []
    for target, title in TITLES.items():
        lines += [f"{title}  {_usage(memory, target)}", *_entries(memory, memory.of(target)), ""]
    return "\n".join([*lines, *_session(memory)])


def memory_object(memory: Memory) -> dict[str, Any]:
    """The whole of it for programs."""
    stores = {
        target: {
            "size": size_of(contents_of(memory.of(target))),
            "limit": memory.limits.get(target),
            "entries": [
                {
                    "number": entry.number,
                    "text": entry.content,
                    "changed_at": entry.changed_at.isoformat(),
                    "session_id": str(entry.session_id) if entry.session_id else None,
                    "blocked": memory.shown(entry).startswith("[BLOCKED:"),
                    **({"in_snapshot": not memory.is_lacking(entry)} if memory.snapshot else {}),
                }
                for entry in memory.of(target)
            ],
            **({"only_in_snapshot": memory.outdated(target)} if memory.snapshot else {}),
        }
        for target in TITLES
    }
    frozen_at = memory.snapshot.frozen_at.isoformat() if memory.snapshot else None
    return {"stores": stores, "snapshot_at": frozen_at}


def _usage(memory: Memory, target: Target) -> str:
    if target not in memory.limits:
        return "switched off"
    return usage_words(size_of(contents_of(memory.of(target))), memory.limits[target])


def _entries(memory: Memory, entries: Sequence[Entry]) -> list[str]:
    if not entries:
        return ["  nothing"]
    width = max(len(str(entry.number)) for entry in entries)
    lines = []
    for entry in entries:
        mark = "+" if memory.is_lacking(entry) else " "
        lines.append(_indented(f"  #{entry.number:<{width}} {mark} ", entry.content))
        if memory.shown(entry).startswith("[BLOCKED:"):
            lines.append(_indented(" " * (width + 6), memory.shown(entry)))
    return lines


def _session(memory: Memory) -> list[str]:
    if memory.snapshot is None:
        return ["Every new session has all of this in its prompt."]
    taken = f"{memory.snapshot.frozen_at.astimezone():%Y-%m-%d %H:%M}"
    gone = [shown for target in TITLES for shown in memory.outdated(target)]
    lacks = any(memory.is_lacking(entry) for entry in memory.entries)
    if not gone and not lacks:
        return [f"The prompt of this session, of {taken}, holds exactly this."]
    lines = [f"The prompt of this session is of {taken} and stays as it is; new sessions get what is stored now."]
    if lacks:
        lines.append("It lacks what is marked with +.")
    if gone:
        lines += ["It still holds:", *(_indented("  - ", shown) for shown in gone)]
    return lines


def _indented(head: str, text: str) -> str:
    return head + visible(text).replace("\n", "\n" + " " * len(head))
