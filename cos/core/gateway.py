"""The way in for a message.

`pre_gateway_dispatch` → profile and session → slash commands → `post_gateway_admission`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from cos.agent.hook_rules import first_action
from cos.agent.identity import NewSession
from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.agent.provider import ProviderAuthError
from cos.agent.tags import merge_tags
from cos.agent.text import title_of
from cos.core.answered import AnsweredCommands
from cos.core.commands import Commands
from cos.core.errors import SessionError
from cos.core.inbound import Accepted, Inbound
from cos.core.live import SessionCreated
from cos.core.pictures import kept_parts
from cos.core.profiles import Profile, profile_named

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.hooks import HookBus
    from cos.agent.journal import Journal
    from cos.agent.provider import Provider
    from cos.core.commands import CommandAnswer
    from cos.core.live import CoreEvent
    from cos.core.postgres.blobs import PostgresBlobs
    from cos.core.postgres.sessions import Sessions
    from cos.core.sessions import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A message that is to reach a model, under the id that it keeps."""

    session: Session
    message_id: UUID
    message: UserMessage


class Gateway:
    """Lets messages in, or tells them what a hook made of them."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        hooks: HookBus,
        journal: Journal,
        sessions: Sessions,
        blobs: PostgresBlobs,
        publish: Callable[[CoreEvent], None],
        providers: Mapping[str, Provider],
    ) -> None:
        self.commands = Commands()
        """The slash commands of this process; whoever composes the core adds to them."""
        self._answered = AnsweredCommands()
        self._profiles = profiles
        self._hooks = hooks
        self._journal = journal
        self._sessions = sessions
        self._blobs = blobs
        self._publish = publish
        self._providers = providers

    async def admit(self, inbound: Inbound, gateway: object) -> Admitted | Accepted:
        """`gateway` is what the hooks know under this name.

        Raises:
            CommandError: it is a slash command that does not exist or cannot do what was asked.
            ProfileError, SessionError, TagError: it names what is not there, or does not belong together.
            ProviderAuthError: it wants a model that cannot be called; nothing was begun.
            DatabaseError: its pictures could not be kept.
        """
        returns = await self._hooks.fire(
            "pre_gateway_dispatch", event=inbound, gateway=gateway, session_store=self._sessions
        )
        action = first_action(returns, frozenset({"skip", "rewrite", "allow"}))
        if action and action["action"] == "skip":
            return Accepted(session_id=None, handled=True)
        if action and action["action"] == "rewrite" and isinstance(action.get("text"), str):
            inbound.text = action["text"]
        session = await self._existing_session(inbound)
        answer = await self._answer(inbound, session)
        if answer is not None and answer.context is None:
            began, session_id = answer.turn_id, inbound.session_id
            return Accepted(session_id=session_id, turn_id=began, handled=began is None, command=answer)
        self.need_model(inbound.profile_id)
        session = session or await self._new_session(inbound)
        message_id = new_id()
        reply = await self._reply(inbound, session, message_id)
        if reply is not None:
            return Accepted(session_id=session.id, handled=True, reply=reply or None)
        parts = [*inbound.parts, *await kept_parts(inbound.pictures, session.profile_id, self._blobs)]
        message = UserMessage(text=inbound.text, parts=parts, context=answer.context if answer else None)
        return Admitted(session=session, message_id=message_id, message=message)

    async def _answer(self, inbound: Inbound, session: Session | None) -> CommandAnswer | None:
        """What comes of the message when it is a slash command."""
        if inbound.client_message_id is None:
            return await self.commands.run(inbound, session)
        key = (inbound.session_id, inbound.client_message_id)
        return await self._answered.once(key, lambda: self.commands.run(inbound, session))

    def need_model(self, profile_id: str) -> None:
        """
        Raises:
            ProviderAuthError: it is known in advance that the profile's model cannot be called.
        """
        missing = self._providers[profile_id].missing()
        if missing:
            raise ProviderAuthError(missing)

    async def _existing_session(self, inbound: Inbound) -> Session | None:
        """The session that the message names; None when it is to begin one."""
        profile = profile_named(self._profiles, inbound.profile_id)
        tags = merge_tags(inbound.tags)
        if inbound.session_id is None:
            return None
        session = await self._sessions.get(inbound.session_id)
        if session.profile_id != profile.id:
            raise SessionError(f"session {session.id} belongs to profile {session.profile_id}, not to {profile.id}")
        if tags:
            raise SessionError(f"session {session.id} exists; tags can only be given with its first message")
        return session

    async def _new_session(self, inbound: Inbound) -> Session:
        """The one that this message began, when it comes again."""
        title = title_of(inbound.text) or f"Session of {datetime.now().astimezone():%Y-%m-%d %H:%M}"
        tags = merge_tags(inbound.tags)
        new = NewSession(
            profile_id=inbound.profile_id,
            source=inbound.source,
            title=title,
            tags=tags,
            client_message_id=inbound.client_message_id,
        )
        session_id = await self._journal.create_session(new)
        self._publish(SessionCreated(session_id=session_id, profile_id=inbound.profile_id, title=title))
        return await self._sessions.get(session_id)

    async def _reply(self, inbound: Inbound, session: Session, message_id: UUID) -> str | None:
        """None when a turn is to run; otherwise the reply of the hook that took the message."""
        returns = await self._hooks.fire(
            "post_gateway_admission",
            session_key=str(session.id),
            platform=inbound.source,
            source={"platform": inbound.source, "profile": session.profile_id},
            message_id=str(message_id),
            text=inbound.text,
        )
        action = first_action(returns, frozenset({"handled"}))
        return None if action is None else str(action.get("reply") or "")
