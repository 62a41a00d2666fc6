"""Rules as JSON objects, for the database and for `--json` output."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cos.core.rule_settings import RuleSettings
from cos.core.rules import Rule


def rule_object(rule: Rule) -> dict[str, Any]:
    """`rule` without what does not narrow it. Dates are ISO 8601."""
    plain = {key: value for key, value in asdict(rule).items() if value is not None}
    return {key: value.isoformat() if hasattr(value, "isoformat") else str(value) for key, value in plain.items()}


def rule_from_object(data: dict[str, Any]) -> Rule:
    """The inverse of `rule_object`.

    Raises:
        pydantic.ValidationError: it is no rule.
    """
    return RuleSettings.model_validate(data, strict=False).rule()


def rule_words(rule: Rule) -> str:
    """The rule as a person reads it: `allow terminal: git status *`."""
    narrowing = [rule.match, rule.path, rule.risk, rule.origin and f"of {rule.origin}", rule.tag and f"#{rule.tag}"]
    said = " ".join(str(piece) for piece in narrowing if piece)
    until = f" until {rule.expires_at}" if rule.expires_at else ""
    return f"{rule.decision} {rule.tool}" + (f": {said}" if said else "") + until
