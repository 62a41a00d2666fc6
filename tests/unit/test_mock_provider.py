"""The demo's provider and the provider that plays scripts."""

import asyncio

import pytest

from cos.agent.events import Usage
from cos.agent.messages import AssistantMessage, Compaction, UserMessage
from cos.agent.provider import (
    ModelReply,
    ModelRequest,
    Provider,
    ProviderUnavailable,
    SessionPrompt,
    StreamStarted,
    TextChunk,
    ThinkingChunk,
    ToolSpec,
)
from cos.agent.providers.mock import MockProvider
from cos.agent.providers.scripted import ScriptedProvider, ScriptExhausted, called, said
from cos.agent.tokens import estimated_tokens
from cos.tui.long_text import LongText
from tests.unit.conversations import as_message, ask, request, result, user


def as_ports(mock: MockProvider, scripted: ScriptedProvider) -> tuple[Provider, Provider]:
    """A static proof that they fit."""
    return mock, scripted


@pytest.fixture
def mock() -> MockProvider:
    return MockProvider(delay_seconds=0)


async def test_it_greets_in_markdown_and_says_that_it_is_no_model(mock: MockProvider) -> None:
    got = await ask(mock, request(user("hi")))
    assert got.text.startswith("## Welcome")
    assert "no model is asked" in got.text
    assert (got.model, got.stop_reason, got.is_complete) == ("mock-1", "end_turn", True)


async def test_it_streams_word_by_word(mock: MockProvider) -> None:
    async with mock.stream(request()) as stream:
        chunks = [chunk async for chunk in stream]
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == stream.reply().text
    assert chunks[0] == StreamStarted("mock-1")
    assert len(chunks) > 50


async def test_the_same_request_has_the_same_words_and_figures(mock: MockProvider) -> None:
    first, second = [await ask(mock, request(user("hi"))) for _ in range(2)]
    assert (first.text, first.usage) == (second.text, second.usage)
    assert first.usage == Usage(input_tokens=1, output_tokens=estimated_tokens(first.text), cache_read_tokens=3)


async def test_a_long_text_is_counted_as_it_was_estimated_before_it_was_sent(mock: MockProvider) -> None:
    pasted = "\n".join(f"{number},2026-11-{number % 28 + 1:02},a-value-without-blanks" for number in range(3_000))
    got = await ask(mock, request(user(pasted)))
    assert got.usage.input_tokens == estimated_tokens(pasted)
    assert f"about {got.usage.input_tokens:,} tokens" in LongText().warning(pasted)


@pytest.mark.parametrize("words", ["run a command", "Use the terminal", "list files", "show me a tool"])
async def test_it_proposes_a_terminal_call_after_some_thinking(mock: MockProvider, words: str) -> None:
    async with mock.stream(request(user(words))) as stream:
        chunks = [chunk async for chunk in stream]
        got = stream.reply()
    assert any(isinstance(chunk, ThinkingChunk) for chunk in chunks)
    command = "echo 'Hello from the demo' > hello.txt && cat hello.txt"
    assert [(call.name, call.args) for call in got.calls] == [("terminal", {"command": command})]
    assert got.stop_reason == "tool_use"


async def test_two_calls_never_have_the_same_id(mock: MockProvider) -> None:
    first, second = [await ask(mock, request(user("run"))) for _ in range(2)]
    assert first.calls[0].id != second.calls[0].id


@pytest.mark.parametrize(
    ("content", "is_error", "words"),
    [("Hello\n", False, "The command ran"), ("denied by the user", True, "I do not claim that it ran")],
)
async def test_it_tells_truthfully_what_became_of_the_call(
    mock: MockProvider, content: str, is_error: bool, words: str
) -> None:
    proposed = await ask(mock, request(user("run")))
    answer = result(proposed.calls[0].id, content, is_error=is_error)
    got = await ask(mock, request(user("run"), as_message(proposed), answer))
    assert words in got.text
    assert content.strip() in got.text
    assert got.calls == ()


async def test_without_the_tool_it_says_so_and_calls_nothing(mock: MockProvider) -> None:
    bare = ModelRequest(prompt=SessionPrompt(system="", model="mock-1"), messages=(user("run"),))
    got = await ask(mock, bare)
    assert "no tool named `terminal`" in got.text
    assert got.calls == ()


async def test_when_it_may_not_call_tools_it_does_not(mock: MockProvider) -> None:
    assert (await ask(mock, request(user("run"), allow_tools=False))).calls == ()


