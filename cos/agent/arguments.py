"""Checks the arguments of a tool call against the tool's JSON schema, in words that the model can act on."""

from __future__ import annotations

import importlib
from typing import Any


def schema_errors(schema: dict[str, Any], args: dict[str, Any]) -> str | None:
    """What is wrong with `args`, or None when they fit `schema`. One line per fault, at most five."""
    jsonschema = importlib.import_module("jsonschema")
    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)(schema)
    faults = sorted(validator.iter_errors(args), key=lambda fault: list(map(str, fault.absolute_path)))
    lines = [f"{'.'.join(map(str, fault.absolute_path)) or 'arguments'}: {fault.message[:300]}" for fault in faults[:5]]
    return "\n".join(lines) or None
