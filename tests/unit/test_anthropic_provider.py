"""The provider with the real SDK against a server that speaks HTTP: what arrives, what breaks, and how it ends."""

import asyncio
import importlib.metadata
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cos.agent.events import Usage
from cos.agent.messages import Message
from cos.agent.provider import (
    ContextTooLong,
    ModelReply,
    ModelRequest,
    Provider,
    ProviderAuthError,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    TextChunk,
    ThinkingChunk,
)
from cos.agent.providers.anthropic import AnthropicProvider
from cos.agent.providers.anthropic_wire import without_thinking
from tests.api_server import (
    ApiServer,
    Reply,
    chunk,
    drop,
    end,
    error_event,
    event,
    fin,
    html_error,
    http_error,
    open_text,
    open_thinking,
    open_tool,
    ping,
    pings_for_ever,
    plain_json,
    redacted,
    reply,
    silence,
    text,
    thinking,
    tool,
    usage,
)
from tests.api_server.server import KEY
from tests.unit.conversations import as_message, ask, request, result, user


@pytest.fixture
async def provider(api: ApiServer) -> AsyncIterator[AnthropicProvider]:
    made = AnthropicProvider(api_key=KEY, key_source="ANTHROPIC_API_KEY", base_url=api.url)
    yield made
    await made.close()


def as_port(provider: AnthropicProvider) -> Provider:
    """A static proof that it fits."""
    return provider


async def broken(provider: Provider, asked: ModelRequest) -> tuple[ProviderError, ModelReply]:
    """The error that the stream ends in, and what had arrived."""
    async with provider.stream(asked) as stream:
        with pytest.raises(ProviderError) as caught:
            async for _ in stream:
                pass
        return caught.value, stream.reply()


async def test_a_whole_reply(api: ApiServer, provider: AnthropicProvider) -> None:
    figures = usage(10, 20, cache_read=30, cache_5m=4, cache_1h=5)
    steps = (thinking("hm"), ping(), redacted("opaque"), text("I look."), tool("terminal", {"command": "ls"}, id="t1"))
    api.push(reply(*steps, event("of_the_future", x=1), usage=figures, model="claude-sonnet-5-5-dated"))
    got = await ask(provider, request())
    assert got.text == "I look."
    assert [(call.id, call.name, call.args) for call in got.calls] == [("t1", "terminal", {"command": "ls"})]
    assert [block["type"] for block in got.blocks] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert (got.stop_reason, got.is_complete, got.model) == ("tool_use", True, "claude-sonnet-5-5-dated")
    assert got.usage == Usage(
        input_tokens=10, output_tokens=20, cache_read_tokens=30, cache_write_5m_tokens=4, cache_write_1h_tokens=5
    )


async def test_text_is_streamed_as_it_comes(api: ApiServer, provider: AnthropicProvider) -> None:
    api.push(reply(thinking("hmmm"), text("Hello there", pieces=4)))
    async with provider.stream(request()) as stream:
        chunks = [item async for item in stream]
    assert [item.text for item in chunks if isinstance(item, TextChunk)] == ["Hel", "lo ", "the", "re"]
    assert "".join(item.text for item in chunks if isinstance(item, ThinkingChunk)) == "hmmm"


async def test_calls_in_a_row_use_one_connection(api: ApiServer, provider: AnthropicProvider) -> None:
    api.push(*[reply(text("x"))] * 3)
    for _ in range(3):
        await ask(provider, request())
    assert api.connections == 1


def test_trap_1_the_installed_sdk_is_one_that_cos_was_written_for() -> None:
    major, minor, *_ = importlib.metadata.version("anthropic").split(".")
    assert (int(major), int(minor) >= 10) == (2, True)


@pytest.mark.parametrize(("auth", "header"), [("bearer", "authorization"), ("x-api-key", "x-api-key")])
async def test_trap_2_the_key_goes_only_where_the_server_looks(api: ApiServer, auth: Any, header: str) -> None:
    api.auth = frozenset({auth})
    api.push(reply(text("x")))
    provider = AnthropicProvider(api_key=KEY, key_source="K", base_url=api.url + "/v1/", auth=auth)
    await ask(provider, request())
    headers = api.requests[0].headers
    assert [name for name, value in headers.items() if KEY in value] == [header]
    assert headers["anthropic-version"] == "2026-10-21"
    await provider.close()


