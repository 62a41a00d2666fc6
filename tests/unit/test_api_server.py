"""The test server judged by the real SDK: it must refuse what the real API refuses and play what it is told."""

import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest

from tests.api_server import (
    ApiServer,
    error_event,
    http_error,
    ping,
    redacted,
    reply,
    text,
    thinking,
    tool,
    usage,
)
from tests.api_server.server import KEY
from tests.api_server.validation import request_problem

Json = dict[str, Any]

HELLO: list[Json] = [{"role": "user", "content": "hi"}]
CALL = {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
TOOL = {"name": "ls", "description": "d", "input_schema": {"type": "object"}}
MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.fixture
async def client(api: ApiServer) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=api.url, max_retries=0) as made:
        yield made


async def final(client: anthropic.AsyncAnthropic, messages: Any = HELLO, **more: Any) -> Json:
    """The whole message that the SDK's own helper collects."""
    asked: Json = {"model": "claude-opus-5-5", "max_tokens": 10, "messages": messages, **more}
    async with client.messages.stream(**asked) as stream:
        return (await stream.get_final_message()).to_dict()


async def test_the_sdk_understands_a_whole_reply(api: ApiServer, client: anthropic.AsyncAnthropic) -> None:
    figures = usage(1, 2, cache_read=3, cache_5m=4, cache_1h=5)
    api.push(reply(thinking("hm"), redacted("opaque"), ping(), text("Hi"), tool("ls", {"a": 1}), usage=figures))
    message = await final(client)
    assert message["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig_0_0"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "toolu_0_3", "name": "ls", "input": {"a": 1}},
    ]
    assert message["stop_reason"] == "tool_use"
    assert message["usage"] == {**figures}
    assert (api.requests[0].usage, api.requests[0].is_final_usage) == (figures, True)


async def test_requests_are_recorded_byte_for_byte(api: ApiServer, client: anthropic.AsyncAnthropic) -> None:
    api.push(reply(text("x")))
    await final(client)
    recorded = api.wait_for(1)
    assert json.loads(recorded.raw) == recorded.body
    assert recorded.body["messages"] == HELLO
    assert recorded.headers["authorization"] == f"Bearer {KEY}"
    assert (recorded.refusal, recorded.client_left) == (None, False)


async def test_errors_arrive_as_the_sdk_knows_them(api: ApiServer, client: anthropic.AsyncAnthropic) -> None:
    api.push(http_error(529, "overloaded_error", headers={"retry-after": "3"}), reply(text("x"), error_event()))
    with pytest.raises(anthropic.InternalServerError) as before:
        await final(client)
    assert before.value.response.headers["retry-after"] == "3"
    with pytest.raises(anthropic.APIStatusError) as within:
        await final(client)
    assert within.value.type == "overloaded_error"
    assert not api.requests[1].is_final_usage


async def test_a_missing_reply_fails_loudly(client: anthropic.AsyncAnthropic, api: ApiServer) -> None:
    with pytest.raises(anthropic.BadRequestError, match="no reply is queued for request 0"):
        await final(client)
    api.requests.clear()


@pytest.mark.parametrize(
    ("key", "accepted", "expected"),
    [(KEY, "bearer", None), ("wrong", "bearer", 401), (KEY, "x-api-key", 401)],
)
async def test_the_key_is_checked(api: ApiServer, key: str, accepted: str, expected: int | None) -> None:
    api.auth = frozenset({accepted})
    api.push(reply(text("x")))
    async with anthropic.AsyncAnthropic(api_key=key, base_url=api.url, max_retries=0) as client:
        if expected is None:
            await final(client)
            return
        with pytest.raises(anthropic.AuthenticationError):
            await final(client)
    assert api.unused == 1


async def test_an_unknown_model_is_not_found(api: ApiServer, client: anthropic.AsyncAnthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="model: gpt"):
        await final(client, model="gpt")


async def test_changed_thinking_is_refused(api: ApiServer, client: anthropic.AsyncAnthropic) -> None:
    api.push(reply(thinking("a"), thinking("b"), text("x")))
    content = (await final(client))["content"]
    after = [{"role": "user", "content": "go on"}]

    async def refusal(blocks: list[Json], first: list[Json] = HELLO, **more: Any) -> str:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await final(client, [*first, {"role": "assistant", "content": blocks}, *after], **more)
        return str(caught.value)

    edited = {**content[0], "thinking": "edited"}
    assert "cannot be modified" in await refusal([edited, *content[1:]])
    assert "Invalid `signature`" in await refusal([{**content[0], "signature": "forged"}, *content[1:]])
    assert "bound to a different" in await refusal(content[1:])
    assert "bound to a different" in await refusal(content, [{"role": "user", "content": "ho"}])
    assert "bound to a different" in await refusal(content, system="new")
    assert "bound to a different" in await refusal(content, tools=[TOOL])
    api.push(reply(text("ok")), reply(text("ok")))
    await final(client, [*HELLO, {"role": "assistant", "content": content}, *after])
    await final(client, [*HELLO, {"role": "assistant", "content": content[2:]}, *after])


async def test_older_models_do_not_bind_thinking_to_its_prefix(
    api: ApiServer, client: anthropic.AsyncAnthropic
) -> None:
    api.push(reply(thinking("a"), text("x")), reply(text("ok")))
    content = (await final(client, HELLO, model="claude-opus-4-8"))["content"]
    changed = [{"role": "user", "content": "ho"}, {"role": "assistant", "content": content}, *HELLO]
    assert (await final(client, changed, model="claude-opus-4-8"))["content"][0]["text"] == "ok"


