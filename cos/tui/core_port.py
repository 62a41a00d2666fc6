"""What the app uses of the core. The command line hands in an object that fits; the app builds nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cos.core.surface_port import SurfaceCore

if TYPE_CHECKING:
    from cos.core.postgres.session_search import SessionSearch
    from cos.core.postgres.session_text import SessionText
    from cos.tui.drafts import DraftStore
    from cos.tui.prompt_history import PromptSource
    from cos.tui.queue_control import WaitingQueue
    from cos.tui.session_editing import SessionEditing


class CorePort(SurfaceCore, Protocol):
    """The running core."""

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
    def reduced_motion(self) -> bool: ...

    async def findings(self) -> list[str]:
        """What is not as it should be, as sentences for the user."""
        ...

    async def broken_rules(self) -> list[str]:
        """Those of the findings that may come while cos runs: rules of a profile's file that cannot be used."""
        ...

    def hurry(self) -> None:
        """The program ends: from now on the database is waited for some seconds only."""
        ...

    async def close(self) -> None: ...