BREAKS: dict[str, Reply] = {
    "reset": reply(open_text("First I will"), drop()),
    "fin_in_mid_chunk": reply(open_text("First I will"), fin()),
    "clean_end": reply(open_text("First I will"), end()),
    "bad_json": reply(open_text("First I will"), chunk(b'{"type": "content_block_del')),
    "bad_utf8": reply(open_text("First I will"), chunk(b'{"x": "\xff"}')),
    "no_object": reply(open_text("First I will"), chunk(b"[]")),
    "deep_json": reply(open_text("First I will"), chunk(b'{"x":' + b"[" * 200_000)),
    "out_of_order": reply(open_text("First I will"), event("content_block_stop", index=7)),
    "overloaded": reply(open_text("First I will"), error_event("overloaded_error")),
}


@pytest.mark.parametrize("how", BREAKS)
async def test_traps_3_and_4_a_broken_stream_is_unavailable_and_keeps_what_came(
    api: ApiServer, provider: AnthropicProvider, how: str
) -> None:
    """H-074: never a finished answer."""
    api.push(BREAKS[how])
    error, got = await broken(provider, request())
    assert isinstance(error, ProviderUnavailable)
    assert api.url in str(error)
    assert (got.text, got.stop_reason, got.is_complete) == ("First I will", None, False)


@pytest.mark.parametrize("how", [drop(), fin(), end()])
@pytest.mark.parametrize("has_start", [True, False])
async def test_a_stream_that_breaks_before_its_first_character(
    api: ApiServer, provider: AnthropicProvider, how: Any, has_start: bool
) -> None:
    """H-074, three times in a row, and then the same provider works."""
    api.push(*[reply(how, has_start=has_start)] * 3, reply(text("Hello")))
    for _ in range(3):
        error, got = await broken(provider, request())
        assert isinstance(error, ProviderUnavailable)
        assert (got.text, got.blocks, got.is_complete) == ("", (), False)
    assert (await ask(provider, request())).text == "Hello"


async def test_a_silent_stream_ends_after_the_time_limit(api: ApiServer) -> None:
    """H-073."""
    provider = AnthropicProvider(api_key=KEY, key_source="K", base_url=api.url, silence_seconds=0.3)
    api.push(reply(open_text("First"), silence()))
    error, got = await broken(provider, request())
    assert "sent nothing for 0.3 seconds" in str(error)
    assert got.text == "First"
    assert (await api.over(0)).client_left
    await provider.close()


async def test_pings_count_as_bytes_and_yield_nothing(api: ApiServer) -> None:
    """H-073: the longer limit on pings alone is the loop's."""
    provider = AnthropicProvider(api_key=KEY, key_source="K", base_url=api.url, silence_seconds=0.5)
    api.push(reply(text("First"), pings_for_ever(0.05)))
    came = []
    async with provider.stream(request()) as stream:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                async for item in stream:
                    came.append(item)
    assert len(came) == 6
    assert (await api.over(0)).client_left
    await provider.close()


@pytest.mark.parametrize(
    ("call", "raw"),
    [
        (open_tool("terminal", '{"command": "rm -rf'), '{"command": "rm -rf'),
        (open_tool("terminal", '{"command": "ls"}'), '{"command": "ls"}'),
        (tool("terminal", '{"command": "ls"'), '{"command": "ls"'),
    ],
    ids=["cut", "whole_but_not_closed", "closed_but_broken"],
)
async def test_trap_5_a_cut_call_has_no_arguments(
    api: ApiServer, provider: AnthropicProvider, call: Any, raw: str
) -> None:
    api.push(reply(text("I look."), call, stop="max_tokens"))
    got = await ask(provider, request())
    assert got.stop_reason == "max_tokens"
    assert [(made.args, made.raw_args) for made in got.calls] == [(None, raw)]


