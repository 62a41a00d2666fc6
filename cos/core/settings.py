"""The settings that the two kinds of files may hold: names, types, ranges, defaults. Nothing is read here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from cos.agent.errors import TagError
from cos.agent.tags import Tag
from cos.core.rule_settings import RuleSettings

DEFAULT_KEY_VARIABLE = "ANTHROPIC_API_KEY"
_YEAR_SECONDS = 365 * 24 * 3600
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_PLUGIN = re.compile(r"[a-z0-9][a-z0-9_-]*")


def _refused(problem: str) -> PydanticCustomError:
    """A refusal whose sentence reaches the user as it is, also when it holds braces."""
    return PydanticCustomError("refused", "{problem}", {"problem": problem})


def _words(value: str) -> str:
    if not value.strip():
        raise _refused("must not be blank")
    if not value.isprintable():
        raise _refused("must not hold line breaks or control characters")
    return value.strip()


def _folder(value: object, info: ValidationInfo) -> Path:
    """A path, relative to the folder in the validation context, with `~` replaced by the home folder."""
    if not isinstance(value, str):
        raise _refused("must be a path in quotes")
    try:
        return Path((info.context or {})["folder"], Path(_words(value)).expanduser()).absolute()
    except RuntimeError as error:
        raise _refused("there is no such home folder") from error


def _tag(value: object) -> Tag:
    if not isinstance(value, str):
        raise _refused("must be a tag in quotes, such as client:acme")
    try:
        return Tag(value)
    except TagError as error:
        raise _refused(str(error)) from error


def _variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise _refused(
            "must be the name of an environment variable in capital letters, such as ANTHROPIC_API_KEY; "
            "the key itself belongs into that variable, never into a file"
        )
    return value


def _plugin(value: str) -> str:
    if not _PLUGIN.fullmatch(value):
        raise _refused("a plugin's name takes only lower-case letters, digits, _ and -")
    if value in RESERVED_TABLES:
        raise _refused(f"no plugin can be called {value}: that table holds settings of cos")
    return value


def _once(values: tuple[str, ...]) -> tuple[str, ...]:
    twice = next((value for index, value in enumerate(values) if value in values[:index]), None)
    if twice is not None:
        raise _refused(f"{twice} is listed twice")
    return values


def database_url(value: str) -> str:
    """Checks the address of a Postgres.

    Raises:
        PydanticCustomError: it is no postgresql:// URL.
    """
    url = _words(value)
    if not url.startswith(("postgresql://", "postgres://")) or " " in url:
        raise _refused("must be a URL without spaces that begins with postgresql://")
    return url


def http_url(value: str) -> str:
    """Checks the address of a model API.

    Raises:
        PydanticCustomError: it is no http or https URL with a host.
    """
    url = _words(value)
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and " " not in url
    except ValueError:
        is_good = False
    if not is_good:
        raise _refused("must be a URL such as https://api.example.com or http://127.0.0.1:11434")
    return url


Words = Annotated[str, AfterValidator(_words)]
Folder = Annotated[Path, BeforeValidator(_folder)]
TagText = Annotated[Tag, BeforeValidator(_tag)]
# TOML has lists, the settings hold tuples: strict mode would refuse them.
Listed = Field(strict=False)


class _Table(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True, hide_input_in_errors=True
    )


class DatabaseSettings(_Table):
    url: Annotated[str, AfterValidator(database_url)] | None = Field(default=None, repr=False)
    """None = the embedded Postgres. May hold a password."""
    data_dir: Folder | None = None
    bin_dir: Folder | None = None
    run_as: Words | None = None
    """The account that runs the embedded Postgres when cos is started by root."""


class ApprovalTimeout(_Table):
    timeout_seconds: Annotated[float, Field(gt=0, le=_YEAR_SECONDS, allow_inf_nan=False)] = 300


CompactAt = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A share of the model's window; 0 = never."""


class AgentSettings(_Table):
    max_steps: Annotated[int, Field(ge=1, le=1000)] = 90
    compact_at: CompactAt = 0.8


class ProfileAgentSettings(_Table):
    compact_at: CompactAt | None = None
    """None = as in commonos.toml."""


Count = Annotated[int, Field(ge=1)]


class DelegationSettings(_Table):
    """The limits of child agents; the keys are Hermes', the last one is ours."""

    max_concurrent_children: Count = 3
    """Of one delegate_task call."""
    max_spawn_depth: Count = 1
    """1 = a child has no children."""
    max_iterations: Count = 50
    """Steps of one child."""
    max_summary_chars: Count = 24_000
    max_children_per_turn: Count = 30
    """All that one turn of the user's has started, children of children included."""


class ProfileDelegationSettings(_Table):
    model: Words | None = None
    """Of child agents; None = that of the session that delegates."""


class TuiSettings(_Table):
    reduced_motion: bool = False


class Settings(_Table):
    """commonos.toml without the tables of plugins."""

    plugins: Annotated[tuple[Annotated[str, AfterValidator(_plugin)], ...], Listed, AfterValidator(_once)] = (
        "memory",
        "bill",
        "workspace",
    )
    default_profile: Words = "home"
    database: DatabaseSettings = DatabaseSettings()
    approvals: ApprovalTimeout = ApprovalTimeout()
    agent: AgentSettings = AgentSettings()
    delegation: DelegationSettings = DelegationSettings()
    tui: TuiSettings = TuiSettings()


RESERVED_TABLES = frozenset(Settings.model_fields)


class ApprovalPolicy(_Table):
    mode: Literal["ask", "auto", "deny"] = "ask"
    rules: Annotated[tuple[RuleSettings, ...], Listed] = ()
    """In the order of the file; the first that matches counts."""


class ProfileSettings(_Table):
    """profiles/<id>/config.toml."""

    provider: Literal["anthropic", "mock"]
    model: Words | None = None
    """None only for the mock provider."""
    base_url: Annotated[str, AfterValidator(http_url)] | None = Field(default=None, repr=False)
    """None = `ANTHROPIC_BASE_URL`, else the provider's own."""
    api_key_env: Annotated[str, AfterValidator(_variable)] = DEFAULT_KEY_VARIABLE
    auth: Literal["bearer", "x-api-key"] = "bearer"
    max_output_tokens: Annotated[int, Field(gt=0)] | None = None
    thinking: Literal["adaptive", "off"] | None = None
    prompt_caching: bool = True
    tags: Annotated[tuple[TagText, ...], Listed] = ()
    tools: Annotated[tuple[Words, ...], Listed] | None = None
    """Names and globs; None = all tools."""
    workspace: Folder | None = None
    """None = a folder of its own under the data folder."""
    agent: ProfileAgentSettings = ProfileAgentSettings()
    delegation: ProfileDelegationSettings = ProfileDelegationSettings()
    approvals: ApprovalPolicy = ApprovalPolicy()
