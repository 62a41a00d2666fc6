"""Sentences about memory: what a call would do, what was done. Where no length is named they hold whole texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from cos.agent.text import visible
from cos.plugins.memory.entries import preview

if TYPE_CHECKING:
    from cos.plugins.memory.changes import Edit
    from cos.plugins.memory.entries import Target
    from cos.plugins.memory.store import Changed

STORES: Final[dict[Target, str]] = {"memory": "the agent's notes", "user": "what it knows about you"}
Shown = Callable[[str], str]
"""How a text stands in a sentence: `visible` the whole of it, `preview` its beginning on one line."""


def proposed_title(args: dict[str, Any], target: Target, shown: Shown = preview) -> str:
    """One line for a call of the tool on the store `target`."""
    operations = args.get("operations") or [args]
    if len(operations) > 1:
        return f"{len(operations)} changes of {STORES[target]}"
    one = operations[0]
    content, old_text = shown(one.get("content", "")), shown(one.get("old_text", ""))
    match one.get("action"):
        case "add":
            return f"Keep: {content}"
        case "replace" | "patch":
            return f"In place of “{old_text}”: {content}"
        case "remove":
            return f"Forget “{old_text}”"
        case _:
            return "Read the memory"


def proposed_words(args: dict[str, Any], target: Target) -> str:
    """The exact and whole text of what a call would write."""
    lines = [f"In {STORES[target]}:"]
    for one in args.get("operations") or [args]:
        if one.get("old_text"):
            lines.append(f"- the whole entry that holds: {one['old_text']}")
        if one.get("content") and one.get("action") != "remove":
            lines.append(f"+ {one['content']}")
    return "\n".join(lines)


def refused_words(args: dict[str, Any], target: Target, why: str) -> str:
    """What the user is told of a call that changed nothing, with all that was not saved."""
    told = f"Memory was not changed ({proposed_title(args, target, visible)}). {why}"
    return told + (f"\n{visible(proposed_words(args, target))}" if len(args.get("operations") or []) > 1 else "")


def changed_words(changed: Changed, shown: Shown = visible) -> str:
    """What was done, and how full the store is now."""
    done = [_edit_words(edit, shown) for edit in changed.edits]
    done += [f"Is there already: {shown(it)}" for it in changed.repeated]
    if not done:
        return "Nothing was to be changed: the entry says exactly that."
    where = f"({STORES[changed.target]}, {changed.usage})"
    return f"{done[0]} {where}" if len(done) == 1 else "\n".join([f"Memory changed {where}:", *done])


def _edit_words(edit: Edit, shown: Shown) -> str:
    if edit.before is None:
        return f"Remembered: {shown(edit.after or '')}"
    if edit.after is None:
        return f"Forgotten: {shown(edit.before.content)}"
    return f"Changed: “{shown(edit.before.content)}” is now “{shown(edit.after)}”"
