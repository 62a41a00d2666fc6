"""What the app uses of the core. The command line hands in an object that fits; the app builds nothing of it."""

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
    from cos.core.postgres.session_search import SessionSearch
    from cos.core.postgres.session_text import SessionText
    from cos.core.postgres.sessions import Sessions
    from cos.core.profiles import Profile
    from cos.tui.drafts import DraftStore
    from cos.tui.prompt_history import PromptSource
    from cos.tui.queue_control import WaitingQueue
    from cos.tui.session_editing import SessionEditing


class CorePort(Protocol):
    """The running core."""

    @property
    def profile(self) -> Profile:
        """The profile to begin with."""
        ...

    @property
    def profiles(self) -> Mapping[str, Profile]: ...

    @property
    def providers(self) -> Mapping[str, Provider]: ...

    @property
    def sessions(self) -> Sessions: ...

    @property
    def queue(self) -> WaitingQueue: ...

    @property
    def drafts(self) -> DraftStore: ...

    @property
    def prompts(self) -> PromptSource: ...

    @property
    def session_text(self) -> SessionText: ...

    @property
    def session_search(self) -> SessionSearch: ...

    @property
    def edits(self) -> SessionEditing: ...

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

    @property
    def reduced_motion(self) -> bool: ...

    async def findings(self) -> list[str]:
        """What is not as it should be, as sentences for the user."""
        ...

    async def broken_rules(self) -> list[str]:
        """Those of the findings that may come while cos runs: rules of a profile's file that cannot be used."""
        ...

    async def close(self) -> None: ...
