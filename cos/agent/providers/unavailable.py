"""Stands in for a provider that cannot work yet, so that the program opens and says what is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cos.agent.provider import ProviderAuthError

if TYPE_CHECKING:
    from cos.agent.provider import ModelRequest, ModelStream, Provider


@dataclass(frozen=True, kw_only=True)
class UnavailableProvider:
    """A `Provider` whose every call fails with `sentence`."""

    name: str
    sentence: str

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelStream]:
        if self.sentence:
            raise ProviderAuthError(self.sentence)
        yield  # type: ignore[misc]  # never reached: makes this a generator

    def context_window(self, model: str) -> int | None:
        return None

    def known_models(self) -> tuple[str, ...]:
        return ()

    def takes_images(self, model: str) -> bool:
        return False

    def missing(self) -> str:
        return self.sentence

    async def prepare(self) -> None:
        """Nothing to prepare."""

    async def close(self) -> None:
        """Nothing to close."""


def _fits(provider: UnavailableProvider) -> Provider:
    return provider
