"""Sentences about memory for the user: what a call would do, what was done, what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cos.plugins.memory.entries import preview

if TYPE_CHECKING:
    from cos.plugins.memory.changes import Edit
    from cos.plugins.memory.entries import Target
    from cos.plugins.memory.store import Changed

STORES: Final[dict[Target, str]] = {"memory": "the agent's notes", "user": "what it knows about you"}


def proposed_title(args: dict[str, Any]) -> str:
    """One line for a call of the tool."""
    operations = args.get("operations") or [args]
    if len(operations) > 1:
        return f"{len(operations)} changes of {STORES[args.get('target', 'memory')]}"
    one = operations[0]
    content, old_text = preview(one.get("content", "")), preview(one.get("old_text", ""))
    match one.get("action"):
        case "add":
            return f"Keep: {content}"
        case "replace" | "patch":
            return f"In place of “{old_text}”: {content}"
        case "remove":
            return f"Forget “{old_text}”"
        case _:
            return "Read the memory"


def proposed_words(args: dict[str, Any]) -> str:
    """The exact and whole text of what a call would write."""
    lines = [f"In {STORES[args.get('target', 'memory')]}:"]
    for one in args.get("operations") or [args]:
        if one.get("old_text"):
            lines.append(f"- the whole entry that holds: {one['old_text']}")
        if one.get("content") and one.get("action") != "remove":
            lines.append(f"+ {one['content']}")
    return "\n".join(lines)


def changed_words(changed: Changed) -> str:
    """What was done, and how full the store is now."""
    done = [edit_words(edit) for edit in changed.edits] + [
        f"Is there already: {preview(it)}" for it in changed.repeated
    ]
    if not done:
        return "Nothing was to be changed: the entry says exactly that."
    where = f"({STORES[changed.target]}, {changed.usage})"
    return f"{done[0]} {where}" if len(done) == 1 else "\n".join([f"Memory changed {where}:", *done])


def edit_words(edit: Edit) -> str:
    if edit.before is None:
        return f"Remembered: {preview(edit.after or '')}"
    if edit.after is None:
        return f"Forgotten: {preview(edit.before.content)}"
    return f"Changed: “{preview(edit.before.content)}” is now “{preview(edit.after)}”"
