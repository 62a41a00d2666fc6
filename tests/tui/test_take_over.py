"""What is typed at the moment when the main screen takes over from the first picture."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from cos.cli.running_core import Core
from cos.core.attachments import Attachment
from cos.tui.app import CosApp, Opening
from cos.tui.dropped_paths import images_at
from cos.tui.timing import Timing


async def _never(say: Callable[[str], None]) -> Core:
    await asyncio.Event().wait()
    raise AssertionError


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.002)


@asynccontextmanager
async def held_app(
    monkeypatch: pytest.MonkeyPatch, timing: Timing
) -> AsyncIterator[tuple[CosApp, Pilot[None], asyncio.Event]]:
    """The app, which goes on from its first picture only when the event is set."""
    may_show = asyncio.Event()
    shown = CosApp._show_main

    async def show_main(app: CosApp) -> None:
        await may_show.wait()
        await shown(app)

    monkeypatch.setattr(CosApp, "_show_main", show_main)
    app = CosApp(Opening(open_core=_never, timing=timing))
    async with app.run_test() as pilot:
        yield app, pilot, may_show


async def test_an_enter_that_came_with_fast_keys_sends_once(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Timing(arm_seconds=0.02, burst_seconds=1.0)
    async with held_app(monkeypatch, slow) as (app, pilot, may_show):
        for key in "hello":
            app.post_message(events.Key(key, key))
        app.post_message(events.Key("enter", "\r"))
        await until(lambda: app.first_screen.composer._held_enter is not None)
        may_show.set()
        await until(lambda: app.main_screen is not None and app.main.not_stored() == ["hello"])
        await until(lambda: app.main.composer.text == "")
        await pilot.pause()
        assert app.first_screen.sent == [] and app.main.not_stored() == ["hello"]


async def test_a_paste_that_is_being_looked_at_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dropped path on a slow drive, and what was typed behind it."""
    may_answer = asyncio.Event()

    async def slow(paths: list[Path]) -> list[Attachment]:
        await may_answer.wait()
        return await images_at(paths)

    monkeypatch.setattr("cos.tui.widgets.composer.images_at", slow)
    async with held_app(monkeypatch, Timing()) as (app, _, may_show):
        app.post_message(events.Paste("/nowhere/picture.png"))
        for key in " look":
            app.post_message(events.Key("space" if key == " " else key, key))
        may_show.set()
        await until(lambda: app._held is not None)
        may_answer.set()
        await until(lambda: app.main_screen is not None)
        await until(lambda: app.main.composer.full_text == "/nowhere/picture.png look")
