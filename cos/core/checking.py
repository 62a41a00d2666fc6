"""Turns TOML data into settings, and what pydantic finds wrong into one sentence with file, line and key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from cos.core.config_errors import ConfigError, nearest
from cos.core.masking import shown
from cos.core.toml_source import TomlSource

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound=BaseModel)

_TYPES = {
    "string_type": "must be a text in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false, without quotes",
    "tuple_type": "must be a list in square brackets",
    "model_type": "must be a table",
}


def checked(
    model: type[M],
    source: TomlSource,
    data: Mapping[str, Any],
    *,
    tables: Sequence[str] = (),
    at: tuple[str, ...] = (),
    context: Mapping[str, Any] | None = None,
) -> M:
    """`data`, which is the table `at` of `source`, as settings. `tables` are further tables that it may hold.

    Raises:
        ConfigError: a key is unknown or missing, or a value is wrong. Of several, the first in the file.
    """
    try:
        return model.model_validate(data, context={"folder": source.file.parent, **(context or {})})
    except ValidationError as failure:
        above = "".join(f"{name}." for name in at)
        known = [*known_keys(model, above), *tables]
        found = failure.errors(include_url=False)
        # Of one table a misspelt key comes before the one that is missing because of it.
        is_misspelt = {details["loc"][:-1] for details in found if details["type"] == "extra_forbidden"}
        found = [it for it in found if it["type"] != "missing" or it["loc"][:-1] not in is_misspelt] or found
        raise min((_config_error(it, source, known, at) for it in found), key=lambda error: error.line or 0) from None


def known_keys(model: type[BaseModel], above: str = "") -> Iterator[str]:
    """The dotted names of all settings of a model."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from known_keys(field.annotation, f"{above}{name}.")
        else:
            yield above + name
            yield from (key for item in _items_of(field.annotation) for key in known_keys(item, f"{above}{name}."))


def _items_of(annotation: object) -> Iterator[type[BaseModel]]:
    """The tables that a list of tables holds."""
    return (item for item in get_args(annotation) if isinstance(item, type) and issubclass(item, BaseModel))


def near_key(key: str, known: Sequence[str]) -> str | None:
    """The known key that `key` was meant to be: spelt alike, or the same name in another table."""
    name = key.rpartition(".")[2]
    same_name = [other for other in known if other.rpartition(".")[2] == name]
    return nearest(key, known) if not same_name else same_name[0]


def _config_error(details: ErrorDetails, source: TomlSource, known: Sequence[str], at: tuple[str, ...]) -> ConfigError:
    path = (*at, *details["loc"])
    key = ".".join(str(part) for part in path if isinstance(part, str))
    is_missing = details["type"] == "missing"
    value = None if is_missing else shown(key, details["input"])
    problem, allowed, near = _explained(details, key, known)
    return ConfigError(
        problem,
        file=source.file,
        line=source.line_of(path[:-1] if is_missing else path),
        key=key,
        value=value,
        allowed=allowed,
        near=near,
    )


def _explained(details: ErrorDetails, key: str, known: Sequence[str]) -> tuple[str, Sequence[str], str | None]:
    """The problem as a sentence, what is allowed instead, and the near match."""
    kind, context = details["type"], details.get("ctx", {})
    match kind:
        case "extra_forbidden":
            hint = "unknown key"
            if isinstance(details["input"], dict):
                hint += " (the settings of a plugin count only when the plugin is enabled)"
            return f"{hint}. Known keys: {', '.join(known)}", known, near_key(key, known)
        case "missing":
            return "this key is missing and has no default: add it", (), None
        case "literal_error":
            allowed = [part.strip("' ") for part in str(context["expected"]).replace(" or ", ", ").split(",")]
            text = str(details["input"])
            return f"must be {' or '.join(allowed)}", allowed, nearest(text, allowed)
        case "not_one_of":
            return details["msg"], context["allowed"], nearest(str(details["input"]), context["allowed"])
        case "greater_than":
            return f"must be greater than {context['gt']:g}", (), None
        case "greater_than_equal":
            return f"must be at least {context['ge']:g}", (), None
        case "less_than_equal":
            return f"must be at most {context['le']:.12g}", (), None
        case _:
            return _TYPES.get(kind, details["msg"]), (), None
