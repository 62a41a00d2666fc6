"""`kill -9` around a compaction: either nothing has happened, or all of it."""

from __future__ import annotations

import time

import pytest

from tests.api_server import ApiServer, open_text, reply, silence, text, tool, usage
from tests.api_server.server import KEY
from tests.program.fix_program import Program

FULL = usage(300_000)
"""30 % of the model's window."""


@pytest.fixture
def cos(program: Program, api: ApiServer) -> Program:
    program.use_api(api, KEY)
    program.setting("[agent]\ncompact_at = 0.3\n")
    return program


def texts(api: ApiServer, index: int) -> list[str]:
    return [block.get("text", "") for message in api.requests[index].messages for block in message["content"]]


def killed(cos: Program, api: ApiServer, requests: int) -> None:
    """Kill a turn once its model was asked for the `requests`th time."""
    process = cos.start("ask", "look")
    api.wait_for(requests)
    deadline = time.monotonic() + 20
    while cos.rows("SELECT count(*) FROM turns WHERE completed_at IS NULL") != [(1,)]:
        assert time.monotonic() < deadline
    process.kill()
    process.wait()


def test_while_the_summary_is_written_nothing_has_happened(cos: Program, api: ApiServer) -> None:
    step = reply(text("I look."), tool("read_file", {"path": "none"}), usage=FULL)
    api.push(step, reply(open_text("It was a sum"), silence()))
    killed(cos, api, 2)
    assert cos.rows("SELECT role, active FROM messages ORDER BY ordinal") == [
        ("user", True), ("assistant", True), ("tool_result", True),
    ]  # fmt: skip
    api.push(reply(text("They looked.")), reply(text("Fine.")))
    assert cos.run("ask", "go on", "--continue").stdout == "Fine.\n"
    assert [request.refusal for request in api.requests] == [None] * 4
    assert api.requests[2].messages[0] == api.requests[0].messages[0]
    assert "It was a sum" not in str(api.requests[2].messages)
    assert "It was a sum" not in str(cos.rows("SELECT body::text FROM messages"))
    assert cos.rows("SELECT status FROM turns ORDER BY ordinal") == [("interrupted",), ("completed",)]
    (only,) = texts(api, 3)
    assert "They looked." in only and only.endswith("word for word:\n\ngo on")


def test_after_it_the_session_goes_on_from_the_summary(cos: Program, api: ApiServer) -> None:
    step = reply(text("I look."), tool("read_file", {"path": "none"}), usage=FULL)
    api.push(step, reply(text("They looked.")), reply(silence()))
    killed(cos, api, 3)
    assert cos.rows("SELECT active, body->>'origin' FROM messages ORDER BY ordinal") == [
        (False, None), (False, None), (False, None), (True, "compaction"),
    ]  # fmt: skip
    api.push(reply(text("Fine.")))
    assert cos.run("ask", "go on", "--continue").stdout == "Fine.\n"
    assert [request.refusal for request in api.requests] == [None] * 4
    summary, prompt = texts(api, 3)
    assert summary.endswith("word for word:\n\nlook") and prompt == "go on"
    assert cos.rows("SELECT count(*) FROM messages") == [(6,)]
