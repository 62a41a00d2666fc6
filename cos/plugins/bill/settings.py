"""What `[bill]` in commonos.toml may hold: the time zone, the tag key of the panes, budgets and prices."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from cos.agent.errors import TagError
from cos.agent.tags import Tag

Period = Literal["day", "week", "month", "session"]


def _refused(problem: str) -> PydanticCustomError:
    return PydanticCustomError("refused", "{problem}", {"problem": problem})


def _timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = available_timezones()
        # Without time zone data on this machine the database has the last word.
        if known:
            problem = f"there is no time zone {name}. Names are those of the IANA, such as Europe/Berlin"
            raise PydanticCustomError(
                "not_one_of", "{problem}", {"problem": problem, "allowed": sorted(known)}
            ) from None
    return name


def _usd(value: object) -> Decimal:
    """A TOML number, or a number in quotes, with the digits that stand in the file."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise _refused("must be a number of US dollars")
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise _refused("must be a number of US dollars") from None
    if not amount.is_finite() or amount < 0:
        raise _refused("must be a finite number of US dollars, at least 0")
    return amount


def _above_zero(amount: Decimal) -> Decimal:
    if amount == 0:
        raise _refused("must be greater than 0")
    return amount


def _tag(value: str) -> str:
    try:
        return str(Tag(value))
    except TagError as error:
        raise _refused(str(error)) from error


def _key(value: str) -> str:
    try:
        Tag(f"{value}:x")
    except TagError:
        raise _refused("must be the key of a tag: lower-case letters, digits, _ and -, such as client") from None
    return value


def _profile(value: str, info: ValidationInfo) -> str:
    known = (info.context or {}).get("profiles")
    if known is not None and value not in known:
        problem = f"there is no profile {value}. Profiles: {', '.join(known)}"
        raise PydanticCustomError("not_one_of", "{problem}", {"problem": problem, "allowed": list(known)})
    return value


Usd = Annotated[Decimal, BeforeValidator(_usd)]
TagKey = Annotated[str, AfterValidator(_key)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class BudgetSettings(_Table):
    """`[[bill.budgets]]`. At most one of `tag`, `key` and `profile`; none = every call."""

    tag: Annotated[str, AfterValidator(_tag)] | None = None
    key: TagKey | None = None
    """Each value of this tag key has the limit for itself."""
    profile: Annotated[str, AfterValidator(_profile)] | None = None
    period: Period
    limit_usd: Annotated[Usd, AfterValidator(_above_zero)]

    @model_validator(mode="after")
    def _one_scope(self) -> Self:
        named = [name for name in ("tag", "key", "profile") if getattr(self, name) is not None]
        if len(named) > 1:
            raise _refused(f"a budget takes one of tag, key and profile, and this one has {' and '.join(named)}")
        return self


class RateSettings(_Table):
    """US dollars per million tokens. Cache rates that are not named are those of `input`."""

    input: Usd
    output: Usd
    cache_read: Usd | None = None
    cache_write_5m: Usd | None = None
    cache_write_1h: Usd | None = None
    """None = as `cache_write_5m`."""


class TierSettings(RateSettings):
    above: Annotated[int, Field(gt=0)]
    """The rates hold for the whole call when its prompt is longer than this many tokens."""


class PriceSettings(RateSettings):
    """`[bill.prices."model"]`: an own model, or other rates for a known one."""

    tiers: Annotated[tuple[TierSettings, ...], Field(strict=False)] = ()


class BillSettings(_Table):
    """The table `[bill]`."""

    timezone: Annotated[str, AfterValidator(_timezone)] | None = None
    """None = the one that the days are counted in already, else this machine's."""
    tag_key: TagKey = "client"
    """The key whose values the panes and a bare `cos cost` show."""
    budgets: Annotated[tuple[BudgetSettings, ...], Field(strict=False)] = ()
    prices: dict[str, PriceSettings] = Field(default_factory=dict)
    servers: dict[str, str] = Field(default_factory=dict)
    """Base URL -> the provider, by its name in genai-prices, whose prices hold there, such as a gateway's."""
