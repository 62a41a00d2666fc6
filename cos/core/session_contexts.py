"""What a turn knows of its session: the prompt, frozen at the first turn, the tools and the folder."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.session_context import SessionContext
from cos.core.frozen import build_prompt, prompt_from_json, prompt_json, prompt_parts
from cos.core.profiles import open_workspace

if TYPE_CHECKING:
    from cos.agent.tools import ToolSet
    from cos.core.plugins import LoadedPlugins
    from cos.core.postgres.sessions import Sessions
    from cos.core.profiles import Profile
    from cos.core.sessions import Session


class SessionContexts:
    """Freezes what comes before the conversation, once per session, and reads it from there ever after."""

    def __init__(self, sessions: Sessions, plugins: LoadedPlugins) -> None:
        self._sessions = sessions
        self._plugins = plugins

    async def of(self, session: Session, profile: Profile, tools: ToolSet) -> SessionContext:
        """
        Raises:
            CosError: the profile's folder cannot be opened, or a plugin has no context to give.
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

    async def _freeze(self, session: Session, profile: Profile, tools: ToolSet, workspace: Path) -> str:
        contexts = await self._plugins.context_for(session.profile_id)
        today = datetime.now(UTC).astimezone().date()
        parts = prompt_parts(profile.soul, workspace, "", contexts, today)
        stored_form = prompt_json(build_prompt(profile, tools, parts), parts)
        await self._sessions.freeze_prompt(session.id, stored_form, str(workspace))
        stored = (await self._sessions.get(session.id)).frozen_prompt
        assert stored is not None
        return stored
