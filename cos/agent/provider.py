"""The provider port: one model call as a stream, and the family of errors that such a call can end in.

ProviderError
├── ProviderRefused     400, 404, 413: the request itself is wrong; sending it again changes nothing
├── ProviderAuthError   401, 402, 403: the key is missing, rejected or may not do this
├── ContextTooLong      the prompt does not fit the model's window
└── ProviderUnavailable 429, 5xx, 529, dropped or silent connection: worth another attempt
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from cos.agent.errors import CosError
from cos.agent.events import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from cos.agent.messages import Message

Json = dict[str, Any]


class ProviderError(CosError):
    """A model call that failed. `status` is the HTTP status if there was one, `request_id` the id for support."""

    def __init__(self, message: str, *, status: int | None = None, request_id: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.request_id = request_id


class ProviderRefused(ProviderError):
    """The request is wrong and is not sent again."""


class ProviderAuthError(ProviderError):
    """The credentials are missing, rejected or insufficient."""


class ContextTooLong(ProviderError):
    """The prompt is longer than the model takes."""


class ProviderUnavailable(ProviderError):
    """Worth another attempt. `retry_after_seconds` is the provider's own wish, None when it had none."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        request_id: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message, status=status, request_id=request_id)
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    schema: Json
    """JSON schema of the arguments; its top-level type is object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPrompt:
    """What comes before the conversation and stays the same bytes for the whole session."""

    system: str
    tools: tuple[ToolSpec, ...] = ()
    model: str
    max_output_tokens: int | None = None
    """None = the provider's default for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One model call: the session's prompt and the whole conversation."""

    prompt: SessionPrompt
    messages: tuple[Message, ...]
    allow_tools: bool = True
    """False: the tools stay in the request (the prefix holds), but the model may not call them."""
    images: Mapping[str, str] = field(default_factory=dict)
    """Base64 of the pictures that the messages name, by hash. One that is not here is told of in words."""


@dataclass(frozen=True, slots=True)
class StreamStarted:
    """The provider accepted the request and begins to answer."""

    model: str


@dataclass(frozen=True, slots=True)
class TextChunk:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingChunk:
    text: str


@dataclass(frozen=True, slots=True)
class OtherProgress:
    """The provider sent something that is neither text nor thinking (a piece of a tool call, usage)."""


ModelChunk = StreamStarted | TextChunk | ThinkingChunk | OtherProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedCall:
    """A tool call as the model wrote it."""

    id: str
    name: str
    args: Json | None
    """The arguments, or None when their JSON does not parse to an object or was cut off."""
    raw_args: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What a model call has yielded so far; `is_complete` only after the provider said that it is."""

    text: str = ""
    calls: tuple[ProposedCall, ...] = ()
    """Calls in order; an unfinished last one is present with `args` None."""
    blocks: tuple[Json, ...] = ()
    """The provider's content blocks exactly as received (only finished ones, and text cut at any point)."""
    stop_reason: str | None = None
    stop_details: str | None = None
    """The provider's explanation of a refusal, when it gave one."""
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    """The model that answered, as the provider names it."""
    is_complete: bool = False


class ModelStream(Protocol):
    """An open model call."""

    def __aiter__(self) -> AsyncIterator[ModelChunk]:
        """Raises ProviderError when the stream breaks, also when it ends without the provider's end mark."""
        ...

    def reply(self) -> ModelReply:
        """What has arrived so far. Callable at any time, also after an error or a cancel."""
        ...


class Provider(Protocol):
    """Serves one kind of API. Retries nothing: the loop does, where it can be seen."""

    @property
    def name(self) -> str:
        """As configured: `anthropic`, `mock`."""
        ...

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Open a model call. Leaving the context closes the connection at once, also on cancellation.

        Raises:
            ProviderError: the request was not accepted.
        """
        ...

    def context_window(self, model: str) -> int | None:
        """Tokens that `model` takes, or None when unknown."""
        ...

    def known_models(self) -> tuple[str, ...]:
        """Models that its server is known to have, newest first; empty = nothing is known of what it has."""
        ...

    def takes_images(self, model: str) -> bool:
        """Whether `model` is known to see pictures."""
        ...

    def missing(self) -> str:
        """What no call can succeed without, such as a key, as a sentence with what to do; empty = nothing known."""
        ...

    async def prepare(self) -> None:
        """Do what the first call would have to wait for, such as importing an SDK."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
