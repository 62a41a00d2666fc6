"""The fixture `api`: a running ApiServer. `api.url` and `KEY` are what a client needs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api_server.server import ApiServer


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """Fails the test when a request found no reply in the queue, for the client under test may have swallowed that."""
    with ApiServer() as server:
        yield server
    starved = [request.refusal for request in server.requests if (request.refusal or "").startswith("api_server:")]
    assert not starved, starved
