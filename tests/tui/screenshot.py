"""Draws README's picture from the real app: `python -m tests.tui.screenshot` writes .assets/screenshot.svg."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from cos.cli.chat_app import opener
from cos.core.first_start import install_shipped
from cos.core.paths import Paths
from cos.tui import wording
from cos.tui.app import CosApp, Opening
from cos.tui.session_words import state_of
from tests.fix_database import shared_folder

TARGET = Path(__file__).parents[2] / ".assets" / "screenshot.svg"
SIZE = (120, 40)


async def _until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await pilot.pause(0.1)


async def _say(app: CosApp, pilot: Pilot[None], text: str, done: Callable[[], bool]) -> None:
    app.main.composer.load(text)
    await pilot.press("enter")
    await _until(pilot, done)


async def _draw() -> str:
    options = argparse.Namespace(profile="demo")
    app = CosApp(Opening(open_core=opener(options), profile="demo"))
    async with app.run_test(size=SIZE) as pilot:
        await _until(pilot, lambda: app.control is not None)
        await _say(app, pilot, "hello", lambda: bool(_states(app) & {"idle", "done unseen"}))
        await _say(app, pilot, "run a command, please", lambda: app.main.approvals.count == 1)
        await pilot.press("f4")
        await _until(pilot, lambda: app.main.approvals.arming.is_armed)
        picture = app.export_screenshot(title="cos chat")
        await pilot.press("n")
        app.leave_now()
    return picture


def _states(app: CosApp) -> set[str]:
    return {state_of(one.row, None, wording.now()).word for one in app.main.sessions.lines.rows.shown}


def main() -> None:
    home = shared_folder()
    os.environ["COS_HOME"] = str(home)
    try:
        paths = Paths.from_environment(os.environ)
        install_shipped(paths)
        with (paths.profiles_dir / "demo" / "config.toml").open("a") as config:
            config.write('workspace = "/tmp"\n')
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(asyncio.run(_draw()))
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
