"""A TOML file that was read, and the line where each of its keys stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cos.core.config_errors import ConfigError, FolderError
from cos.core.toml_lines import KeyPath, key_lines

_PLACE = re.compile(r"\s*\(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlSource:
    """The data of a TOML file with its text, which is looked at again only when an error needs a line."""

    file: Path
    text: str = field(repr=False)
    data: Mapping[str, Any] = field(repr=False)

    def line_of(self, path: KeyPath) -> int | None:
        """The line of the key, or of the nearest table around it that is written down; None when nothing is."""
        lines = key_lines(self.text)
        for length in range(len(path), 0, -1):
            if path[:length] in lines:
                return lines[path[:length]]
        return None


def read_toml(file: Path) -> TomlSource:
    """The TOML file at `file`.

    Raises:
        FileNotFoundError: there is no such file.
        ConfigError: it cannot be read or is not TOML; the error names the line.
    """
    text = read_text(file)
    try:
        return TomlSource(file=file, text=text, data=tomllib.loads(text))
    except RecursionError as error:
        raise ConfigError("lists and tables are nested too deeply", file=file) from error
    except ValueError as error:
        # Not only TOMLDecodeError: a number with thousands of digits is a plain ValueError.
        raise _syntax_error(file, text, str(error)) from error


def read_text(file: Path) -> str:
    """The UTF-8 text of `file`.

    Raises:
        FileNotFoundError: there is no such file.
        ConfigError: it cannot be read, is not UTF-8 or begins with a byte order mark.
    """
    try:
        data = file.read_bytes()
    except FileNotFoundError as error:
        if file.is_symlink():
            raise FolderError(f"is a link to a file that is not there: {file.readlink()}", file=file) from error
        raise
    except OSError as error:
        raise FolderError(f"cannot be read: {error.strerror}", file=file) from error
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("is not UTF-8 text: save the file as UTF-8", file=file, line=line) from error
    if text.startswith("\ufeff"):
        raise ConfigError("begins with a byte order mark: save the file as UTF-8 without BOM", file=file, line=1)
    return text


def _syntax_error(file: Path, text: str, reason: str) -> ConfigError:
    place = _PLACE.search(reason)
    if place is None:
        return ConfigError(f"this is not valid TOML: {reason}", file=file)
    reason = reason[: place.start()]
    if place["line"] is None:
        return ConfigError(f"this is not valid TOML: {reason} at the end of the file", file=file, line=_last_line(text))
    return ConfigError(
        f"this is not valid TOML: {reason} (column {place['column']})", file=file, line=int(place["line"])
    )


def _last_line(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1
