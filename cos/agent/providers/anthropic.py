"""The Anthropic Messages API, and every server that speaks it.

The SDK is imported off the event loop when the first request (or `prepare`) needs it: it costs more start time than the
rest of cos. Only the SDK's transport is used: events are read raw, so that blocks are kept exactly as sent.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cos.agent import garbage
from cos.agent.provider import ModelChunk, ModelReply, ModelRequest, ProviderError, ProviderRefused, ProviderUnavailable
from cos.agent.providers import anthropic_errors as errors
from cos.agent.providers import anthropic_models
from cos.agent.providers.anthropic_stream import ReplyBuilder
from cos.agent.providers.anthropic_wire import Thinking, request_body

if TYPE_CHECKING:
    from types import ModuleType

    import anthropic
    import httpx2

Auth = Literal["bearer", "x-api-key"]

DEFAULT_BASE_URL = "https://api.anthropic.com"
_END_SECONDS = 0.25
"""How long the end of a complete answer may take before its connection is given up instead of kept for the next."""


@dataclass(frozen=True, slots=True)
class _Sdk:
    anthropic: Any
    httpx2: Any
    urllib: Any

    @classmethod
    def load(cls) -> _Sdk:
        with garbage.importing():
            modules: list[ModuleType] = [
                importlib.import_module(name) for name in ("anthropic", "httpx2", "urllib.request")
            ]
        return cls(*modules)

    def proxy_of(self, url: str) -> str:
        """The proxy that the environment names for `url`; empty when there is none."""
        scheme, _, rest = url.partition("://")
        named: dict[str, str] = self.urllib.getproxies()
        proxy = named.get(scheme) or named.get("all") or ""
        return "" if self.urllib.proxy_bypass(rest.partition("/")[0]) else proxy


@contextmanager
def _port_errors(sdk: _Sdk, at: errors.Endpoint, silence_seconds: float) -> Iterator[None]:
    """The one place where failures of the SDK and its transport become errors of the port."""
    try:
        yield
    except ProviderError:
        raise
    except sdk.anthropic.APIStatusError as error:
        failure = errors.Failure(status=error.status_code, body=error.body, headers=error.response.headers)
        raise errors.status_failure(failure, at) from error
    except sdk.anthropic.APITimeoutError as error:
        if isinstance(error.__cause__, sdk.httpx2.ConnectTimeout):
            raise errors.connection_failure(error, at) from error
        raise errors.silence(silence_seconds, at) from error
    except sdk.httpx2.ReadTimeout as error:
        raise errors.silence(silence_seconds, at) from error
    except sdk.anthropic.AnthropicError as error:
        raise errors.connection_failure(error, at) from error
    # Bad JSON, bad UTF-8 and events out of order are ValueErrors; JSON nested beyond reason is a RecursionError.
    except (sdk.httpx2.HTTPError, sdk.httpx2.StreamError, ValueError, RecursionError, OSError) as error:
        raise errors.broken_stream(error, at) from error


class AnthropicStream:
    """A ModelStream over one open HTTP response."""

    def __init__(self, sdk: _Sdk, response: httpx2.Response, at: errors.Endpoint, silence_seconds: float) -> None:
        self._sdk = sdk
        self._response = response
        self._at = at
        self._silence_seconds = silence_seconds
        self._builder = ReplyBuilder()
        self._events = sdk.anthropic.AsyncStream.raw_events(response)

    def reply(self) -> ModelReply:
        return self._builder.reply()

    async def __aiter__(self) -> AsyncIterator[ModelChunk]:
        while not self._builder.is_complete:
            with _port_errors(self._sdk, self._at, self._silence_seconds):
                chunks = self._builder.feed(await self._next_event())
            for chunk in chunks:
                yield chunk
        await self._finish()

    async def close(self) -> None:
        await self._events.aclose()

    async def _next_event(self) -> dict[str, Any]:
        async for event in self._events:
            if not event.data:
                continue
            data = json.loads(event.data)
            if not isinstance(data, dict):
                raise ValueError(f"an event that is no object: {event.data[:80]}")
            if "error" in (event.event, data.get("type")):
                raise errors.stream_failure(data, self._response.headers, self._at)
            return data
        raise ProviderUnavailable(f"the answer of {self._at.url} ended before it was complete")

    async def _finish(self) -> None:
        """Read on to the end of the response: only then can the next request use the same connection."""
        with suppress(TimeoutError, self._sdk.httpx2.HTTPError, ValueError):
            async with asyncio.timeout(_END_SECONDS):
                async for _ in self._events:
                    pass


@dataclass(kw_only=True, eq=False)
class AnthropicProvider:
    """`Provider` for one endpoint and one key."""

    api_key: str = field(repr=False)
    key_source: str
    """Where the key came from, for the words of an error: `ANTHROPIC_API_KEY`."""
    base_url: str | None = None
    """The server's root. None = Anthropic's own; the environment is not asked."""
    auth: Auth = "bearer"
    thinking: Thinking | None = None
    """See `request_body`."""
    prompt_caching: bool = True
    silence_seconds: float = 90
    """The longest gap between two bytes of an answer; the server's pings count as bytes."""
    connect_seconds: float = 5
    name: str = field(default="anthropic", init=False)
    _sdk: _Sdk | None = field(default=None, init=False, repr=False)
    _client: anthropic.AsyncAnthropic | None = field(default=None, init=False, repr=False)
    _preparing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        # Other clients want the path of the API in the address; the SDK adds it itself.
        self._url = (self.base_url or DEFAULT_BASE_URL).rstrip("/").removesuffix("/v1")

    async def prepare(self) -> None:
        """Import the SDK and make the client, off the event loop. `stream` does it when nobody did before."""
        await self._ready()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AnthropicStream]:
        """See `Provider.stream`."""
        sdk, client = await self._ready()
        at = self._endpoint(request.prompt.model, sdk.proxy_of(self._url))
        body = request_body(request, thinking=self.thinking, prompt_caching=self.prompt_caching)
        with _port_errors(sdk, at, self.silence_seconds):
            opened = await _post(client, body, sdk.anthropic.AsyncStream[object])
        async with opened:
            _check_is_event_stream(opened.response, at)
            stream = AnthropicStream(sdk, opened.response, at, self.silence_seconds)
            try:
                yield stream
            finally:
                await stream.close()

    def context_window(self, model: str) -> int | None:
        return anthropic_models.context_window(model)

    def known_models(self) -> tuple[str, ...]:
        """Of another server nothing is known."""
        return anthropic_models.KNOWN if self._url == DEFAULT_BASE_URL else ()

    def takes_images(self, model: str) -> bool:
        return anthropic_models.takes_images(model)

    def missing(self) -> str:
        return ""

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _ready(self) -> tuple[_Sdk, anthropic.AsyncAnthropic]:
        async with self._preparing:
            if self._sdk is None:
                self._sdk = await asyncio.to_thread(_Sdk.load)
            if self._client is None:
                self._client = await asyncio.to_thread(self._new_client, self._sdk)
            return self._sdk, self._client

    def _new_client(self, sdk: _Sdk) -> anthropic.AsyncAnthropic:
        if not self._url.startswith(("http://", "https://")):
            raise ProviderRefused(f"{self._url} has no http:// or https://: check `base_url` in the profile")
        if sdk.proxy_of(self._url).startswith("socks"):
            raise ProviderRefused(
                f"the environment names a SOCKS proxy for {self._url} (ALL_PROXY, HTTPS_PROXY or HTTP_PROXY), and cos "
                "can only use HTTP ones: name one of those, or add the host to NO_PROXY"
            )
        headers: dict[str, Any] = {}
        if self.auth == "x-api-key":
            headers = {"x-api-key": self.api_key, "Authorization": sdk.anthropic.omit}
        try:
            client: anthropic.AsyncAnthropic = sdk.anthropic.AsyncAnthropic(
                api_key=self.api_key,
                base_url=self._url,
                default_headers=headers,
                max_retries=0,
                timeout=sdk.anthropic.Timeout(self.silence_seconds, connect=self.connect_seconds),
                # It reads a stream in less than half the time that the SDK's own default takes.
                http_client=sdk.anthropic.DefaultAioHttpClient(),
            )
        except sdk.httpx2.InvalidURL as error:
            raise ProviderRefused(
                f"{self._url} is not an address ({error}): check `base_url` in the profile"
            ) from error
        return client

    def _endpoint(self, model: str, proxy: str) -> errors.Endpoint:
        return errors.Endpoint(url=self._url, model=model, key_source=self.key_source, key=self.api_key, proxy=proxy)


async def _post(client: anthropic.AsyncAnthropic, body: dict[str, Any], stream_cls: Any) -> Any:
    """Sent as a bare request: the typed method warns about models and may reorder what it is given."""
    try:
        return await client.post("/v1/messages", cast_to=object, body=body, stream=True, stream_cls=stream_cls)
    except (ValueError, RecursionError) as error:
        raise ProviderRefused(f"the request cannot be written as JSON ({error})") from error


def _check_is_event_stream(response: httpx2.Response, at: errors.Endpoint) -> None:
    kind = response.headers.get("content-type", "")
    if not kind.startswith("text/event-stream"):
        raise ProviderRefused(
            f"{at.url} answered with {at.quoted(kind) or 'no content type'} instead of a stream of events: "
            "check `base_url` in the profile, or that this server can stream",
            status=response.status_code,
            request_id=response.headers.get("request-id"),
        )
