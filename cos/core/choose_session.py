"""Which session the flags --session and --continue mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.core.errors import SessionError

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.postgres.sessions import Sessions


async def chosen_session(
    sessions: Sessions, wanted: str | None, *, resume: bool, profile_id: str | None
) -> UUID | None:
    """The session to go on in; None = a new one. `resume` takes the newest of the profile, or of all when None.

    Raises:
        SessionError: there is no such session.
    """
    if wanted is not None:
        return await sessions.find(wanted)
    if not resume:
        return None
    latest = await sessions.latest(profile_id)
    if latest is None:
        whose = f"profile {profile_id} has" if profile_id else "there is"
        raise SessionError(f"{whose} no session to continue; leave --continue out to begin one")
    return latest
