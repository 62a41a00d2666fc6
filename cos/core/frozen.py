"""The frozen context: what comes before a conversation, gathered once at a session's first turn and stored with it.

Later turns send the stored text again, byte for byte. The provider's cache and its bound thinking blocks depend on it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from cos.agent.messages import json_text
from cos.agent.provider import SessionPrompt, ToolSpec
from cos.agent.text import storable

if TYPE_CHECKING:
    from pathlib import Path

    from cos.agent.tools import ToolSet
    from cos.core.profiles import Profile

MOCK_MODEL = "mock-1"
SOUL: Final = "SOUL.md"
PLACE: Final = "folder and date"
SKILLS: Final = "skills"
TASK: Final = "task"
"""What a child agent is told of its place."""
WHOLE: Final = "system prompt"
"""Of a session whose parts were not stored one by one."""
_BETWEEN: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One piece of a system prompt."""

    source: str
    """Where it comes from: one of the names above, or `plugin NAME`."""
    text: str


def prompt_parts(
    soul: str, workspace: Path, skills: str, contexts: Sequence[tuple[str, str]], today: date
) -> list[PromptPart]:
    """The system prompt of a new session. `contexts`: plugin and text."""
    place = f"You work in the folder {workspace}. This session began on {today.isoformat()}."
    parts = [(SOUL, soul), (PLACE, place), (SKILLS, skills), *((f"plugin {name}", text) for name, text in contexts)]
    return [PromptPart(source, storable(text).strip()) for source, text in parts if text.strip()]


def build_prompt(profile: Profile, tools: ToolSet, parts: Sequence[PromptPart]) -> SessionPrompt:
    return SessionPrompt(
        system=_BETWEEN.join(part.text for part in parts),
        tools=tuple(
            ToolSpec(name=tool.name, description=tool.description, schema=tool.schema) for tool in tools.tools.values()
        ),
        model=profile.settings.model or MOCK_MODEL,
        max_output_tokens=profile.settings.max_output_tokens,
    )


def prompt_json(prompt: SessionPrompt, parts: Sequence[PromptPart] = ()) -> str:
    """`prompt` as it is stored, with the source and length of the `parts` that it was made of."""
    return json_text(
        {
            "system": prompt.system,
            "model": prompt.model,
            "max_output_tokens": prompt.max_output_tokens,
            "tools": [
                {"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in prompt.tools
            ],
            "parts": [{"source": part.source, "characters": len(part.text)} for part in parts],
        }
    )


def prompt_from_json(text: str) -> SessionPrompt:
    """The inverse of `prompt_json`. Key order is kept."""
    data = json.loads(text)
    return SessionPrompt(
        system=data["system"],
        model=data["model"],
        max_output_tokens=data["max_output_tokens"],
        tools=tuple(ToolSpec(**tool) for tool in data["tools"]),
    )


def parts_from_json(text: str) -> list[PromptPart]:
    """The parts of a stored prompt; joined they are its system prompt, to the byte."""
    data = json.loads(text)
    system, rows = data["system"], data.get("parts") or [{"source": WHOLE, "characters": len(data["system"])}]
    ends = list(accumulate(row["characters"] + len(_BETWEEN) for row in rows))
    starts = [0, *ends]
    return [
        PromptPart(row["source"], system[start : end - len(_BETWEEN)])
        for row, start, end in zip(rows, starts, ends, strict=False)
    ]
