"""Tests of the screen leave the clipboard of the machine they run on alone."""

from __future__ import annotations

import pytest

from tests.outage import outage

__all__ = ["outage"]


@pytest.fixture(autouse=True)
def no_clipboard(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
