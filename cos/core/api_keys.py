"""The key for a profile's model API: which variable holds it, and what to say when it is not there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cos.core.config_errors import nearest
from cos.core.profiles import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key and where it came from. Only `value` is secret, and it is in no repr."""

    value: str = field(repr=False)
    origin: str
    """For "key rejected": the variable and the file that named it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingKey:
    """There is no usable key. `sentence` says what was looked at and what to do."""

    variable: str
    sentence: str


def api_key(profile: Profile, env: Mapping[str, str]) -> ApiKey | MissingKey:
    """The key in the variable that the profile names. Blank counts as missing; blanks around a key are dropped."""
    variable = profile.settings.api_key_env
    is_named = "api_key_env" in profile.settings.model_fields_set
    origin = f"{variable} ({'named by' if is_named else 'the default of'} api_key_env in {profile.config_file})"
    value = env.get(variable, "").strip()
    if value and value.isascii() and value.isprintable() and " " not in value:
        return ApiKey(value=value, origin=origin)
    if value:
        reason = "holds blanks or characters that no key has: paste it again"
    else:
        reason = "is empty" if variable in env else "is not set"
    return MissingKey(
        variable=variable,
        sentence=f"The profile {profile.id} has no API key: the environment variable {origin} {reason}."
        + _other_variable(variable, env)
        + " The profile demo works without a key.",
    )


def _other_variable(variable: str, env: Mapping[str, str]) -> str:
    others = {name.lower(): name for name in env if env[name].strip() and name != variable and name.endswith("KEY")}
    near = nearest(variable, others)
    return f" {others[near]} is set: is that the one?" if near else ""
