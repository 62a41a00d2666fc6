"""Which answer of a server becomes which error, in which words."""

import errno
import socket
import ssl
from datetime import UTC, datetime
from typing import Any

import pytest

from cos.agent.provider import ContextTooLong, ProviderAuthError, ProviderError, ProviderRefused, ProviderUnavailable
from cos.agent.providers.anthropic_errors import (
    Endpoint,
    Failure,
    connection_failure,
    retry_after_seconds,
    status_failure,
    stream_failure,
)

AT = Endpoint(url="http://server", model="claude-x", key_source="ANTHROPIC_API_KEY", key="sk-secret")
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SECONDS_TO_2099 = (datetime(2099, 10, 21, 7, 28, tzinfo=UTC) - NOW).total_seconds()


def body(kind: str, message: str = "why", code: str | None = None) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, "details": {"error_code": code}}}


@pytest.mark.parametrize(
    ("status", "answer", "expected", "words"),
    [
        (400, body("invalid_request_error"), ProviderRefused, "the request was refused by http://server: why"),
        (400, body("x", "prompt is too long: 208310 tokens > 200000 maximum"), ContextTooLong, "too long for claude-x"),
        (400, body("x", "input length and `max_tokens` exceed context limit: 9 > 8"), ContextTooLong, "9 > 8"),
        (400, body("x", "exceeds the available context size (4096 tokens)"), ContextTooLong, "4096"),
        (401, body("authentication_error"), ProviderAuthError, "API key from ANTHROPIC_API_KEY was rejected"),
        (402, body("billing_error"), ProviderAuthError, "wants payment"),
        (403, body("permission_error"), ProviderAuthError, "may not use claude-x at http://server"),
        (404, body("not_found_error"), ProviderRefused, "the model claude-x is not known at http://server"),
        (404, {"error": "model not found"}, ProviderRefused, "the model claude-x is not known"),
        (400, {"error": "no such field"}, ProviderRefused, "no such field"),
        (404, None, ProviderRefused, "no Messages API at http://server"),
        (413, body("request_too_large"), ProviderRefused, "larger than the server takes"),
        (413, None, ProviderRefused, "HTTP 413"),
        (422, body("x"), ProviderRefused, "refused"),
        (408, None, ProviderUnavailable, "HTTP 408"),
        (429, body("rate_limit_error"), ProviderUnavailable, "limits the rate"),
        (429, body("x", code="enforced_spend_limit_reached"), ProviderRefused, "spending limit"),
        (500, body("api_error"), ProviderUnavailable, "HTTP 500: why"),
        (502, None, ProviderUnavailable, "HTTP 502"),
        (529, body("overloaded_error"), ProviderUnavailable, "is overloaded"),
    ],
)
def test_status(status: int, answer: Any, expected: type[ProviderError], words: str) -> None:
    error = status_failure(Failure(status=status, body=answer, headers={"request-id": "req_1"}), AT)
    assert type(error) is expected
    assert words in str(error)
    assert (error.status, error.request_id) == (status, "req_1")


@pytest.mark.parametrize(
    ("root", "words"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)"), "Connection refused"),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "Name or service not known"),
        (ssl.SSLCertVerificationError(1, "certificate verify failed"), "certificate verify failed"),
        (ConnectionResetError("Cannot write to closing transport"), "the connection was closed"),
        (TimeoutError(), "Connection timeout to host http://server"),
    ],
)
def test_why_no_answer_came_is_what_the_root_says(root: Exception, words: str) -> None:
    outer = ValueError("outside")
    outer.__cause__ = OSError("Connection timeout to host http://server")
    outer.__cause__.__cause__ = root
    assert words in str(connection_failure(outer, AT))


def test_a_server_that_echoes_the_key_does_not_make_it_visible() -> None:
    error = status_failure(Failure(status=401, body=body("x", "bad key sk-secret\x1b[2J given")), AT)
    assert "sk-secret" not in str(error)
    assert "\x1b" not in str(error)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", ProviderUnavailable),
        ("rate_limit_error", ProviderUnavailable),
        ("api_error", ProviderUnavailable),
        ("an_error_of_the_future", ProviderUnavailable),
        ("invalid_request_error", ProviderRefused),
        ("authentication_error", ProviderAuthError),
    ],
)
def test_an_error_event_is_judged_by_its_type(kind: str, expected: type[ProviderError]) -> None:
    assert type(stream_failure(body(kind), {}, AT)) is expected


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "4294967"}, 4_294_967),
        ({"retry-after": "9", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "9", "retry-after-ms": "soon"}, 9),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30),
        (
            {"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"},
            SECONDS_TO_2099,
        ),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    """H-078. Nothing is capped here."""
    assert retry_after_seconds(headers, NOW) == seconds
