"""The words that Hermes' hooks use for how a call or a request ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.agent.records import ToolCallStatus

if TYPE_CHECKING:
    from cos.agent.records import ApprovalAnswer


def approval_choice(answer: ApprovalAnswer) -> str:
    """The `choice` of post_approval_response."""
    names = {"denied": "deny", "expired": "timeout", "cancelled": "cancelled"}
    return names.get(answer.decision, answer.scope)


def call_status(status: ToolCallStatus) -> str:
    """The `status` of post_tool_call."""
    names = {
        ToolCallStatus.OK: "ok",
        ToolCallStatus.DENIED: "blocked",
        ToolCallStatus.EXPIRED: "blocked",
        ToolCallStatus.CANCELLED: "cancelled",
        ToolCallStatus.TIMED_OUT: "timeout",
    }
    return names.get(status, "error")


def error_type(status: ToolCallStatus) -> str | None:
    """The `error_type` that Hermes' hooks use for a status."""
    names = {
        ToolCallStatus.OK: None,
        ToolCallStatus.DENIED: "plugin_block",
        ToolCallStatus.EXPIRED: "plugin_block",
        ToolCallStatus.CANCELLED: "keyboard_interrupt",
        ToolCallStatus.TIMED_OUT: "tool_timeout",
    }
    return names.get(status, "tool_error")
