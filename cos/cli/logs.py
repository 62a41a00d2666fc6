"""Where log lines go: a file in the data folder, never the screen. It is opened when the first line is written."""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cos.core.config_errors import FolderError

if TYPE_CHECKING:
    from io import TextIOWrapper
    from pathlib import Path

_FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"


def log_to_stderr(form: str) -> None:
    """Send log lines to standard error, as `text` or one `json` object a line: a service's manager keeps them."""
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonFormatter() if form == "json" else logging.Formatter(_FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("cos").setLevel(logging.INFO)


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


class _PrivateFile(logging.handlers.RotatingFileHandler):
    """Only its owner may read it: lines name sessions, paths and what failed."""

    def _open(self) -> TextIOWrapper:
        file = super()._open()
        os.fchmod(file.fileno(), 0o600)
        return file


def log_to(file: Path) -> None:
    """Send warnings and worse of everything, and all of cos, to `file` (1 MB, one older copy).

    Raises:
        FolderError: its folder is not there and cannot be created.
    """
    root = logging.getLogger()
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(
            f"cannot be created: {error.strerror}. Set COS_HOME to a folder that you may write to", file=file.parent
        ) from error
    # A line that cannot be written must not end up on the screen.
    logging.raiseExceptions = False
    handler = _PrivateFile(file, maxBytes=1_000_000, backupCount=1, delay=True, encoding="utf-8")
    handler.setFormatter(logging.Formatter(_FORMAT))
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("cos").setLevel(logging.INFO)
