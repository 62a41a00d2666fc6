"""The request body: what is sent, in which order, and that a longer conversation begins with the bytes of a shorter."""

import itertools
import json
from typing import Any

import pytest

from cos.agent.messages import AssistantMessage, Message, Part
from cos.agent.provider import ModelRequest, SessionPrompt
from cos.agent.providers.anthropic_wire import request_body, wire_messages, without_thinking
from tests.api_server.signatures import without_cache_marks
from tests.api_server.validation import request_problem
from tests.unit.conversations import calls, request, result, user

SIGNED = {"type": "thinking", "thinking": "", "signature": "s1"}
REDACTED = {"type": "redacted_thinking", "data": "opaque"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool_use(id_: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "terminal", "input": {"command": id_}}


def assistant(*messages: Message) -> list[dict[str, Any]]:
    """The content of the last assistant turn of `messages`."""
    turn = wire_messages(messages)[-1]
    assert turn["role"] == "assistant"
    content: list[dict[str, Any]] = turn["content"]
    return content


def test_context_of_hooks_follows_the_words_as_a_block_of_its_own() -> None:
    assert wire_messages([user("hi", context="It rains.")]) == [
        {"role": "user", "content": [text("hi"), text("It rains.")]}
    ]


def test_results_of_one_step_and_a_steer_become_one_user_turn_with_results_first() -> None:
    turns = wire_messages([user("go"), calls("a", "b"), result("a"), result("b", is_error=True), user("stop that")])
    assert turns[2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "done"},
            {"type": "tool_result", "tool_use_id": "b", "content": "done", "is_error": True},
            text("stop that"),
        ],
    }


def test_words_that_came_between_two_results_follow_them() -> None:
    content = wire_messages([calls("a", "b"), result("a"), user("stop"), result("b")])[-1]["content"]
    assert [block["type"] for block in content] == ["tool_result", "tool_result", "text"]


def test_neighbouring_user_messages_become_one_turn() -> None:
    assert wire_messages([user("one"), user("two")]) == [{"role": "user", "content": [text("one"), text("two")]}]


def test_empty_messages_are_not_sent_and_their_neighbours_join() -> None:
    empty = AssistantMessage(text=" \n", partial=True)
    assert wire_messages([user("one"), empty, user("  "), user("two")]) == [
        {"role": "user", "content": [text("one"), text("two")]}
    ]


def test_an_empty_result_says_that_there_was_no_output() -> None:
    assert wire_messages([result("a", "")])[0]["content"][0]["content"] == "(no output)"


def test_parts_become_words_and_a_picture_is_not_passed_over_in_silence() -> None:
    parts = [Part(type="link", url="https://a.example", text="A"), Part(type="image", media_type="image/png")]
    content = wire_messages([user("look", parts=parts)])[0]["content"]
    assert [block["text"] for block in content] == [
        "A (https://a.example)", "[image image/png attached; it is not shown to the model]", "look",
    ]  # fmt: skip


def test_a_picture_that_is_at_hand_is_sent_before_the_text() -> None:
    picture = Part(type="image", blob="h", media_type="image/png", text="shot.png")
    content = wire_messages([user("look", parts=[picture])], {"h": "QUJD"})[0]["content"]
    source = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    assert content == [{"type": "image", "source": source}, text("look")]
    answer = wire_messages([calls("a"), result("a", "seen", parts=[picture])], {"h": "QUJD"})[-1]["content"]
    assert answer[0]["content"] == [text("seen"), {"type": "image", "source": source}]


def test_stored_blocks_go_back_exactly_and_in_order() -> None:
    blocks = [SIGNED, text("I look."), REDACTED, tool_use("a"), text("and"), tool_use("b")]
    assert assistant(calls("a", "b", blocks=blocks, text="I look.and")) == blocks


def test_empty_thinking_with_a_signature_is_sent_back() -> None:
    """Trap 7: from Opus 4.7 on thinking may have no text; leaving it out breaks the turn."""
    assert SIGNED in assistant(AssistantMessage(blocks=[SIGNED, text("x")], text="x"))


@pytest.mark.parametrize(
    "left_out",
    [
        {"type": "thinking", "thinking": "cut before its signature"},
        {"type": "thinking", "thinking": "cut", "signature": ""},
        text(""),
        text("\n\n"),
        tool_use("not-among-the-calls"),
    ],
)
def test_a_block_that_would_brick_the_session_is_not_sent(left_out: dict[str, Any]) -> None:
    assert assistant(calls("a", blocks=[text("x"), left_out, tool_use("a")])) == [text("x"), tool_use("a")]


def test_an_assistant_turn_never_ends_in_thinking() -> None:
    cut = AssistantMessage(text="x", blocks=[SIGNED, text("x"), SIGNED, REDACTED], partial=True)
    assert assistant(cut) == [SIGNED, text("x")]


def test_a_call_that_the_blocks_lack_is_sent_all_the_same() -> None:
    """Its result stands in the history, and an orphan result is refused for ever."""
    assert assistant(calls("a", "b", blocks=[SIGNED, tool_use("a")])) == [SIGNED, tool_use("a"), tool_use("b")]


def test_two_blocks_with_one_id_are_sent_once() -> None:
    """H-022."""
    assert assistant(calls("dup", "dup_2", blocks=[tool_use("dup"), tool_use("dup")])) == [
        tool_use("dup"), tool_use("dup_2"),
    ]  # fmt: skip


