"""Names the tests that failed, one a line, in the file that COS_FAILED_TESTS names: CI runs them once more, alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    file = os.environ.get("COS_FAILED_TESTS")
    if file is not None:
        failed = [report.nodeid for kind in ("failed", "error") for report in terminalreporter.getreports(kind)]
        Path(file).write_text("".join(f"{name}\n" for name in dict.fromkeys(failed)), encoding="utf-8")
