"""What a turn knows of its session: the prompt, frozen at the first turn, the tools and the folder."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.session_context import SessionContext
from cos.agent.text import storable
from cos.core.frozen import (
    TASK,
    PromptPart,
    build_prompt,
    prompt_from_json,
    prompt_json,
    prompt_parts,
)
from cos.core.profiles import open_workspace, read_soul
from cos.core.skills.shelf import VIEW, skills_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.agent.provider import SessionPrompt
    from cos.agent.tools import ToolSet
    from cos.core.plugins import LoadedPlugins
    from cos.core.postgres.sessions import Sessions
    from cos.core.profiles import Profile
    from cos.core.sessions import Session
    from cos.core.skills.shelf import SkillShelf


class SessionContexts:
    """Freezes what comes before the conversation, once per session, and reads it from there ever after."""

    def __init__(self, sessions: Sessions, plugins: LoadedPlugins, skills: SkillShelf) -> None:
        self._sessions = sessions
        self._plugins = plugins
        self._skills = skills

    async def of(self, session: Session, profile: Profile, tools: ToolSet) -> SessionContext:
        """
        Raises:
            CosError: the profile's folder or files cannot be opened, or a plugin has no context to give.
        """
        workspace = Path(session.cwd) if session.cwd else await asyncio.to_thread(open_workspace, profile)
        frozen = session.frozen_prompt or await self._freeze(session, profile, tools, workspace)
        return _context(session, frozen, tools, workspace)

    async def of_child(
        self, session: Session, profile: Profile, tools: ToolSet, workspace: Path, model: str, instructions: str
    ) -> SessionContext:
        """For a child agent: `instructions` instead of what plugins add, which is for whoever talks to the user.

        Raises:
            CosError: SOUL.md cannot be read, or the prompt could not be kept.
        """
        parts = await self._parts(profile, tools, workspace, [])
        parts.append(PromptPart(TASK, storable(instructions)))
        prompt = replace(build_prompt(profile, tools, parts), model=model)
        frozen = await self._keep(session, prompt, parts, workspace)
        return _context(session, frozen, tools, workspace)

    async def parts(self, profile: Profile, tools: ToolSet, workspace: Path) -> list[PromptPart]:
        """The system prompt that a session would get if it began now.

        Raises:
            CosError: SOUL.md cannot be read, or a plugin has no context to give.
        """
        contexts = await self._plugins.context_for(profile.id)
        return await self._parts(profile, tools, workspace, contexts)

    async def _freeze(self, session: Session, profile: Profile, tools: ToolSet, workspace: Path) -> str:
        parts = await self.parts(profile, tools, workspace)
        return await self._keep(session, build_prompt(profile, tools, parts), parts, workspace)

    async def _parts(
        self, profile: Profile, tools: ToolSet, workspace: Path, contexts: Sequence[tuple[str, str]]
    ) -> list[PromptPart]:
        soul = await asyncio.to_thread(read_soul, profile.folder)
        # A model that cannot read skills is not told of them.
        skills = skills_index(await self._skills.read(profile.id)) if tools.get(VIEW) else ""
        return prompt_parts(soul, workspace, skills, contexts, datetime.now(UTC).astimezone().date())

    async def _keep(self, session: Session, prompt: SessionPrompt, parts: Sequence[PromptPart], workspace: Path) -> str:
        return await self._sessions.freeze_prompt(session.id, prompt_json(prompt, parts), str(workspace))


def _context(session: Session, frozen_prompt: str, tools: ToolSet, workspace: Path) -> SessionContext:
    prompt = prompt_from_json(frozen_prompt)
    return SessionContext(
        prompt=replace(prompt, model=session.model or prompt.model),
        tools=tools,
        workspace=workspace,
        platform=session.source,
        is_new=not session.has_turns,
        parent_session_id=session.parent_session_id,
        meter=session.context,
    )
