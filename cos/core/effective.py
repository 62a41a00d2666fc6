"""The settings as they take effect, each with its source: flag > environment > profile > commonos.toml > default.

What runs and what `cos config` prints come from the same functions, so the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticCustomError

from cos.agent.tags import Tag, merge_tags
from cos.core.api_keys import ApiKey, api_key
from cos.core.config import Config
from cos.core.config_errors import ConfigError
from cos.core.embedded.folders import default_state_dir
from cos.core.masking import masked_url, shown
from cos.core.profiles import Profile
from cos.core.settings import database_url, http_url
from cos.core.switch import switched

T = TypeVar("T")
_UNSET = {"tools": "all", "database.url": "embedded"}


NOBODY_ANSWERS: Final = "nobody can answer here: this cos has no terminal"
"""Why what needs approval is denied when `Flags.is_unattended`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Settings given on the command line. None = not given."""

    profile: str | None = None
    tags: tuple[Tag, ...] = ()
    """Added to the profile's tags."""
    approval_mode: Literal["ask", "deny"] | None = None
    timeout_seconds: float | None = None
    is_unattended: bool = False
    """Nobody can answer requests for approval here."""


@dataclass(frozen=True, slots=True)
class Sourced(Generic[T]):
    """A value and who set it."""

    value: T
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveValue:
    """One line of `cos config`. `value` is ready to show: secrets hidden, "" when nothing is set."""

    key: str
    value: str
    source: str


def effective_profile(config: Config, env: Mapping[str, str], flags: Flags) -> Sourced[str]:
    """The id of the profile to use; whether it exists is not checked here."""
    if flags.profile is not None:
        return Sourced(flags.profile, "flag --profile")
    if named := env.get("COS_PROFILE", "").strip():
        return Sourced(named, "environment COS_PROFILE")
    return _common(config, config.settings, "default_profile")


def effective_database_url(config: Config, env: Mapping[str, str]) -> Sourced[str | None]:
    """The address of the database; None = the embedded Postgres.

    Raises:
        ConfigError: `COS_DATABASE_URL` is set and no postgresql:// URL.
    """
    if url := _from_environment(env, "COS_DATABASE_URL", database_url):
        return url
    return _common(config, config.settings.database, "url")


def effective_state_dir(config: Config) -> Sourced[Path]:
    """The folder of the embedded Postgres, whether it is used or not."""
    chosen: Sourced[Path | None] = _common(config, config.settings.database, "data_dir")
    return Sourced(chosen.value or default_state_dir(config.paths.data_dir), chosen.source)


def effective_base_url(profile: Profile, env: Mapping[str, str]) -> Sourced[str | None]:
    """The address of the model API; None = the provider's own. The environment counts only when the profile is silent.

    Raises:
        ConfigError: `ANTHROPIC_BASE_URL` is needed and no http or https URL.
    """
    own: Sourced[str | None] = _of_profile(profile, profile.settings, "base_url")
    if own.value is not None or profile.settings.provider != "anthropic":
        return own
    return _from_environment(env, "ANTHROPIC_BASE_URL", http_url) or own


def effective_approval_mode(profile: Profile, flags: Flags) -> Sourced[Literal["ask", "auto", "deny"]]:
    if flags.approval_mode is not None:
        return Sourced(flags.approval_mode, "flag --approve")
    mode: Sourced[Literal["ask", "auto", "deny"]] = _of_profile(profile, profile.settings.approvals, "mode")
    if mode.value == "ask" and flags.is_unattended:
        return Sourced("deny", NOBODY_ANSWERS)
    return mode


def effective_approval_timeout(config: Config, flags: Flags) -> Sourced[float]:
    """Seconds until an unanswered approval expires."""
    if flags.timeout_seconds is not None:
        return Sourced(flags.timeout_seconds, "flag --timeout-seconds")
    return _common(config, config.settings.approvals, "timeout_seconds")


def effective_compact_at(config: Config, profile: Profile) -> Sourced[float]:
    """The share of the model's window at which a session is compacted; 0 = never."""
    own: Sourced[float | None] = _of_profile(profile, profile.settings.agent, "compact_at")
    if own.value is not None:
        return Sourced(own.value, own.source)
    return _common(config, config.settings.agent, "compact_at")


def effective_reduced_motion(config: Config, env: Mapping[str, str]) -> Sourced[bool]:
    """Whether as little as possible shall move on screen.

    Raises:
        ConfigError: `COS_REDUCED_MOTION` is neither on nor off.
    """
    variable = "COS_REDUCED_MOTION"
    if not (text := env.get(variable, "").strip()):
        return _common(config, config.settings.tui, "reduced_motion")
    is_on = switched(text)
    if is_on is None:
        raise ConfigError("this environment variable must be 1 or 0", key=variable, value=text)
    return Sourced(is_on, f"environment {variable}")


def effective_tags(profile: Profile, flags: Flags) -> Sourced[tuple[Tag, ...]]:
    own: Sourced[tuple[Tag, ...]] = _of_profile(profile, profile.settings, "tags")
    if not flags.tags:
        return own
    return Sourced(merge_tags(own.value, flags.tags), f"flag --tag, {own.source}" if own.value else "flag --tag")


