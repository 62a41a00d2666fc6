"""What the app remembers about how it looks: the theme and the widths of the side panes."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

log = logging.getLogger("cos.tui")

NARROWEST, WIDEST = 18, 80
"""Columns of a side pane."""


@dataclass(slots=True)
class Preferences:
    """Kept in a small JSON file; None everywhere = as shipped."""

    theme: str | None = None
    left: int | None = None
    """Columns of the sessions pane."""
    right: int | None = None
    """Columns of the approvals pane."""
    file: Path | None = field(default=None, compare=False)
    """None = nothing is remembered."""

    @classmethod
    def load(cls, file: Path) -> Self:
        """What the file says; what is wrong in it counts as not said."""
        try:
            data: Any = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            data = {}
        except (OSError, ValueError) as error:
            log.warning("%s cannot be read: %s", file, error)
            data = {}
        said = data if isinstance(data, dict) else {}
        theme = said.get("theme")
        return cls(
            theme=theme if isinstance(theme, str) else None,
            left=_columns(said.get("left")),
            right=_columns(said.get("right")),
            file=file,
        )

    def save(self) -> None:
        """Write the file whole or not at all.

        Raises:
            OSError: it cannot be written.
        """
        if self.file is None:
            return
        said = {key: value for key, value in asdict(self).items() if key != "file" and value is not None}
        beside = self.file.with_name(f"{self.file.name}.{os.getpid()}")
        beside.write_text(json.dumps(said) + "\n", encoding="utf-8")
        beside.replace(self.file)


def _columns(value: object) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return min(max(value, NARROWEST), WIDEST) if is_whole and isinstance(value, int) else None
