"""What a turn needs to know of its session: the frozen prompt, the tools and where it works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from cos.agent.provider import SessionPrompt
    from cos.agent.records import ContextMeter
    from cos.agent.tools import ToolSet


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """Built once per session by the Dispatcher; the same bytes for each of its turns."""

    prompt: SessionPrompt
    tools: ToolSet
    workspace: Path
    platform: str
    """The source of the session (`cli`, `web`, `subagent`), as hooks know it."""
    is_new: bool
    """Whether this is the session's first turn."""
    parent_session_id: UUID | None = None
    meter: ContextMeter | None = None
    """How full the context was when the last turn ended; None = unknown."""
