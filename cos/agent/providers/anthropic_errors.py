"""Turns every way in which a Messages API call can fail into the port's family of errors.

Neither the SDK nor its transport is imported here (they are slow to import): failures arrive as plain values, and the
provider says which exception is which.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from cos.agent.provider import ContextTooLong, ProviderAuthError, ProviderError, ProviderRefused, ProviderUnavailable
from cos.agent.text import visible

_TOO_LONG = re.compile(
    r"prompt is too long|context (length|window|size|limit)|maximum context|available context", re.IGNORECASE
)
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_RETRIED = frozenset({408, 409, 429})
_SHOWN_CHARACTERS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Who was asked, for the words of an error."""

    url: str
    model: str
    key_source: str
    """Where the key came from, such as `ANTHROPIC_API_KEY`."""
    key: str
    """Only so that a server that echoes it cannot make it visible."""
    proxy: str = ""
    """The one of the environment on the way to `url`, perhaps with a password; empty when there is none."""

    def quoted(self, text: str) -> str:
        """`text` of the server on one line, without the key, cut to a readable length."""
        line = " ".join(visible(text.replace(self.key, "[key]") if self.key else text).split())
        return line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + " ..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error as the API describes it. `body` is the parsed JSON, or None for anything else (HTML of a gateway)."""

    status: int
    body: Any = None
    headers: Mapping[str, str] | None = None

    @property
    def error(self) -> Mapping[str, Any]:
        error = self.body.get("error") if isinstance(self.body, dict) else None
        # Some local servers give the bare words.
        return error if isinstance(error, dict) else {"message": error} if isinstance(error, str) else {}

    @property
    def message(self) -> str:
        message = self.error.get("message")
        return message if isinstance(message, str) else ""

    @property
    def code(self) -> str:
        details = self.error.get("details")
        code = details.get("error_code") if isinstance(details, dict) else None
        return code if isinstance(code, str) else ""

    @property
    def request_id(self) -> str | None:
        found = (self.headers or {}).get("request-id")
        if found is None and isinstance(self.body, dict):
            found = self.body.get("request_id")
        return found if isinstance(found, str) else None


def status_failure(failure: Failure, at: Endpoint) -> ProviderError:
    """The error for an HTTP answer that is not 2xx."""
    status, request_id = failure.status, failure.request_id
    said = f": {at.quoted(failure.message)}" if failure.message else f" (HTTP {status})"
    if status in {401, 402, 403}:
        return ProviderAuthError(_auth_words(status, at) + said, status=status, request_id=request_id)
    if status == 404:
        return ProviderRefused(_not_found_words(failure, at), status=status, request_id=request_id)
    if status in {400, 413, 422} and _TOO_LONG.search(failure.message):
        return ContextTooLong(
            f"the conversation is too long for {at.model}{said}", status=status, request_id=request_id
        )
    if "spend_limit" in failure.code:
        words = f"the spending limit of the API key from {at.key_source} is reached{said}"
        return ProviderRefused(words, status=status, request_id=request_id)
    if status in _RETRIED or status >= 500:
        wish = retry_after_seconds(failure.headers or {}, datetime.now(UTC))
        words = f"{_busy_words(status, at)}{said}"
        return ProviderUnavailable(words, status=status, request_id=request_id, retry_after_seconds=wish)
    words = "the request is larger than the server takes" if status == 413 else "the request was refused"
    return ProviderRefused(f"{words} by {at.url}{said}", status=status, request_id=request_id)


def stream_failure(body: Any, headers: Mapping[str, str], at: Endpoint) -> ProviderError:
    """The error for an `error` event inside a stream, whose HTTP status was 200: its type tells what it is."""
    told = Failure(status=200, body=body, headers=headers)
    status = _STATUS_OF_TYPE.get(str(told.error.get("type")), 500)
    # The headers of the 200 say nothing about waiting.
    return status_failure(Failure(status=status, body=body, headers={"request-id": told.request_id or ""}), at)


def connection_failure(error: Exception, at: Endpoint) -> ProviderUnavailable:
    """No answer came: no route, no such name, refused, no TLS, or closed before the first byte."""
    way = f" through the proxy {at.proxy.rpartition('@')[2]} of the environment" if at.proxy else ""
    return ProviderUnavailable(f"no answer from {at.url}{way} ({at.quoted(_root_words(error))})")


def broken_stream(error: Exception, at: Endpoint) -> ProviderUnavailable:
    """The answer had begun and then its connection or its form broke."""
    return ProviderUnavailable(f"the answer of {at.url} broke off in the middle ({at.quoted(_root_words(error))})")


def _root_words(error: BaseException) -> str:
    """What the first error of the chain says: those around it name classes, hosts and options of the transport."""
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    return next(filter(None, map(_words, reversed(chain))), type(error).__name__)


def _words(error: BaseException) -> str:
    """What one error says; empty when it has no words, as a TimeoutError."""
    if isinstance(error, OSError) and type(error).__module__ != "ssl":  # An SSLError has its own numbers.
        if error.errno is not None and error.errno > 0:
            return os.strerror(error.errno)
        return error.strerror or ("the connection was closed" if isinstance(error, ConnectionError) else str(error))
    message = getattr(error, "message", None)
    return message if isinstance(message, str) else str(error)


def silence(seconds: float, at: Endpoint) -> ProviderUnavailable:
    return ProviderUnavailable(f"{at.url} sent nothing for {seconds:g} seconds")


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the server asks to wait: `retry-after-ms`, else `retry-after` in seconds or as an HTTP date.

    Not capped: the caller decides how long is too long. None when absent, negative, past or unreadable.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    wait = (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
    return wait if wait > 0 else None


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _auth_words(status: int, at: Endpoint) -> str:
    if status == 401:
        return f"the API key from {at.key_source} was rejected by {at.url}"
    if status == 402:
        return f"{at.url} wants payment for the account of the API key from {at.key_source}"
    return f"the API key from {at.key_source} may not use {at.model} at {at.url}"


def _not_found_words(failure: Failure, at: Endpoint) -> str:
    if failure.error:
        return (
            f"the model {at.model} is not known at {at.url}: /model NAME takes another one for this session, `model` "
            "in the profile for all new ones"
        )
    return f"there is no Messages API at {at.url} (HTTP 404): check `base_url` in the profile"


def _busy_words(status: int, at: Endpoint) -> str:
    if status == 429:
        return f"{at.url} limits the rate of requests"
    if status == 529:
        return f"{at.url} is overloaded"
    return f"{at.url} failed with HTTP {status}"
