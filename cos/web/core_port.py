"""What the dashboard uses of the core. The command line hands in an object that fits; the dashboard builds nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cos.agent.provider import Provider
    from cos.core.approval_desk import ApprovalDesk
    from cos.core.dispatcher import Dispatcher
    from cos.core.live import LiveFeed
    from cos.core.paths import Paths
    from cos.core.plugins import LoadedPlugins
    from cos.core.postgres.pulse import Pulse
    from cos.core.postgres.session_list import SessionList
    from cos.core.postgres.session_turns import SessionTurns
    from cos.core.postgres.sessions import Sessions
    from cos.core.profiles import Profile
    from cos.core.queue import QueueEditor
    from cos.core.session_edits import SessionEdits


class WebCore(Protocol):
    """The running core."""

    @property
    def paths(self) -> Paths: ...

    @property
    def profile(self) -> Profile:
        """The profile of a new session, unless the client names another."""
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
    def session_turns(self) -> SessionTurns: ...

    @property
    def session_list(self) -> SessionList: ...

    @property
    def queue(self) -> QueueEditor: ...

    @property
    def edits(self) -> SessionEdits: ...

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