def effective_workspace(profile: Profile) -> Sourced[str]:
    return Sourced(str(profile.workspace), _of_profile(profile, profile.settings, "workspace").source)


def effective_values(config: Config, profile: Profile, env: Mapping[str, str], flags: Flags) -> list[EffectiveValue]:
    """Every setting that takes effect for `profile`, with its source and without secrets.

    Raises:
        ConfigError: a variable of the environment holds a wrong value.
    """
    compact_at = {"agent.compact_at": effective_compact_at(config, profile)}
    values = {**_common_values(config, env, flags), **compact_at, **_profile_values(profile, env, flags)}
    shown_values = [EffectiveValue(key=key, value=_text(key, it.value), source=it.source) for key, it in values.items()]
    return [*shown_values, *_plugin_values(config)]


def _common_values(config: Config, env: Mapping[str, str], flags: Flags) -> dict[str, Sourced[Any]]:
    paths, settings = config.paths, config.settings
    origin = "environment COS_HOME" if paths.source == "COS_HOME" else "default"
    return {
        "config_dir": Sourced(paths.config_dir, origin),
        "config_file": Sourced(paths.config_file, origin),
        "data_dir": Sourced(paths.data_dir, origin),
        "log_file": Sourced(paths.log_file, origin),
        "plugins": _common(config, settings, "plugins"),
        "default_profile": _common(config, settings, "default_profile"),
        "profile": effective_profile(config, env, flags),
        "database.url": effective_database_url(config, env),
        "database.data_dir": effective_state_dir(config),
        **{f"database.{name}": _common(config, settings.database, name) for name in ("bin_dir", "run_as")},
        "approvals.timeout_seconds": effective_approval_timeout(config, flags),
        "agent.max_steps": _common(config, settings.agent, "max_steps"),
        **{
            f"delegation.{name}": _common(config, settings.delegation, name)
            for name in type(settings.delegation).model_fields
        },
        "tui.reduced_motion": effective_reduced_motion(config, env),
    }


def _profile_values(profile: Profile, env: Mapping[str, str], flags: Flags) -> dict[str, Sourced[Any]]:
    settings = profile.settings
    names = [name for name in type(settings).model_fields if name not in {"agent", "approvals", "delegation"}]
    values = {name: _of_profile(profile, settings, name) for name in names}
    return {
        "profile_file": Sourced(profile.config_file, f"profile {profile.id}"),
        **values,
        "base_url": effective_base_url(profile, env),
        "tags": effective_tags(profile, flags),
        "workspace": effective_workspace(profile),
        "approvals.mode": effective_approval_mode(profile, flags),
        "approvals.rules": _rules(profile),
        "delegation.model": _of_profile(profile, settings.delegation, "model"),
        **({"api_key": _key(profile, env)} if settings.provider == "anthropic" else {}),
    }


def _rules(profile: Profile) -> Sourced[str]:
    rules = _of_profile(profile, profile.settings.approvals, "rules")
    count = len(rules.value)
    return Sourced(f"{count} rule{'' if count == 1 else 's'}" if count else "none", rules.source)


def _key(profile: Profile, env: Mapping[str, str]) -> Sourced[str | None]:
    key = api_key(profile, env)
    if isinstance(key, ApiKey):
        variable = profile.settings.api_key_env
        return Sourced(f"set (from {variable})", f"environment {variable}")
    return Sourced(None, f"missing from environment {key.variable}")


def _plugin_values(config: Config) -> Iterator[EffectiveValue]:
    for plugin, table in config.plugin_settings.items():
        for key, value in table.items():
            name = f"{plugin}.{key}"
            yield EffectiveValue(key=name, value=shown(name, value), source=str(config.paths.config_file))


def _common(config: Config, table: BaseModel, name: str) -> Sourced[Any]:
    is_set = name in table.model_fields_set
    return Sourced(getattr(table, name), str(config.paths.config_file) if is_set else "default")


def _of_profile(profile: Profile, table: BaseModel, name: str) -> Sourced[Any]:
    is_set = name in table.model_fields_set
    return Sourced(getattr(table, name), str(profile.config_file) if is_set else "default")


def _from_environment(env: Mapping[str, str], variable: str, check: Callable[[str], str]) -> Sourced[str | None] | None:
    """The variable's value, or None when it is missing or blank."""
    text = env.get(variable, "").strip()
    if not text:
        return None
    try:
        return Sourced(check(text), f"environment {variable}")
    except PydanticCustomError as error:
        raise ConfigError(
            f"this environment variable {error.message()}", key=variable, value=shown(variable, text)
        ) from None


def _text(key: str, value: object) -> str:
    match value:
        case None:
            return _UNSET.get(key, "")
        case ():
            return "none"
        case bool():
            return str(value).lower()
        case tuple():
            return ", ".join(map(str, value))
        case str() if key.endswith("url"):
            return masked_url(value)
        case _:
            return str(value)
