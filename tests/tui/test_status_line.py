"""The status line: how full the context is, what the session waits for, whether the database answers."""

from __future__ import annotations

import pytest
from rich.text import Text
from textual.app import App, ComposeResult

from cos.agent.events import Usage
from cos.agent.provider import ModelReply, ProviderUnavailable
from cos.agent.providers.scripted import said
from cos.tui.widgets.status_line import Status, StatusLine
from tests.fix_home import CoreHome
from tests.tui.chat import chat_in


class Line(App[None]):
    def compose(self) -> ComposeResult:
        yield StatusLine()


@pytest.mark.parametrize(("percent", "warns"), [(None, False), (59, False), (60, True), (85, True)])
async def test_the_meter_stands_out_from_60_percent_on(percent: int | None, warns: bool) -> None:
    async with Line().run_test() as pilot:
        line = pilot.app.query_one(StatusLine)
        line.status = Status(note="", profile="home", context="ctx 12k", context_percent=percent)
        shown = line.content
        assert isinstance(shown, Text)
        styled = [span for span in shown.spans if shown.plain[span.start : span.end] == "ctx 12k" and str(span.style)]
        assert bool(styled) is warns


async def test_a_wait_for_another_attempt_is_counted_down_and_goes_away(core_home: CoreHome) -> None:
    core_home.script([ProviderUnavailable("busy", retry_after_seconds=30)], said("unused"))
    async with chat_in(core_home) as chat:
        await chat.say("go")
        await chat.until(lambda: "retry in" in str(chat.main.status_line.content))
        await chat.pilot.press("escape")
        await chat.rests()
        await chat.until(lambda: "retry in" not in str(chat.main.status_line.content))
        assert "db ok" in str(chat.main.status_line.content)


async def test_context_is_shown_as_part_of_the_window(core_home: CoreHome) -> None:
    whole = ModelReply(
        text="hi", usage=Usage(input_tokens=900, output_tokens=5), stop_reason="end_turn", is_complete=True
    )
    core_home.script([whole])
    async with chat_in(core_home) as chat:
        await chat.ask("go")
        await chat.until(lambda: "ctx 905" in str(chat.main.status_line.content))
