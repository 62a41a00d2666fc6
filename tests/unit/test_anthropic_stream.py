"""The accumulator alone: events in, chunks and replies out."""

from typing import Any

import pytest

from cos.agent.events import Usage
from cos.agent.provider import OtherProgress, StreamStarted, TextChunk, ThinkingChunk
from cos.agent.providers.anthropic_stream import MalformedStream, ReplyBuilder, parse_args, usage_of


def start(**usage: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"model": "m", "usage": usage}}


def opened(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **data: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": data}


def closed(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def final(stop: str = "end_turn", usage: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": stop, **more}, "usage": usage or {}}


def built(*events: dict[str, Any]) -> ReplyBuilder:
    builder = ReplyBuilder()
    for event in events:
        builder.feed(event)
    return builder


def tool(index: int, *pieces: str) -> list[dict[str, Any]]:
    block = opened(index, type="tool_use", id=f"t{index}", name="terminal", input={})
    return [block, *(delta(index, type="input_json_delta", partial_json=piece) for piece in pieces)]


def test_chunks_tell_text_thinking_and_other_progress_apart() -> None:
    builder = built()
    assert builder.feed(start()) == [StreamStarted("m")]
    assert builder.feed(opened(0, type="thinking", thinking="")) == [OtherProgress()]
    assert builder.feed(delta(0, type="thinking_delta", thinking="hm")) == [ThinkingChunk("hm")]
    builder.feed(opened(1, type="text", text=""))
    assert builder.feed(delta(1, type="text_delta", text="Hi")) == [TextChunk("Hi")]
    assert builder.feed({"type": "an_event_of_the_future"}) == []


def test_text_that_comes_with_the_start_of_its_block_is_not_lost() -> None:
    builder = built(start())
    assert builder.feed(opened(0, type="text", text="Hi")) == [TextChunk("Hi")]
    builder.feed(delta(0, type="text_delta", text=" you"))
    assert builder.reply().text == "Hi you"


def test_blocks_are_kept_as_sent_whatever_they_hold() -> None:
    reply = built(
        start(),
        opened(0, type="thinking", thinking="", signature=""),
        delta(0, type="signature_delta", signature="sig"),
        closed(0),
        opened(1, type="redacted_thinking", data="opaque"),
        closed(1),
        opened(2, type="hologram", beams=[1, 2]),
        delta(2, type="hologram_delta", beam=3),
        closed(2),
        opened(3, type="text", text="", citations=None),
        delta(3, type="text_delta", text="Hi"),
        delta(3, type="citations_delta", citation={"cited_text": "x"}),
        closed(3),
    ).reply()
    assert reply.blocks == (
        {"type": "thinking", "thinking": "", "signature": "sig"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "hologram", "beams": [1, 2]},
        {"type": "text", "text": "Hi", "citations": [{"cited_text": "x"}]},
    )


def test_arguments_keep_their_order_and_parse_only_when_the_block_is_finished() -> None:
    """Trap 5."""
    builder = built(start(), *tool(0, "", '{"b": 1,', ' "a": 2}'))
    (call,) = builder.reply().calls
    assert (call.args, call.raw_args) == (None, '{"b": 1, "a": 2}')
    assert builder.reply().blocks == ()
    builder.feed(closed(0))
    (call,) = builder.reply().calls
    assert list((call.args or {}).items()) == [("b", 1), ("a", 2)]
    assert builder.reply().blocks[0]["input"] == {"b": 1, "a": 2}


def test_a_call_without_arguments_has_an_empty_object() -> None:
    (call,) = built(start(), *tool(0, ""), closed(0)).reply().calls
    assert call.args == {}


def test_a_finished_call_with_broken_arguments_keeps_its_place() -> None:
    reply = built(start(), *tool(0, '{"path": "a.t'), closed(0), *tool(1, "{}"), closed(1)).reply()
    assert [call.args for call in reply.calls] == [None, {}]
    assert [block["id"] for block in reply.blocks] == ["t0", "t1"]


@pytest.mark.parametrize(
    "raw",
    [
        "[1]", "null", '"x"', "{", "{'a': 1}", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": 1} x',
        '{"a":' * 200 + "1" + "}" * 200, '{"a": ' + "[" * 500_000, '{"a": ' + "9" * 10_000 + "}",
    ],
    ids=range(12),
)  # fmt: skip
def test_arguments_that_are_no_storable_object_are_none(raw: str) -> None:
    assert parse_args(raw) is None


def test_duplicate_keys_are_fine() -> None:
    assert parse_args('{"a": 1, "a": 2}') == {"a": 2}


def test_cut_text_and_cut_thinking_stay_and_the_reply_is_not_complete() -> None:
    reply = built(
        start(),
        opened(0, type="thinking", thinking=""),
        delta(0, type="thinking_delta", thinking="hm"),
        opened(1, type="text", text=""),
        delta(1, type="text_delta", text="First I"),
    ).reply()
    assert reply.blocks == ({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "First I"})
    assert (reply.text, reply.stop_reason, reply.is_complete) == ("First I", None, False)


def test_usage_is_overwritten_not_added_and_keeps_the_breakdown() -> None:
    """H-029: five closing events with the same figures count once."""
    totals = {"input_tokens": 10, "output_tokens": 412, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 3}
    split = {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 5}
    builder = built(start(**{**totals, "output_tokens": 1, "cache_creation": split}), *[final(usage=totals)] * 5)
    assert builder.reply().usage == Usage(
        input_tokens=10, output_tokens=412, cache_read_tokens=3, cache_write_5m_tokens=2, cache_write_1h_tokens=5
    )


def test_figures_that_the_closing_event_lacks_keep_their_first_value() -> None:
    builder = built(start(input_tokens=10, output_tokens=1), final(usage={"output_tokens": 4, "input_tokens": None}))
    assert builder.reply().usage == Usage(input_tokens=10, output_tokens=4)


def test_usage_that_was_not_told_is_none() -> None:
    assert built(start()).reply().usage == Usage()
    assert usage_of({"output_tokens": "many"}) == Usage()


def test_cache_writes_without_breakdown_are_five_minute_writes() -> None:
    assert usage_of({"cache_creation_input_tokens": 9}).cache_write_5m_tokens == 9


def test_a_refusal_brings_its_explanation() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    reply = built(start(), final("refusal", stop_details=details)).reply()
    assert (reply.stop_reason, reply.stop_details) == ("refusal", "cyber: Not this.")
    assert built(start(), final("refusal", stop_details={"category": None})).reply().stop_details is None


def test_a_stop_reason_of_the_future_passes_through_and_only_message_stop_completes() -> None:
    builder = built(start(), final("bored"))
    assert (builder.reply().stop_reason, builder.is_complete) == ("bored", False)
    builder.feed({"type": "message_stop"})
    assert builder.reply().is_complete


@pytest.mark.parametrize(
    "event",
    [
        delta(0, type="text_delta", text="x"),
        closed(0),
        {"type": "content_block_start", "index": None, "content_block": {}},
        {"type": "message_start"},
        {"type": "message_delta", "delta": None},
    ],
)
def test_events_that_cannot_be_are_refused(event: dict[str, Any]) -> None:
    with pytest.raises(MalformedStream):
        built(event)


def test_deltas_after_the_end_of_their_block_are_refused() -> None:
    with pytest.raises(MalformedStream):
        built(opened(0, type="text", text=""), closed(0), delta(0, type="text_delta", text="x"))
