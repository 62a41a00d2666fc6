"""A session as Markdown. What is not ours stands in code spans and fences that it cannot close, and nowhere else.

So a reader's Markdown parser sees our headings and lists only: nothing foreign becomes markup, HTML, a link, an image
or front matter, and the exact text is there to be copied.
"""

from __future__ import annotations

import json
import re
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

from cos.agent.messages import AssistantMessage, ToolResultMessage, UserMessage, parse_message
from cos.agent.text import exact, visible
from cos.core.answer_words import by_whom
from cos.core.sessions import usage_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from uuid import UUID

    from cos.core.postgres.exports import ExportedCall, ExportedMessage, ExportedSession, ExportedTurn

_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]#!|~$:@=^]|(?<=[Ww]{3})\.")
_ORIGINS: Final = {
    "queued": "User, queued", "steered": "User, into the running turn", "delegation": "Parent agent",
    "loop": "cos to the model",
}  # fmt: skip


class MarkdownExport:
    """Writes one document from its beginning on."""

    def __init__(self, write: Callable[[str], object], *, thinking: bool) -> None:
        self._write = write
        self._thinking = thinking
        self._turn_id: UUID | None = None
        self._shown_results: set[str] = set()
        """Calls of the newest reply whose result stands with them."""

    def begin(self, session: ExportedSession, exported_at: datetime) -> None:
        facts = {
            "Session": code(str(session.id)),
            "Profile": code(session.profile_id),
            "Model": code(session.model) if session.model else "",
            "Tags": " ".join(map(code, session.tags)),
            "Source": code(session.source),
            "Folder": code(session.cwd) if session.cwd else "",
            "Created": moment(session.created_at),
            "Last activity": moment(session.last_activity_at),
            "Archived": moment(session.archived_at) if session.archived_at else "",
            "Child of session": _id(session.parent_session_id),
            "Fork of session": _id(session.forked_from_session_id),
            "Exported": moment(exported_at),
        }
        self._block(f"# {plain(session.title or '') or 'Untitled session'}")
        self._facts(facts)

    def message(self, message: ExportedMessage, turn: ExportedTurn) -> None:
        """The next message; a heading before it when its turn begins."""
        if turn.id != self._turn_id:
            self._turn_id = turn.id
            self._begin_turn(turn)
        parsed = parse_message(message.body)
        if isinstance(parsed, UserMessage):
            self._heading(_ORIGINS.get(parsed.origin or "", "User"), message)
            self._fence(parsed.text, "markdown")
            if parsed.context:
                self._block("Context that plugins added:")
                self._fence(parsed.context)
        elif isinstance(parsed, AssistantMessage):
            self._reply(parsed, message)
        else:
            self._result(parsed, message)
        if isinstance(parsed, UserMessage | ToolResultMessage) and parsed.parts:
            self._block("Parts:")
            self._fence(_json([part.model_dump() for part in parsed.parts]), "json")

    def _begin_turn(self, turn: ExportedTurn) -> None:
        undone = ", undone" if turn.undone_at else ""
        self._block(f"## Turn {turn.ordinal}: {plain(turn.status)}{undone}")
        self._facts(
            {
                "Turn": code(str(turn.id)),
                "Started": moment(turn.started_at),
                "Ended": moment(turn.completed_at) if turn.completed_at else "",
                "Undone": moment(turn.undone_at) if turn.undone_at else "",
                "Copy of turn": _id(turn.copied_from_turn_id),
                "Child of turn": _id(turn.parent_turn_id),
                "Tags": " ".join(map(code, turn.tags)),
                "Tokens": _tokens(turn.usage),
                "Stop reason": code(turn.stop_reason) if turn.stop_reason else "",
            }
        )
        if turn.error:
            self._block("Error:")
            self._fence(turn.error)

    def _reply(self, reply: AssistantMessage, message: ExportedMessage) -> None:
        thoughts = [str(block.get("thinking", "")) for block in reply.blocks if block.get("type") == "thinking"]
        thought = "\n\n".join(filter(None, thoughts)) if self._thinking else ""
        if reply.text or thought or not reply.tool_calls:
            self._heading("Assistant, incomplete" if reply.partial else "Assistant", message)
        if thought:
            self._block("Thinking:")
            self._fence(thought)
        if reply.text:
            self._fence(reply.text, "markdown")
        records = {call.call_id: call for call in message.calls}
        self._shown_results = {call.call_id for call in message.calls if call.result is not None}
        for call in reply.tool_calls:
            self._call(call.name, call.args, records.get(call.id), message)

    def _call(self, name: str, args: dict[str, Any], record: ExportedCall | None, message: ExportedMessage) -> None:
        status = "status unknown" if record is None else plain(record.status.replace("_", " "))
        self._heading(f"Tool call {code(name)}, {status}", message)
        if record is None:
            self._fence(_json(args), "json")
            return
        seconds = "" if record.duration_ms is None else f"{record.duration_ms / 1000:.1f} s"
        self._facts({"Took": seconds, "Risk": code(record.risk) if record.risk else ""})
        self._fence(_json(record.args), "json")
        if record.approval:
            self._approval(record.approval)
        if record.result is not None:
            self._block("Result:")
            self._fence(record.result)

    def _approval(self, answer: dict[str, Any]) -> None:
        by = f" {plain(by_whom(str(answer['answered_by'])))}" if answer.get("answered_by") else ""
        decision = str(answer.get("decision"))
        scope = f", scope {code(str(answer.get('scope')))}" if decision == "allowed" else ""
        edited = "" if answer.get("args") is None else ", with arguments that the user edited"
        self._block(f"The user was asked: {code(decision)}{by}{scope}{edited}")
        if answer.get("reason"):
            self._fence(str(answer["reason"]))

    def _result(self, result: ToolResultMessage, message: ExportedMessage) -> None:
        if result.call_id not in self._shown_results:
            self._heading(f"Result of tool call {code(result.call_id)}", message)
            self._fence(result.content)

    def _heading(self, words: str, message: ExportedMessage) -> None:
        inactive = " (inactive: not sent to the model)" if not message.active else ""
        self._block(f"### {words}{inactive} - {moment(message.created_at)}")

    def _facts(self, facts: dict[str, str]) -> None:
        lines = [f"- {name}: {value}" for name, value in facts.items() if value]
        if lines:
            self._block("\n".join(lines))

    def _block(self, text: str) -> None:
        self._write(f"{text}\n\n")

    def _fence(self, text: str, language: str = "text") -> None:
        shown = exact(text.replace("\r\n", "\n"))
        longest = max((len(run) for run in re.findall("`+", shown)), default=0)
        ticks = "`" * max(3, longest + 1)
        self._write(f"{ticks}{language}\n{shown}{'' if shown.endswith(chr(10)) else chr(10)}{ticks}\n\n")


def plain(text: str) -> str:
    """Foreign text on one line as words of a heading: no character of it is markup or HTML."""
    line = " ".join(visible(text).split())
    return _MARKUP.sub(r"\\\g<0>", "".join(_ENTITIES.get(character, character) for character in line))


def code(text: str) -> str:
    """Foreign text on one line as a code span that ends where the text ends."""
    line = " ".join(exact(text).split())
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if longest or not line else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _id(value: UUID | None) -> str:
    return code(str(value)) if value else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _tokens(data: dict[str, Any] | None) -> str:
    usage = usage_of(data)
    if usage is None:
        return "unknown"
    at_least = "at least " if usage.is_partial else ""
    prompt = "unknown" if usage.prompt_tokens is None else f"{usage.prompt_tokens:,}"
    output = "unknown" if usage.output_tokens is None else f"{at_least}{usage.output_tokens:,}"
    return f"{prompt} in, {output} out"
