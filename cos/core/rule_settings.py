"""`[[approvals.rules]]` as it stands in a profile's config.toml, checked: a rule that can never match is refused."""

from __future__ import annotations

from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from cos.agent.errors import TagError
from cos.agent.tags import Tag
from cos.core.rule_words import rule_words
from cos.core.rules import PATH_TOOLS, SHELL_TOOLS, Rule


def _refused(problem: str) -> PydanticCustomError:
    return PydanticCustomError("refused", "{problem}", {"problem": problem})


def _text(value: object) -> object:
    if isinstance(value, str) and not (value.strip() and value.isprintable()):
        raise _refused("must not be blank and must not hold line breaks or control characters")
    return value


def _tag(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return Tag(value)
    except TagError as error:
        raise _refused(str(error)) from error


def _match(value: object) -> object:
    if isinstance(value, str):
        try:
            rule_words(value)
        except ValueError as error:
            raise _refused(str(error)) from error
    return value


def _path(value: object) -> object:
    if isinstance(value, str) and (value.startswith(("/", "~")) or ".." in value.split("/") or "\\" in value):
        raise _refused(
            "must be a path below the workspace, such as docs/**, without .. and not from / or ~: "
            "what is outside the workspace no rule matches"
        )
    return value


_Text = Annotated[str, BeforeValidator(_text)]


class RuleSettings(BaseModel):
    """One `[[approvals.rules]]` table."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True, hide_input_in_errors=True
    )

    tool: _Text
    decision: Literal["allow", "ask", "deny"]
    match: Annotated[_Text, BeforeValidator(_match)] | None = None
    path: Annotated[_Text, BeforeValidator(_path)] | None = None
    risk: Literal["read", "write", "execute", "network"] | None = None
    origin: _Text | None = None
    tag: Annotated[Tag, BeforeValidator(_tag)] | None = None
    expires_at: Annotated[datetime | date, Field(union_mode="smart")] | None = None

    @model_validator(mode="after")
    def _can_match(self) -> RuleSettings:
        for key, value, tools in (("match", self.match, SHELL_TOOLS), ("path", self.path, PATH_TOOLS)):
            if value is not None and not any(fnmatchcase(tool, self.tool) for tool in tools):
                raise _refused(
                    f"{key} never fits the tool {self.tool}, so this rule would never count: "
                    f"{key} is for {', '.join(sorted(tools))}. Remove {key} or name another tool"
                )
        if self.match is not None and self.path is not None:
            raise _refused("match and path never fit the same tool, so this rule would never count: keep one of them")
        return self

    def rule(self) -> Rule:
        values: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        return Rule(**values)
