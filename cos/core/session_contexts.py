"""What a turn knows of its session: the prompt, frozen at the first turn, the tools and the folder."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.session_context import SessionContext
from cos.core.frozen import PromptPart, build_prompt, prompt_from_json, prompt_json, prompt_parts
from cos.core.profiles import open_workspace, read_soul
from cos.core.skills.shelf import VIEW, skills_index

if TYPE_CHECKING:
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
        prompt = prompt_from_json(session.frozen_prompt or await self._freeze(session, profile, tools, workspace))
        return SessionContext(
            prompt=replace(prompt, model=session.model or prompt.model),
            tools=tools,
            workspace=workspace,
            platform=session.source,
            is_new=not session.has_turns,
            parent_session_id=session.parent_session_id,
            meter=session.context,
        )

    async def parts(self, profile: Profile, tools: ToolSet, workspace: Path) -> list[PromptPart]:
        """The system prompt that a session would get if it began now.

        Raises:
            CosError: SOUL.md cannot be read, or a plugin has no context to give.
        """
        soul = await asyncio.to_thread(read_soul, profile.folder)
        # A model that cannot read skills is not told of them.
        skills = skills_index(await self._skills.read(profile.id)) if tools.get(VIEW) else ""
        contexts = await self._plugins.context_for(profile.id)
        return prompt_parts(soul, workspace, skills, contexts, datetime.now(UTC).astimezone().date())

    async def _freeze(self, session: Session, profile: Profile, tools: ToolSet, workspace: Path) -> str:
        parts = await self.parts(profile, tools, workspace)
        stored = prompt_json(build_prompt(profile, tools, parts), parts)
        await self._sessions.freeze_prompt(session.id, stored, str(workspace))
        frozen = (await self._sessions.get(session.id)).frozen_prompt
        assert frozen is not None
        return frozen
