"""Which session the flags --session and --continue mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.core.errors import SessionError

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.postgres.sessions import Sessions


async def chosen_session(sessions: Sessions, wanted: str | None, *, resume: bool, profile_id: str) -> UUID | None:
    """The session to go on in; None = a new one.

    Raises:
        SessionError: there is no such session.
    """
    if wanted is not None:
        return await sessions.find(wanted)
    if not resume:
        return None
    latest = await sessions.latest(profile_id)
    if latest is None:
        raise SessionError(f"profile {profile_id} has no session to continue; leave --continue out to begin one")
    return latest
