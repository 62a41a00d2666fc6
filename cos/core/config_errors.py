"""Errors of the configuration. Their values are already fit to be shown: see `cos.core.masking`.

ConfigError             the user: a file, key or environment variable is wrong
├── FolderError         the user: a folder cannot be created, read or written
├── ProfileError        the user: a profile is unknown or its folder has a bad name
└── UnknownToolError    the user: a profile lists a tool that nobody provides
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from cos.agent.errors import CosError
from cos.agent.text import storable, visible


class ConfigError(CosError):
    """A setting that cannot be used. The fields are what the sentence was made of."""

    def __init__(
        self,
        problem: str,
        *,
        file: Path | None = None,
        line: int | None = None,
        key: str | None = None,
        value: str | None = None,
        allowed: Iterable[str] = (),
        near: str | None = None,
    ) -> None:
        self.problem = problem
        self.file = file
        self.line = line
        self.key = key
        self.value = value
        """The value as it may be shown: secrets hidden, long texts cut, None when there is none."""
        self.allowed = tuple(allowed)
        self.near = near
        # Keys and paths are written by others: they must neither move the cursor nor add lines.
        super().__init__(storable(visible(self._sentence())).replace("\n", "\u240a"))

    def _sentence(self) -> str:
        place = "" if self.file is None else f"{self.file}, line {self.line}" if self.line else str(self.file)
        setting = "" if self.key is None else self.key if self.value is None else f"{self.key} = {self.value}"
        problem = self.problem
        if self.near is not None:
            first, end, rest = problem.partition(". ")
            problem = f"{first.removesuffix('.')}. Did you mean {self.near}?{end and ' '}{rest}"
        return ": ".join(part for part in (place, setting, problem) if part)


class FolderError(ConfigError):
    """A folder or file of cos that cannot be created, read or written."""


class ProfileError(ConfigError):
    """A profile that does not exist or may not be called so."""


class UnknownToolError(ConfigError):
    """A `tools` entry that matches no installed tool."""


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """The allowed name that `name` was most likely meant to be, or None."""
    found = difflib.get_close_matches(name.lower(), list(allowed), n=1, cutoff=0.6)
    return found[0] if found else None
