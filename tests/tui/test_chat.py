"""The app on a real core: sending, streaming, waiting, stopping, and coming back."""

from __future__ import annotations

from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import MODEL, said
from tests.fix_core import CoreHome
from tests.tui.chat import chat_in


async def test_a_message_is_sent_and_its_answer_shown(core_home: CoreHome) -> None:
    core_home.script(said("the answer"))
    async with chat_in(core_home) as chat:
        await chat.ask("a question")
        assert "a question" in chat.text()
        assert "the answer" in chat.text()
        assert chat.main.composer.text == ""


async def test_a_second_message_waits_in_the_queue_and_then_runs(core_home: CoreHome) -> None:
    core_home.script([StreamStarted(MODEL), TextChunk("first "), "hang"], said("second answer"))
    async with chat_in(core_home) as chat:
        await chat.say("one")
        await chat.until(lambda: "first" in chat.text())
        await chat.say("two")
        await chat.until(lambda: chat.main.queue.display)
        assert "two" in chat.screen_text()
        await chat.pilot.press("escape")
        await chat.rests()
