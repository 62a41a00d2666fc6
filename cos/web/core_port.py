"""What the dashboard uses of the core. The command line hands in an object that fits; the dashboard builds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cos.core.surface_port import SurfaceCore

if TYPE_CHECKING:
    from cos.core.paths import Paths
    from cos.core.postgres.session_turns import SessionTurns
    from cos.core.queue import QueueEditor
    from cos.core.session_edits import SessionEdits


class WebCore(SurfaceCore, Protocol):
    """The running core."""

    @property
    def paths(self) -> Paths: ...

    @property
    def session_turns(self) -> SessionTurns: ...

    @property
    def queue(self) -> QueueEditor: ...

    @property
    def edits(self) -> SessionEdits: ...
