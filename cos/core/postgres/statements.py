"""Loads SQL files: blocks that begin with `-- name: x`, handed out by name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, LiteralString, cast

from cos.core.shipped import shipped

if TYPE_CHECKING:
    from pathlib import Path

_NUMBER = re.compile(r"-- Schema (\d+)\.")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The tables of the core or of a plugin, as this program knows them."""

    name: str
    """`core`, or the plugin's."""
    number: int
    """Raised with every change; 0 = not numbered."""
    text: LiteralString

    @property
    def digest(self) -> str:
        """What `applied_schemas` knows it by."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def core_schema() -> Schema:
    """The schema of the core's tables."""
    return _read_schema("core", shipped("sql") / "core" / "schema.sql")


def before_schema() -> LiteralString:
    """What runs in the transaction that applies a schema, before it."""
    return _literal((shipped("sql") / "core" / "before_schema.sql").read_text(encoding="utf-8"))


def plugin_schema(name: str) -> Schema | None:
    """The schema of a shipped plugin's own tables, or None when it has none."""
    file = shipped("sql") / name / "schema.sql"
    return _read_schema(name, file) if file.is_file() else None


def _read_schema(name: str, file: Path) -> Schema:
    text = file.read_text(encoding="utf-8")
    numbered = _NUMBER.match(text)
    return Schema(name=name, number=int(numbered[1]) if numbered else 0, text=_literal(text))


def _literal(text: str) -> LiteralString:
    """The files ship with the program and are never built from input: as good as literals."""
    return cast("LiteralString", text)  # type: ignore[redundant-cast]  # mypy takes LiteralString for str
