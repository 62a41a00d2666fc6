"""What every surface uses of the running core. Each adds what it alone needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cos.agent.provider import Provider
    from cos.core.approval_desk import ApprovalDesk
    from cos.core.dispatcher import Dispatcher
    from cos.core.live import LiveFeed
    from cos.core.plugins import LoadedPlugins
    from cos.core.postgres.pulse import Pulse
    from cos.core.postgres.session_list import SessionList
    from cos.core.postgres.sessions import Sessions
    from cos.core.profiles import Profile


class SurfaceCore(Protocol):
    """The running core."""

    @property
    def profile(self) -> Profile:
        """The profile to begin with: of a new session, unless its user names another."""
        ...

    @property
    def profiles(self) -> Mapping[str, Profile]: ...

    @property
    def providers(self) -> Mapping[str, Provider]:
        """By profile."""
        ...

    @property
    def sessions(self) -> Sessions: ...

    @property
    def session_list(self) -> SessionList: ...

    @property
    def pulse(self) -> Pulse: ...

    @property
    def desk(self) -> ApprovalDesk: ...

    @property
    def feed(self) -> LiveFeed: ...

    @property
    def dispatcher(self) -> Dispatcher: ...

    @property
    def plugins(self) -> LoadedPlugins: ...