def test_a_valid_request_has_no_problem() -> None:
    conversation = [*HELLO, said(CALL), {"role": "user", "content": [RESULT, {"type": "text", "text": "x", **MARK}]}]
    assert request_problem(body(conversation, tools=[{**TOOL, **MARK}], system="s")) is None


def body(messages: Any = HELLO, **more: Any) -> Json:
    return {"model": "claude-opus-5-5", "max_tokens": 10, "messages": messages, **more}


def said(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def asked(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


WORDS = {"type": "text", "text": "x"}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (body(temperature=1), "temperature: Extra inputs are not permitted"),
        (body(top_k=1), "top_k: Extra inputs are not permitted"),
        ({"model": "m", "messages": HELLO}, "max_tokens: Field required"),
        (body([]), "at least one message is required"),
        (body([said(WORDS), *HELLO]), 'first message must use the "user" role'),
        (body([{"role": "system", "content": "x"}]), "messages.0.role"),
        (body([*HELLO, *HELLO]), "roles must alternate"),
        (body([*HELLO, said(WORDS)]), "does not support assistant message prefill"),
        (body([*HELLO, said(), *HELLO]), "must have non-empty content"),
        (body([asked({"type": "text", "text": ""})]), "text content blocks must be non-empty"),
        (body([asked({"type": "text", "text": " \n"})]), "non-whitespace"),
        (body([asked({"type": "text", "text": "", **MARK})]), "cache_control cannot be set for empty text blocks"),
        (body([asked({**WORDS, "colour": 1})]), "messages.0.content.0.text.colour: Extra inputs are not permitted"),
        (body([asked({"type": "tool_use", **CALL})]), "does not match any of the expected tags"),
        (body([*HELLO, said(CALL), *HELLO]), "`tool_use` ids were found without `tool_result` blocks immediately"),
        (body([*HELLO, said(CALL), asked(WORDS, RESULT)]), "`tool_use` ids were found without `tool_result`"),
        (body([*HELLO, said(CALL), asked(RESULT, RESULT)]), "unexpected `tool_use_id` found in `tool_result` blocks"),
        (body([asked(RESULT)]), "unexpected `tool_use_id` found"),
        (body([*HELLO, said(CALL, CALL), asked(RESULT, RESULT)]), "`tool_use` ids must be unique"),
        (
            body([*HELLO, said(CALL), asked(RESULT), said(CALL), asked(RESULT)]),
            "messages.3.content.0: `tool_use` ids must be unique",
        ),
        (body([*HELLO, said({**CALL, "id": "a:b"}), asked(RESULT)]), "should match pattern '^[a-zA-Z0-9_-]+$'"),
        (body([*HELLO, said({**CALL, "input": None}), asked(RESULT)]), "valid dictionary"),
        (body([*HELLO, said(CALL), asked({**RESULT, "content": "", "is_error": True})]), "content cannot be empty"),
        (body([*HELLO, said(WORDS, {"type": "thinking"}), *HELLO]), "final block in an assistant message"),
        (body([*HELLO, said({"type": "thinking", **MARK}, WORDS), *HELLO]), "thinking.cache_control: Extra inputs"),
        (body(tools=[{**TOOL, "name": "a b"}]), "tools.0.custom.name"),
        (body(tools=[TOOL, TOOL]), "Tool names must be unique"),
        (body(tools=[{**TOOL, "input_schema": {"type": "array"}}]), "input_schema.type: Input should be 'object'"),
        (body(tools=[{**TOOL, "input_schema": {"type": "object", "anyOf": []}}]), "oneOf, allOf, or anyOf"),
        (body(tools=[{**TOOL, "risk": 1}]), "tools.0.custom.risk: Extra inputs"),
        (body(tool_choice={"type": "none"}), "tool_choice may only be specified"),
        (body([asked(*[{**WORDS, **MARK}] * 5)]), "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        (body(system=[{**WORDS, "text": ""}]), "non-empty"),
        (body(thinking={"type": "disabled"}), '"thinking.type.disabled" is not supported for this model.'),
        (body(thinking={"type": "adaptive", "x": 1}), "thinking.adaptive.x: Extra inputs"),
        (body(HELLO, model="claude-haiku-4-5", thinking={"type": "adaptive"}), "not supported on this model"),
        (body([1]), "has not the form"),
        ([], "should be an object"),
    ],
)  # fmt: skip
def test_what_the_real_api_refuses_is_refused_in_its_words(wrong: Any, words: str) -> None:
    assert words in (request_problem(wrong) or "no problem found")


def test_by_hand_it_answers_by_words() -> None:
    with subprocess.Popen([sys.executable, "-m", "tests.api_server"], stdout=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[3]
            client = anthropic.Anthropic(api_key="any", base_url=url, max_retries=0)
            with client:
                message = ask_by_hand(client, "two tools, please")
                assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]
                with pytest.raises(anthropic.APIStatusError):
                    ask_by_hand(client, "529")
                assert ask_by_hand(client, "529").stop_reason == "end_turn"
        finally:
            process.terminate()
            watchdog.cancel()


def ask_by_hand(client: anthropic.Anthropic, words: str) -> anthropic.types.Message:
    asked: Any = {"model": "claude-opus-5-5", "max_tokens": 9, "tools": [TOOL]}
    with client.messages.stream(messages=[{"role": "user", "content": words}], **asked) as stream:
        return stream.get_final_message()