@pytest.mark.parametrize("words", ["Ask me something", "do you have a question?"])
async def test_it_asks_a_question_and_tells_what_became_of_it(mock: MockProvider, words: str) -> None:
    clarify = ToolSpec(name="clarify", description="Ask", schema={"type": "object"})
    prompt = SessionPrompt(system="", model="mock-1", tools=(clarify,))
    proposed = await ask(mock, ModelRequest(prompt=prompt, messages=(user(words),)))
    (call,) = proposed.calls
    assert call.name == "clarify" and call.args is not None and len(call.args["choices"]) == 3
    told = result(call.id, '{"question": "q", "choices_offered": null, "user_response": "a\\nb"}')
    got = await ask(mock, request(user(words), as_message(proposed), told))
    assert "You answered: *a b*" in got.text
    got = await ask(mock, request(user(words), as_message(proposed), result(call.id, "No answer.", is_error=True)))
    assert "I have no answer" in got.text and "> No answer." in got.text
    assert "no tool named `clarify`" in (await ask(mock, request(user(words)))).text


async def test_it_gives_tasks_to_child_agents_and_plays_them_too(mock: MockProvider) -> None:
    delegate = ToolSpec(name="delegate_task", description="Delegate", schema={"type": "object"})
    prompt = SessionPrompt(system="", model="mock-1", tools=(delegate,))
    proposed = await ask(mock, ModelRequest(prompt=prompt, messages=(user("delegate something"),)))
    (call,) = proposed.calls
    assert call.name == "delegate_task" and call.args is not None and len(call.args["tasks"]) == 2
    ends = '{"results": [{"status": "completed", "summary": "a\\nb"}, {"status": "failed", "error": "c"}]}'
    got = await ask(mock, request(user("delegate something"), as_message(proposed), result(call.id, ends)))
    assert "- **completed**: a b\n- **failed**: c" in got.text
    refused = result(call.id, "Nothing was run.", is_error=True)
    got = await ask(mock, request(user("delegate something"), as_message(proposed), refused))
    assert "> Nothing was run." in got.text
    task = UserMessage(text="Say what a child agent is.", origin="delegation")
    assert "I am a child agent of the demo" in (await ask(mock, request(task))).text
    assert "no tool named `delegate_task`" in (await ask(mock, request(user("delegate something")))).text


async def test_later_it_answers_what_was_said(mock: MockProvider) -> None:
    got = await ask(mock, request(user("hi"), AssistantMessage(text="x"), user("what is 2+2?")))
    assert "what is 2+2?" in got.text


async def test_a_cancelled_answer_keeps_what_was_said() -> None:
    slow = MockProvider(delay_seconds=3600)
    async with slow.stream(request()) as stream:
        task = asyncio.ensure_future(anext(aiter(stream)))
        assert await task == StreamStarted("mock-1")
        assert (stream.reply().text, stream.reply().is_complete) == ("", False)


async def test_scripts_are_played_in_order_and_requests_recorded() -> None:
    scripted = ScriptedProvider([called(("t1", "terminal", {"command": "ls"})), said("Done."), [TextChunk("pi")]])
    got = [await ask(scripted, request(user(words))) for words in ("one", "two", "three")]
    assert [reply.text for reply in got] == ["", "Done.", "pi"]
    assert [reply.stop_reason for reply in got] == ["tool_use", "end_turn", "end_turn"]
    assert [asked.messages for asked in scripted.requests] == [(user("one"),), (user("two"),), (user("three"),)]
    assert (scripted.unused, scripted.open_streams) == (0, 0)


async def test_a_script_breaks_where_it_says() -> None:
    cut = ModelReply(text="First", usage=Usage(input_tokens=3))
    scripted = ScriptedProvider(
        [ProviderUnavailable("overloaded"), [TextChunk("First"), cut, ProviderUnavailable("dropped")]]
    )
    with pytest.raises(ProviderUnavailable, match="overloaded"):
        await ask(scripted, request())
    async with scripted.stream(request()) as stream:
        with pytest.raises(ProviderUnavailable, match="dropped"):
            async for _ in stream:
                pass
        assert stream.reply() == cut


@pytest.mark.parametrize("script", ["hang", [StreamStarted("m"), "hang"]])
async def test_a_hanging_script_can_be_cancelled(script: object) -> None:
    scripted = ScriptedProvider([script])  # type: ignore[list-item]  # one parametrized test for both forms
    task = asyncio.ensure_future(ask(scripted, request()))
    while not scripted.open_streams:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scripted.open_streams == 0


async def test_a_call_without_a_script_fails_loudly() -> None:
    with pytest.raises(ScriptExhausted, match="model call 1 has no script"):
        await ask(ScriptedProvider([]), request())


async def test_a_demo_session_can_be_compacted_and_goes_on_with_what_was_asked(mock: MockProvider) -> None:
    order = user("Write a summary. Call no tool.", origin="compaction")
    reply = await ask(mock, request(user("hi"), AssistantMessage(text="Hello"), order))
    assert (reply.text.startswith("The demo was asked for a summary of 2 messages."), reply.calls) == (True, ())
    text = "In short: run a command.\n\nword for word:\n\nhow are you?"
    summary = user(text, origin="compaction", compaction=Compaction(messages=2))
    reply = await ask(mock, request(summary))
    assert (reply.text.startswith("You said: *how are you?*"), reply.calls) == (True, ())
