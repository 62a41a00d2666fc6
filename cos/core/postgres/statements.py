"""Loads SQL files: blocks that begin with `-- name: x`, handed out by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, LiteralString, cast

from cos.core.shipped import shipped

if TYPE_CHECKING:
    from pathlib import Path

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


def read_statements(path: Path) -> dict[str, LiteralString]:
    """The named blocks of one SQL file."""
    pieces = _NAME.split(path.read_text(encoding="utf-8"))
    return {name: _literal(body.strip()) for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}


@cache
def core_statements(topic: str) -> Mapping[str, LiteralString]:
    """The statements of `sql/core/queries/<topic>.sql`."""
    return read_statements(shipped("sql") / "core" / "queries" / f"{topic}.sql")


@cache
def plugin_statements(name: str, topic: str) -> Mapping[str, LiteralString]:
    """The statements of `sql/<name>/queries/<topic>.sql` of a shipped plugin."""
    return read_statements(shipped("sql") / name / "queries" / f"{topic}.sql")


def core_schema() -> LiteralString:
    """The schema of the core's tables."""
    return _literal((shipped("sql") / "core" / "schema.sql").read_text(encoding="utf-8"))


def before_schema() -> LiteralString:
    """What runs in the transaction that applies a schema, before it."""
    return _literal((shipped("sql") / "core" / "before_schema.sql").read_text(encoding="utf-8"))


def plugin_schema(name: str) -> LiteralString | None:
    """The schema of a shipped plugin's own tables, or None when it has none."""
    file = shipped("sql") / name / "schema.sql"
    return _literal(file.read_text(encoding="utf-8")) if file.is_file() else None


def _literal(text: str) -> LiteralString:
    """The files ship with the program and are never built from input: as good as literals."""
    return cast("LiteralString", text)  # type: ignore[redundant-cast]  # mypy takes LiteralString for str
