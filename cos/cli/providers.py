"""Builds the provider that a profile names. The only place that knows which providers there are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cos.agent.providers.anthropic import AnthropicProvider
from cos.agent.providers.mock import MockProvider
from cos.agent.providers.unavailable import UnavailableProvider
from cos.core.api_keys import ApiKey, MissingKey, api_key
from cos.core.effective import effective_base_url

if TYPE_CHECKING:
    from cos.agent.provider import Provider
    from cos.core.profiles import Profile


def build_provider(profile: Profile, env: Mapping[str, str] = os.environ) -> Provider:
    """The profile's provider. Without a usable key it is one that says so at the first call."""
    if profile.settings.provider == "mock":
        return MockProvider()
    base_url = effective_base_url(profile, env).value
    key = api_key(profile, env)
    if isinstance(key, MissingKey):
        if not _is_on_this_machine(base_url):
            return UnavailableProvider(name="anthropic", sentence=key.sentence)
        # Local servers want no key, but the protocol wants some word there.
        key = ApiKey(value="none", origin="no key: the server is on this machine")
    return AnthropicProvider(
        api_key=key.value,
        key_source=key.origin,
        base_url=base_url,
        auth=profile.settings.auth,
        thinking=profile.settings.thinking,
        prompt_caching=profile.settings.prompt_caching,
    )


def _is_on_this_machine(base_url: str | None) -> bool:
    return urlsplit(base_url or "").hostname in {"localhost", "127.0.0.1", "::1"}