async def converse(provider: Provider, *said: str, strip: bool = False) -> None:
    """A conversation in which every call is answered, sent whole with each request."""
    messages: list[Message] = []
    for words in said:
        messages.append(user(words))
        while True:
            got = await ask(provider, request(*messages))
            messages.append(as_message(got))
            messages += [result(call.id, f"ran {call.args}") for call in got.calls]
            if not got.calls:
                break
        if strip:
            messages = without_thinking(messages)


def conversation() -> list[Reply]:
    return [
        reply(thinking("a"), text("I look."), thinking("b"), tool("terminal", {"b": 1, "a": 2}), tool("terminal", {})),
        reply(thinking(""), redacted("opaque"), text("Done.")),
        reply(thinking("c"), tool("terminal", {"x": [1.5, None]})),
        reply(text("Done again.")),
    ]


async def test_trap_6_a_conversation_with_thinking_only_grows(api: ApiServer, provider: AnthropicProvider) -> None:
    """The server refuses a thinking block that changed or whose prefix changed."""
    api.push(*conversation())
    await converse(provider, "one", "two")
    assert [made.refusal for made in api.requests] == [None] * 4
    for before, after in zip(api.requests, api.requests[1:], strict=False):
        earlier, later = json.dumps(before.messages), json.dumps(after.messages)
        assert later.startswith(earlier.removesuffix("]}]"))
        assert (before.body["system"], before.body["tools"]) == (after.body["system"], after.body["tools"])


async def test_trap_6_a_changed_prefix_is_refused_unless_thinking_is_stripped(
    api: ApiServer, provider: AnthropicProvider
) -> None:
    api.push(reply(thinking("a"), text("Hello")), reply(text("Bye")))
    history: list[Message] = [user("one"), as_message(await ask(provider, request(user("one")))), user("two")]
    edited = [user("ONE"), *history[1:]]
    with pytest.raises(ProviderRefused, match="bound to a different conversation"):
        await ask(provider, request(*edited))
    assert (await ask(provider, request(*without_thinking(edited)))).text == "Bye"


@pytest.mark.parametrize("cut", [open_text("I wi"), open_thinking("hm"), open_tool("terminal", '{"com')])
async def test_a_partial_reply_in_the_history_does_not_brick_the_session(
    api: ApiServer, provider: AnthropicProvider, cut: Any
) -> None:
    api.push(reply(thinking("a"), text("x"), thinking("b"), cut, drop()), reply(text("ok")))
    _, got = await broken(provider, request())
    kept = [call for call in got.calls if call.args is not None]
    assert kept == []
    partial = as_message(got).model_copy(update={"tool_calls": []})
    assert (await ask(provider, request(user("hi"), partial, user("go on")))).text == "ok"


