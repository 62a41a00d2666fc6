"""The conversation view of `cos chat` and the kinds of entries it shows."""

from cos.tui.transcript.answer import AssistantText
from cos.tui.transcript.calls import CallState, ToolCall
from cos.tui.transcript.entries import Diff, Entry, Notice, Thinking, TurnHeader, UserMessage
from cos.tui.transcript.markdown import prepare as prepare_markdown
from cos.tui.transcript.view import Transcript

__all__ = [
    "AssistantText",
    "CallState",
    "Diff",
    "Entry",
    "Notice",
    "Thinking",
    "ToolCall",
    "Transcript",
    "TurnHeader",
    "UserMessage",
    "prepare_markdown",
]
