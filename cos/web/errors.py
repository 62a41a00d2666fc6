"""How a request fails: one error with a code that programs know and a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from cos.agent.errors import CosError
from cos.core.errors import DatabaseError

Code = Literal["bad_request", "unknown_action", "not_found", "conflict", "refused", "unavailable"]
HTTP_STATUS: Final[dict[Code, int]] = {
    "bad_request": 400,
    "unknown_action": 404,
    "not_found": 404,
    "conflict": 409,
    "refused": 400,
    "unavailable": 503,
}


class RequestError(CosError):
    """What the client is told."""

    def __init__(self, code: Code, message: str, more: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code: Code = code
        self.message = message
        self.more = dict(more or {})


def as_request_error(error: CosError) -> RequestError:
    """What a failure of the core means to a client."""
    if isinstance(error, RequestError):
        return error
    return RequestError("unavailable" if isinstance(error, DatabaseError) else "refused", str(error))
