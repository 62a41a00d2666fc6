"""Messages and events as JSON: exact round trips, and only what a database and a provider accept."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cos.agent.events import MessageAdded, ToolFinished, TurnCompleted, Usage
from cos.agent.ids import new_id
from cos.agent.messages import (
    AssistantMessage,
    ToolResultMessage,
    UserMessage,
    json_text,
    message_from_json,
    message_json,
    parse_message,
    reply_text,
    stored_form,
)
from cos.agent.provider import SessionPrompt, ToolSpec
from cos.agent.records import ApprovalAnswer, ToolCallRecord, ToolCallStatus, TurnStatus
from cos.core.event_json import event_object
from cos.core.frozen import PromptPart, parts_from_json, prompt_from_json, prompt_json
from cos.core.live import CoreEvent, QueueChanged
from tests.tool_context import new_turn

SHAPES: list[dict[str, Any]] = [
    {"role": "user", "text": "Do I need an umbrella?"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "name": "weather", "args": {"city": "Charleston"}}]},
    {"role": "tool_result", "call_id": "c1", "content": "Charleston: 18°C, light rain", "is_error": False},
    {"role": "assistant", "text": "Bring an umbrella: 18°C and light rain."},
]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_four_shapes_round_trip_exactly(shape: dict[str, Any]) -> None:
    text = json.dumps(shape, ensure_ascii=False)
    assert message_json(message_from_json(text)) == text


@pytest.mark.parametrize("shape", SHAPES)
def test_an_unknown_key_is_kept(shape: dict[str, Any]) -> None:
    text = json.dumps({**shape, "later": {"b": 1, "a": [None, 1.50, 1e-07, 0]}}, ensure_ascii=False)
    assert message_json(message_from_json(text)) == text


@pytest.mark.parametrize("bad", [{"role": "system", "text": "x"}, {"text": "x"}, {"role": "user"}])
def test_what_is_no_message_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        parse_message(bad)


def test_the_spelling_of_an_escape_is_not_the_character() -> None:
    """H-009."""
    typed = "keep \\u0000 and \\\\u0000 and C:\\u0000dir as typed"
    assert stored_form(UserMessage(text=typed)) == UserMessage(text=typed)
    assert stored_form(UserMessage(text="a\x00\ud800")) == UserMessage(text="a\ufffd\ufffd")


def test_keys_and_values_at_every_depth_are_storable() -> None:
    message = parse_message({"role": "assistant", "blocks": [{"a\x00": ["\udfff", {"x": float("nan")}]}], "text": "t"})
    assert json.loads(message_json(message))["blocks"] == [{"a\ufffd": ["\ufffd", {"x": None}]}]
    assert json_text([float("inf"), 1.5]) == "[null, 1.5]"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda kids: st.lists(kids) | st.dictionaries(st.text(), kids), max_leaves=8))  # fmt: skip  # noqa: E501
def test_stored_json_is_stable_and_strict(value: Any) -> None:
    text = json_text(value)
    assert json_text(json.loads(text, parse_constant=lambda name: pytest.fail(name))) == text


def test_the_words_of_a_message() -> None:
    words = [reply_text(parse_message(shape)) for shape in SHAPES]
    assert words == [SHAPES[0]["text"], "", SHAPES[2]["content"], SHAPES[3]["text"]]


def test_a_frozen_prompt_comes_back_with_its_order_of_keys() -> None:
    schema = {"type": "object", "properties": {"z": {}, "a": {}}}
    prompt = SessionPrompt(system="s", tools=(ToolSpec(name="t", description="d", schema=schema),), model="m")
    text = prompt_json(prompt)
    assert prompt_json(prompt_from_json(text)) == text
    assert prompt_from_json(text) == prompt


def test_a_frozen_prompt_knows_its_parts_and_one_from_before_is_one_part() -> None:
    parts = [PromptPart("SOUL.md", "Be kind.\n\nAnd brief."), PromptPart("skills", "😀"), PromptPart("plugin a", "x")]
    prompt = SessionPrompt(system="\n\n".join(part.text for part in parts), model="m")
    assert parts_from_json(prompt_json(prompt, parts)) == parts
    old = json.loads(prompt_json(prompt, parts))
    del old["parts"]
    assert parts_from_json(json.dumps(old)) == [PromptPart("system prompt", prompt.system)]


def test_usage_adds_what_is_known() -> None:
    total = Usage(input_tokens=1) + Usage(input_tokens=2, cache_read_tokens=5)
    assert total == Usage(input_tokens=3, cache_read_tokens=5)
    assert (total.prompt_tokens, Usage(output_tokens=1).prompt_tokens) == (8, None)


def _events() -> list[CoreEvent]:
    turn = dataclasses.replace(new_turn(), parent_turn_id=new_id())
    answer = ApprovalAnswer(decision="denied", reason="no")
    record = ToolCallRecord(call_id="c", name="t", args={"a": 1}, status=ToolCallStatus.DENIED, approval=answer)
    result = ToolResultMessage(call_id="c", content="x", is_error=True)
    return [
        MessageAdded(turn=turn, message_id=new_id(), message=result),
        MessageAdded(turn=turn, message_id=new_id(), message=AssistantMessage(text="hi"), active=False),
        ToolFinished(turn=turn, call_id="c", name="t", record=record),
        TurnCompleted(
            turn=turn, status=TurnStatus.COMPLETED, stop_reason="end_turn", error=None, text="hi", usage=Usage(),
            started_at=datetime.now(UTC), completed_at=datetime.now(UTC), had_output=True,
        ),
        QueueChanged(session_id=turn.session_id, profile_id="home", waiting=1, paused=False),
    ]  # fmt: skip


@pytest.mark.parametrize("event", _events(), ids=lambda event: event.type)
def test_an_event_is_one_json_object_with_its_head_first(event: CoreEvent) -> None:
    made = json.loads(json.dumps(event_object(7, event)))
    assert list(made)[:5] == ["type", "session_id", "turn_id", "seq", "at"]
    assert (made["type"], made["seq"], made["profile_id"]) == (event.type, 7, "home")
    own = {field.name for field in dataclasses.fields(event)} - {"turn", "at"}
    assert own <= set(made)
