"""What the model reads when a tool call did not simply work, and how a long result is cut."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from cos.agent.records import ToolCallStatus, TurnStatus
from cos.agent.text import visible

if TYPE_CHECKING:
    from cos.agent.records import ApprovalAnswer

RESULT_CHARACTERS: Final = 100_000
NO_OUTPUT: Final = "(no output)"
_HEAD_SHARE: Final = 0.4


def clipped(text: str, limit: int = RESULT_CHARACTERS, *, head_share: float = _HEAD_SHARE) -> str:
    """`text`, or its head and tail with the cut stated between them when it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head = int(limit * head_share)
    tail = limit - head
    return f"{text[:head]}\n[... {len(text) - limit:,} characters cut ...]\n{text[-tail:]}"


def unknown_tool_text(name: str, known: list[str]) -> str:
    """No such tool; never worded as a question of permission, which would be tried again."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    shown = visible(name)[:80]
    return f"There is no tool named {shown!r}.{hint} The tools are: {', '.join(known) or '(none)'}."


def refused_text(answer: ApprovalAnswer) -> str:
    """Denied and expired are told apart: nobody answering is not a no, and is no consent either."""
    if answer.decision == "expired":
        return (
            "Not run: nobody answered the request for approval in time. The user has not agreed to this and has not "
            "refused it. Do not try to reach the same effect another way; say what you would need."
        )
    if answer.reason:
        return f"Not run: the user refused this call. Their reason, word for word: {answer.reason}"
    return "Not run: the user refused this call. It is not a failure of the tool; do not try the same again."


def unanswered_text(status: ToolCallStatus, turn: TurnStatus, recorded: str | None = None) -> str:
    """The result of a call whose turn ended without one: whether it may have had an effect is what counts.

    `recorded` is what the record of a call that had ended already says.
    """
    if status.is_final:
        return recorded or NO_OUTPUT
    if status is ToolCallStatus.RUNNING:
        return (
            f"The turn was {turn.value} while this call ran. Interrupted, outcome unknown: it may have had its effect."
        )
    return f"Not run: the turn was {turn.value} before this call started."


def unanswered_status(status: ToolCallStatus, turn: TurnStatus) -> ToolCallStatus:
    """The final status of a call whose turn ended without a result for it."""
    if status.is_final:
        return status
    if status is ToolCallStatus.RUNNING:
        return ToolCallStatus.UNKNOWN
    return ToolCallStatus.CANCELLED