async def test_trap_7_the_newest_models_are_asked_for_summaries(api: ApiServer, provider: AnthropicProvider) -> None:
    api.push(reply(text("x")))
    await ask(provider, request(model="claude-opus-5-5"))
    assert api.requests[0].body["thinking"] == {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize("module", ["anthropic", "mock", "scripted"])
def test_trap_8_the_provider_modules_import_neither_sdk_nor_transport(module: str) -> None:
    check = f"import sys, cos.agent.providers.{module}; print({{'anthropic', 'httpx2'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


async def test_trap_8_prepare_makes_the_first_request_ready(api: ApiServer, provider: AnthropicProvider) -> None:
    await asyncio.gather(provider.prepare(), provider.prepare())
    api.push(reply(text("x")))
    assert (await ask(provider, request())).text == "x"


@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_trap_9_nothing_is_retried_or_waited_for_here(
    api: ApiServer, provider: AnthropicProvider, status: int
) -> None:
    """H-078."""
    api.push(http_error(status, "x_error", headers={"retry-after": "4294967"}))
    with pytest.raises(ProviderUnavailable) as caught:
        await ask(provider, request())
    assert (caught.value.status, caught.value.retry_after_seconds) == (status, 4_294_967)
    assert caught.value.request_id == "req_0"
    assert len(api.requests) == 1


async def test_trap_10_the_kinds_of_cached_tokens_stay_apart(api: ApiServer, provider: AnthropicProvider) -> None:
    """Each kind has its own price for each model, so nothing may be folded into another; H-029 repeats the figures."""
    api.push(reply(text("x"), usage=usage(1, 412, cache_read=20, cache_5m=300, cache_1h=4000), final_events=5))
    got = await ask(provider, request())
    assert got.usage.prompt_tokens == 4321
    assert got.usage.output_tokens == 412


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (http_error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), ContextTooLong),
        (http_error(403, "permission_error"), ProviderAuthError),
        (http_error(413, "request_too_large"), ProviderRefused),
        (http_error(429, "rate_limit_error", error_code="enforced_spend_limit_reached"), ProviderRefused),
        (html_error(502), ProviderUnavailable),
        (html_error(404), ProviderRefused),
        (html_error(200), ProviderRefused),
        (plain_json({"type": "message", "content": []}), ProviderRefused),
        (reply(error_event("invalid_request_error")), ProviderRefused),
    ],
)
async def test_answers_that_are_no_stream(
    api: ApiServer, provider: AnthropicProvider, answer: Reply, expected: type[ProviderError]
) -> None:
    api.push(answer)
    with pytest.raises(ProviderError) as caught:
        await ask(provider, request())
    assert type(caught.value) is expected
    assert "<html" not in str(caught.value)


@pytest.mark.parametrize("auth", ["bearer", "x-api-key"])
async def test_a_rejected_key_is_named_by_its_source_and_never_shown(
    api: ApiServer, auth: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """H-098."""
    caplog.set_level(logging.DEBUG)
    wrong = "sk-ant-wrong-98765"
    provider = AnthropicProvider(api_key=wrong, key_source="ANTHROPIC_API_KEY", base_url=api.url, auth=auth)
    with pytest.raises(ProviderAuthError, match="the API key from ANTHROPIC_API_KEY was rejected") as caught:
        await ask(provider, request())
    for shown in (str(caught.value), repr(caught.value), repr(provider), caplog.text):
        assert wrong not in shown
    await provider.close()


async def test_an_unknown_model_is_named_with_its_server(api: ApiServer, provider: AnthropicProvider) -> None:
    with pytest.raises(ProviderRefused, match=f"the model claude-nope is not known at {api.url}"):
        await ask(provider, request(model="claude-nope"))


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("http://127.0.0.1:9", ProviderUnavailable),
        ("http://no-such-host.invalid", ProviderUnavailable),
        ("localhost:11434", ProviderRefused),
        ("http://[::1", ProviderRefused),
    ],
)
async def test_an_address_where_nobody_answers(base_url: str, expected: type[ProviderError]) -> None:
    provider = AnthropicProvider(api_key=KEY, key_source="K", base_url=base_url)
    with pytest.raises(ProviderError, match=base_url.replace("[", r"\[")) as caught:
        await ask(provider, request())
    assert type(caught.value) is expected
    await provider.close()


