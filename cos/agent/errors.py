"""The agent's errors, grouped by who can act.

CosError
├── TagError            the user: a tag breaks the `key:value` rule
├── IdentityError       the user: a session or turn that does not fit its profile
├── TurnBusyError       the user: the session has an open turn already
├── AlreadyAcceptedError  nobody: the same message was handed in twice, and runs once
├── NotWaitingError     the user: the message has left the queue, or was changed, in the meantime
├── TurnCancelled       nobody: the turn was stopped on purpose
├── TurnStopped         the user: a plugin does not let the next model call out
└── ProviderError       the provider: see `cos.agent.provider`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID


class CosError(Exception):
    """A failure with a sentence for the user: what happened, with which value, and what to do next."""


class TagError(CosError):
    """A tag that is not `key:value`."""


class IdentityError(CosError):
    """A session or turn that does not belong where it was used."""


class TurnBusyError(CosError):
    """The session has an open turn; a second one must wait in the queue."""

    def __init__(self, session_id: UUID) -> None:
        super().__init__(f"session {session_id} has a running turn already; send the message again when it has ended")
        self.session_id = session_id


class AlreadyAcceptedError(CosError):
    """The message has its turn already; it is not run again."""


class NotWaitingError(CosError):
    """The message does not wait in the queue any more, or not with these words."""


class TurnCancelled(CosError):
    """The turn's cancellation token was set. `reason` says by whom or why."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the turn was cancelled: {reason}")
        self.reason = reason


class TurnStopped(CosError):
    """A plugin stopped the turn before a model call. The message says why and how to go on."""

    def __init__(self, message: str, *, stop_reason: str) -> None:
        super().__init__(message)
        self.stop_reason = stop_reason
        """One word for programs, such as `budget`."""
