"""The terminal's driver: what a stop and its end do to it."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from cos.tui.driver import TerminalDriver


async def test_who_goes_on_after_the_end_sets_no_terminal_up_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(os, "isatty", lambda fileno: True)
    monkeypatch.setattr(LinuxDriver, "start_application_mode", lambda self: begun.append("a terminal"))
    monkeypatch.setattr(LinuxDriver, "stop_application_mode", lambda self: None)
    driver = TerminalDriver(App[None]())
    driver.start_application_mode()
    try:
        driver._go_on()
        driver.suspend_application_mode()
        driver._go_on()
        assert len(begun) == 3, "once at the start, once after each stop"
        driver.suspend_application_mode()
        driver.stop_application_mode()
        driver._go_on()
        assert len(begun) == 3
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGCONT)
