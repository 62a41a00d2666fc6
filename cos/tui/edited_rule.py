"""The part of a proposed rule that the user may write differently, and the rule that comes of it."""

from __future__ import annotations

from typing import Literal

from pydantic import ValidationError

from cos.core.rule_json import rule_from_object, rule_object
from cos.core.rules import Rule


def part_of(rule: Rule) -> Literal["match", "path"] | None:
    """Which key can be edited; None when the rule is for the tool as a whole."""
    if rule.match is not None:
        return "match"
    return "path" if rule.path is not None else None


def with_part(rule: Rule, text: str) -> Rule:
    """`rule` with `text` as its editable part.

    Raises:
        ValueError: that is no rule; the message says why.
    """
    part = part_of(rule)
    if part is None:
        return rule
    try:
        return rule_from_object(rule_object(rule) | {part: text})
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{part} {first['msg']}") from error