def test_unknown_block_types_are_kept() -> None:
    future = {"type": "hologram", "data": 1}
    assert assistant(AssistantMessage(blocks=[future, text("x")])) == [future, text("x")]


def test_without_thinking_leaves_text_and_calls() -> None:
    stripped = without_thinking([user("hi"), calls("a", blocks=[SIGNED, REDACTED, text("x"), tool_use("a")])])
    assert assistant(*stripped) == [text("x"), tool_use("a")]
    assert wire_messages(without_thinking([AssistantMessage(blocks=[SIGNED])])) == []


def test_disallowed_tools_stay_in_the_request() -> None:
    body = request_body(request(allow_tools=False))
    assert body["tool_choice"] == {"type": "none"}
    assert body["tools"] == request_body(request())["tools"]


def test_no_tools_no_system_no_choice() -> None:
    bare = ModelRequest(prompt=SessionPrompt(system="", model="m"), messages=(user("x"),), allow_tools=False)
    assert list(request_body(bare)) == ["model", "max_tokens", "stream", "messages"]


ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("model", "by_default", "off"),
    [
        ("claude-fable-5-2", ADAPTIVE, None),
        ("claude-opus-5-5", ADAPTIVE, None),
        ("claude-sonnet-5-5", ADAPTIVE, None),
        ("claude-haiku-5-5", ADAPTIVE, {"type": "disabled"}),
        ("claude-sonnet-5-20260401", ADAPTIVE, {"type": "disabled"}),
        ("anthropic/claude-opus-4.8", ADAPTIVE, None),
        ("claude-sonnet-4-6", ADAPTIVE, None),
        ("claude-haiku-4-5-20251001", None, None),
        ("claude-sonnet-4-20250514", None, None),
        ("qwen3:8b", None, None),
    ],
)
def test_thinking_is_asked_for_with_summaries_where_the_model_takes_it(
    model: str, by_default: object, off: object
) -> None:
    """Trap 7: without summaries the 5.5 models are silent between tool calls."""
    assert request_body(request(model=model)).get("thinking") == by_default
    assert request_body(request(model=model), thinking="off").get("thinking") == off
    assert request_body(request(model=model), thinking="adaptive")["thinking"] == ADAPTIVE


def test_the_answer_may_be_long_where_the_model_is_known() -> None:
    assert request_body(request())["max_tokens"] == 32_000
    assert request_body(request(model="llama"))["max_tokens"] == 8_192
    asked = SessionPrompt(system="s", model="llama", max_output_tokens=77)
    assert request_body(ModelRequest(prompt=asked, messages=(user("x"),)))["max_tokens"] == 77


def long_conversation(steps: int) -> list[Message]:
    messages: list[Message] = [user("go")]
    for step in range(steps):
        ids = [f"c{step}_{call}" for call in range(3)]
        blocks = [{**SIGNED, "signature": f"s{step}"}, text("I look."), *map(tool_use, ids)]
        messages += [calls(*ids, blocks=blocks, text="I look."), *map(result, ids)]
    return messages


def flat(body: dict[str, Any]) -> str:
    """Everything before the end of the last message, as JSON without cache marks."""
    bare: Any = without_cache_marks({key: body[key] for key in ("system", "tools", "messages")})
    return json.dumps(bare).removesuffix("]}]}")


@pytest.mark.parametrize("caching", [True, False])
def test_request_n_plus_1_begins_with_the_bytes_of_request_n(caching: bool) -> None:
    """Trap 6."""
    messages = [*long_conversation(4), user("and now"), AssistantMessage(text="", partial=True), user("go on")]
    bodies = [
        flat(request_body(request(*messages[: count + 1]), prompt_caching=caching)) for count in range(len(messages))
    ]
    for before, after in itertools.pairwise(bodies):
        assert after.startswith(before)


def test_the_same_request_gives_the_same_bytes_and_leaves_the_messages_untouched() -> None:
    messages = long_conversation(12)
    before = [message.model_dump() for message in messages]
    bodies = {json.dumps(request_body(request(*messages))) for _ in range(3)}
    assert len(bodies) == 1
    assert [message.model_dump() for message in messages] == before


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 12, 40])
def test_at_most_four_cache_marks_on_system_last_block_and_a_grid(steps: int) -> None:
    body = request_body(request(*long_conversation(steps)))
    blocks = [block for turn in body["messages"] for block in turn["content"]]
    marked = [index for index, block in enumerate(blocks) if "cache_control" in block]
    assert request_problem(body) is None
    assert "cache_control" in body["system"][0]
    assert marked[-1] == len(blocks) - 1
    assert all(later - earlier <= 20 for earlier, later in itertools.pairwise(marked))
    assert len(marked) == min(3, 1 + (len(blocks) - 1) // 15)


def test_cache_marks_move_on_a_fixed_grid_so_that_old_entries_are_found() -> None:
    def marked(steps: int) -> set[int]:
        body = request_body(request(*long_conversation(steps)))
        blocks = [block for turn in body["messages"] for block in turn["content"]]
        return {index for index, block in enumerate(blocks[:-1]) if "cache_control" in block}

    assert marked(6) & marked(7)


def test_no_cache_marks_when_switched_off() -> None:
    body = request_body(request(*long_conversation(3)), prompt_caching=False)
    assert "cache_control" not in json.dumps(body)
