"""The frozen context: what comes before a conversation, gathered once at a session's first turn and stored with it.

Later turns send the stored text again, byte for byte. The provider's cache and its bound thinking blocks depend on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from cos.agent.messages import json_text
from cos.agent.provider import SessionPrompt, ToolSpec

if TYPE_CHECKING:
    from pathlib import Path

    from cos.agent.tools import ToolSet
    from cos.core.profiles import Profile

MOCK_MODEL = "mock-1"


def build_prompt(
    profile: Profile, tools: ToolSet, workspace: Path, contexts: Sequence[str], today: date
) -> SessionPrompt:
    """The prompt of a new session: the profile's SOUL.md, where it works, and what plugins add."""
    place = f"You work in the folder {workspace}. This session began on {today.isoformat()}."
    pieces = [profile.soul.strip(), place, *(context.strip() for context in contexts)]
    return SessionPrompt(
        system="\n\n".join(piece for piece in pieces if piece),
        tools=tuple(
            ToolSpec(name=tool.name, description=tool.description, schema=tool.schema) for tool in tools.tools.values()
        ),
        model=profile.settings.model or MOCK_MODEL,
        max_output_tokens=profile.settings.max_output_tokens,
    )


def prompt_json(prompt: SessionPrompt, contexts: Mapping[str, str] | None = None) -> str:
    """`prompt` as it is stored, with the texts in it that came from plugins, by the plugin's name."""
    return json_text(
        {
            "system": prompt.system,
            "model": prompt.model,
            "max_output_tokens": prompt.max_output_tokens,
            "tools": [
                {"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in prompt.tools
            ],
        }
        | ({"contexts": dict(contexts)} if contexts else {})
    )


def prompt_from_json(text: str) -> SessionPrompt:
    """The inverse of `prompt_json`, without the contexts. Key order is kept."""
    data = json.loads(text)
    return SessionPrompt(
        system=data["system"],
        model=data["model"],
        max_output_tokens=data["max_output_tokens"],
        tools=tuple(ToolSpec(**tool) for tool in data["tools"]),
    )