async def test_why_nobody_answers_is_said_in_plain_words() -> None:
    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()

    provider = AnthropicProvider(api_key=KEY, key_source="K", base_url="http://127.0.0.1:9")
    with pytest.raises(ProviderUnavailable) as caught:
        await ask(provider, request())
    assert str(caught.value) == "no answer from http://127.0.0.1:9 (Connection refused)"
    await provider.close()
    async with await asyncio.start_server(leave, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        provider = AnthropicProvider(api_key=KEY, key_source="K", base_url=url)
        with pytest.raises(ProviderUnavailable, match=f"no answer from {url} .Bad status line: .*POST"):
            await ask(provider, request())
        await provider.close()


async def test_an_http_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.close()

    async with await asyncio.start_server(proxy, "127.0.0.1", 0) as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        provider = AnthropicProvider(api_key=KEY, key_source="K", base_url="http://far.invalid")
        with pytest.raises(ProviderUnavailable):
            await ask(provider, request())
        await provider.close()
    assert asked[0].startswith(b"POST http://far.invalid/v1/messages ")


async def test_a_proxy_that_does_not_answer_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://me:secret@127.0.0.1:9")
    provider = AnthropicProvider(api_key=KEY, key_source="K", base_url="http://far.invalid")
    with pytest.raises(ProviderUnavailable, match=r"through the proxy 127\.0\.0\.1:9 of the environment") as caught:
        await ask(provider, request())
    await provider.close()
    assert "secret" not in str(caught.value)


async def test_a_socks_proxy_is_refused_unless_the_host_needs_none(
    api: ApiServer, provider: AnthropicProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://me:secret@127.0.0.1:9")
    with pytest.raises(ProviderRefused, match="SOCKS") as caught:
        await ask(provider, request())
    assert "secret" not in str(caught.value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    api.push(reply(text("x")))
    assert (await ask(provider, request())).text == "x"


async def test_a_server_that_accepts_and_says_nothing_ends_after_the_time_limit() -> None:
    """H-073, before the first byte."""
    left = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.set()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        provider = AnthropicProvider(api_key=KEY, key_source="K", base_url=url, silence_seconds=0.2)
        with pytest.raises(ProviderUnavailable, match="sent nothing for"):
            await ask(provider, request())
        await left.wait()
        await provider.close()


async def test_text_that_no_server_accepts_is_refused_before_it_is_sent(
    api: ApiServer, provider: AnthropicProvider
) -> None:
    with pytest.raises(ProviderRefused, match="cannot be written"):
        await ask(provider, request(user("\ud800")))
    assert api.requests == []


async def test_leaving_the_context_closes_the_connection_at_once(api: ApiServer, provider: AnthropicProvider) -> None:
    api.push(reply(text("Hello"), silence()))
    async with provider.stream(request()) as stream:
        async for item in stream:
            if isinstance(item, TextChunk):
                break
    assert (await api.over(0)).client_left


@pytest.mark.parametrize("answer", [reply(open_text("First"), silence()), reply(silence(), has_start=False)])
async def test_cancelling_closes_the_connection_and_the_provider_stays_usable(
    api: ApiServer, provider: AnthropicProvider, answer: Reply
) -> None:
    api.push(answer, reply(text("Hello")))
    task = asyncio.ensure_future(ask(provider, request()))
    await api.arrived(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await api.over(0)).client_left
    assert (await ask(provider, request())).text == "Hello"


async def test_the_environment_decides_nothing(
    api: ApiServer, provider: AnthropicProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-env")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "from-env")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    api.push(reply(text("x")))
    await ask(provider, request())
    assert "from-env" not in str(api.requests[0].headers)


def test_the_window_is_known_by_name() -> None:
    provider = AnthropicProvider(api_key="k", key_source="K")
    windows = {name: provider.context_window(name) for name in ("claude-opus-5-5", "claude-haiku-4-5", "llama3")}
    assert windows == {"claude-opus-5-5": 1_000_000, "claude-haiku-4-5": 200_000, "llama3": None}


async def test_another_model_is_sent_no_thinking_of_the_first_which_gets_its_own_back(
    api: ApiServer, provider: AnthropicProvider
) -> None:
    """DESIGN section 6. The server refuses thinking of another model, and thinking whose prefix changed."""
    history: list[Message] = []
    for number, model in enumerate(["claude-sonnet-5-5", "claude-opus-5-5", "claude-sonnet-5-5", "claude-opus-5-5"]):
        api.push(reply(thinking(f"thought {number}"), text(f"answer {number}")))
        history.append(user(f"question {number}"))
        history.append(as_message(await ask(provider, request(*history, model=model)), model))
    sent = [json.dumps(made.messages) for made in api.requests]
    assert [["thought 0" in body, "thought 1" in body] for body in sent[1:]] == [
        [False, False], [True, False], [False, True],
    ]  # fmt: skip
    assert all(f"answer {number}" in sent[3] for number in range(3))
