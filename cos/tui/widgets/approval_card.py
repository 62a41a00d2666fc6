"""One request: what is known of it, and how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from rich.text import Text

from cos.agent.approver import RequestKind
from cos.agent.text import exact
from cos.tui import wording

MOST_LINES = 300
MOST_CHARACTERS = 30_000
"""What a card shows of a text. The full screen shows all of it."""
_DIFF_STYLES: Final = (("+++ ", "dim"), ("--- ", "dim"), ("@@", "cyan"), ("+", "green"), ("-", "red"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One request as the pane draws it."""

    id: UUID
    session_id: UUID
    turn_id: UUID
    session_title: str
    root_title: str | None
    """Of the session that the user talks to, when a child agent asks."""
    profile_id: str
    tags: tuple[str, ...]
    tool: str
    title: str
    detail: str
    """The exact and whole text of what would run."""
    diff: str | None
    reason: str
    risk: str
    cwd: str | None
    requested_at: datetime
    expires_at: datetime
    kind: RequestKind = "tool_call"
    choices: tuple[str, ...] = ()
    """Answers that a question offers."""

    @property
    def is_question(self) -> bool:
        return self.kind == "question"

    @property
    def asker(self) -> str:
        """The session; a child agent's with the one that it works for."""
        return f"{self.session_title} ← {self.root_title}" if self.root_title else self.session_title


def head_text(card: Card, place: str) -> Text:
    """Which request it is (`place`), who asks, what for, and since when."""
    age = wording.duration(wording.now() - card.requested_at)
    left = wording.duration(card.expires_at - wording.now())
    text = Text()
    if place:
        text.append(f"{place}\n", style="bold")
    text.append(f"waits {age}, {left} left\n", style="dim")
    if card.is_question:
        text.append("A question for you\n", style="bold")
    else:
        text.append(wording.one_line(card.tool), style="bold")
        text.append(f"  {wording.one_line(card.risk)}\n")
        text.append(f"{wording.one_line(card.reason)}\n")
    tags = "".join(f" #{tag}" for tag in card.tags)
    text.append(wording.one_line(f"{card.asker} · {card.profile_id}{tags}"), style="dim")
    if card.cwd:
        text.append(f"\nin {wording.one_line(card.cwd)}", style="dim")
    return text


def whole_text(card: Card, picked: int | None = None) -> Text:
    """Exactly and wholly what would run, or the question with its choices and a mark at the one that is picked."""
    if card.is_question:
        return _question_text(card, picked)
    text = Text()
    if not card.detail.startswith(card.title.removeprefix("$ ").rstrip(" …")):
        text.append(exact(card.title) + "\n", style="bold")
    if card.diff is None:
        return text.append(exact(card.detail or card.title))
    for number, line in enumerate(exact(card.diff).rstrip("\n").split("\n")):
        text.append(f"\n{line}" if number else line, style=_diff_style(line))
    if card.detail and not _is_told_by(card.diff, card.detail):
        text.append("\nThe whole new text:\n", style="bold").append(exact(card.detail))
    return text


def _question_text(card: Card, picked: int | None) -> Text:
    text = Text(exact(card.detail))
    for number, choice in enumerate(card.choices):
        mark, style = ("▸", "bold reverse") if number == picked else (" ", "")
        text.append("\n\n" if number == 0 else "\n").append(f"{mark} {number + 1}. {exact(choice)}", style=style)
    return text


def detail_text(card: Card, picked: int | None = None) -> tuple[Text, bool]:
    """As `whole_text`, but cut where that is too long for a card, and whether it was."""
    whole = whole_text(card, picked)
    end = min(len(whole), MOST_CHARACTERS)
    lines = whole.plain[:end].split("\n", MOST_LINES)
    if len(lines) > MOST_LINES:
        end -= len(lines[-1]) + 1
    if end == len(whole):
        return whole, False
    hidden = whole.plain[end:]
    shown = whole[:end]
    note = f"\n… {hidden.count(chr(10)):,} more lines, {len(hidden):,} characters: v shows them"
    return shown.append(note, style="bold reverse"), True


def _diff_style(line: str) -> str:
    return next((style for sign, style in _DIFF_STYLES if line.startswith(sign)), "")


def _is_told_by(diff: str, text: str) -> bool:
    """A new file's lines all stand in its diff."""
    added = [line[1:] for line in diff.split("\n") if line.startswith("+") and not line.startswith("+++ ")]
    return "\n".join(added).rstrip("\n") == text.rstrip("\n")
