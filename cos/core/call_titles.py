"""What a call says in one line where its tool cannot be asked: it may be gone, or the call long over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TELLING: Final = ("query", "pattern", "path", "url", "goal", "question", "content", "old_text", "name")
"""Arguments that many tools share and that say what a call is about, the best first."""


def title_of_call(name: str, args: Mapping[str, object]) -> str:
    """The first line of what it is about, or the tool's name."""
    command = args.get("command")
    if isinstance(command, str):
        lines = [line.strip() for line in command.splitlines() if line.strip()]
        return f"$ {lines[0]}{' …' if len(lines) > 1 else ''}" if lines else name
    tasks = args.get("tasks")
    if isinstance(tasks, list):
        goals = [str(task["goal"]) for task in tasks if isinstance(task, dict) and task.get("goal")]
        if goals:
            return title_of_tasks(goals)
    what = next((args[key] for key in _TELLING if args.get(key)), None)
    return (what.strip().splitlines() or [name])[0] if isinstance(what, str) else name


def title_of_tasks(goals: Sequence[str]) -> str:
    """A task by its goal, several as `2 tasks: the first; the second`."""
    lines = [" ".join(goal.split()) or "(no goal)" for goal in goals]
    return lines[0] if len(lines) == 1 else f"{len(lines)} tasks: {'; '.join(lines)}"
