"""Retries inside a turn, and what is on screen meanwhile: never twice, never gone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cos.agent.events import MessageAdded, MessageDelta, RetryScheduled, Usage
from cos.agent.identity import TurnInfo
from cos.agent.memory_journal import MemoryJournal
from cos.agent.messages import AssistantMessage
from cos.agent.provider import (
    ModelReply,
    OtherProgress,
    ProviderAuthError,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    StreamStarted,
    TextChunk,
    ThinkingChunk,
)
from cos.agent.providers.scripted import Item, Script, said
from cos.agent.records import ReplyPiece, TurnStatus
from cos.agent.retry import RetryPolicy
from tests.agent_bench import AT_ONCE, Bench, bench, until

BUSY = ProviderUnavailable("overloaded", status=529)
DROPPED = ProviderUnavailable("connection lost")


def cut(*texts: str) -> Script:
    return [StreamStarted("m"), *map(TextChunk, texts), DROPPED]


def shown(b: Bench) -> list[str]:
    pieces: dict[Any, str] = {}
    for event in b.of(MessageDelta):
        pieces[event.message_id] = pieces.get(event.message_id, "") + event.text
    return list(pieces.values())


def inactive(b: Bench) -> list[str | None]:
    return [row.message.model_dump().get("text") for row in b.journal.sessions[b.session_id].messages if not row.active]


async def test_an_overloaded_model_is_asked_again_in_sight() -> None:
    b = await bench([BUSY, ProviderUnavailable("slow down", status=429, retry_after_seconds=0.0), said("ok")])
    errors = list[Any]()
    b.on("api_request_error", lambda **given: errors.append((given["status_code"], given["retry_count"], given["retryable"])))  # fmt: skip  # noqa: E501
    outcome = await b.run()
    assert (outcome.status, outcome.text) == (TurnStatus.COMPLETED, "ok")
    retries = [(event.attempt, event.max_attempts, event.reason) for event in b.of(RetryScheduled)]
    assert retries == [(1, 5, "overloaded"), (2, 5, "slow down")]
    assert errors == [(529, 0, True), (429, 1, True)]
    assert all(request == b.provider.requests[0] for request in b.provider.requests)


async def test_attempts_are_bounded() -> None:
    """H-074: dropped after no text at all, every time."""
    b = await bench([cut()] * 5)
    outcome = await b.run()
    assert (outcome.status, outcome.error, len(b.provider.requests)) == (TurnStatus.FAILED, "connection lost", 5)
    assert [event.attempt for event in b.of(RetryScheduled)] == [1, 2, 3, 4]
    b.assert_whole()


@pytest.mark.parametrize(
    "error", [ProviderRefused("bad request", status=400), ProviderAuthError("no key", status=401), ProviderError("odd")]
)
async def test_what_another_attempt_cannot_mend_is_never_retried(error: ProviderError) -> None:
    b = await bench([error])
    outcome = await b.run()
    assert (outcome.error, len(b.provider.requests), b.of(RetryScheduled)) == (str(error), 1, [])


@pytest.mark.parametrize("attempt", range(1, 6))
def test_the_wait_is_never_shorter_than_asked_for_and_capped(attempt: int) -> None:
    """H-078."""
    policy = RetryPolicy()
    for _ in range(50):
        assert 7 <= policy.delay_seconds(attempt, 7) <= max(7.7, 1.25 * 2 ** (attempt - 1))
        assert 120 <= policy.delay_seconds(attempt, 1e9) <= 132
        for no_wish in (None, -1):
            assert 0.75 * 2 ** (attempt - 1) <= policy.delay_seconds(attempt, no_wish) <= 1.25 * 2 ** (attempt - 1)
    assert policy.delay_seconds(20, None) <= 37.5
    assert len({policy.delay_seconds(attempt, 7) for _ in range(9)}) > 1, "children spread out"


async def test_escape_ends_the_wait_at_once() -> None:
    """H-078."""
    b = await bench([BUSY], retry=RetryPolicy(base_seconds=3_000, cap_seconds=3_000))
    turn = asyncio.ensure_future(b.run())
    await until(lambda: b.of(RetryScheduled))
    b.cancel.cancel()
    assert (await turn).status is TurnStatus.CANCELLED
    b.assert_whole()


async def test_a_retry_that_repeats_and_goes_on_is_one_message() -> None:
    """H-074."""
    b = await bench([cut("First I ", "will"), [StreamStarted("m"), TextChunk("First"), TextChunk(" I will go")]])
    assert (await b.run()).text == "First I will go"
    assert shown(b) == ["First I will go"]
    assert inactive(b) == []
    b.assert_whole()


async def test_a_retry_that_differs_leaves_the_old_text_as_a_message_of_its_own() -> None:
    """H-074: the cut text is kept apart, marked, and never sent."""
    b = await bench([cut("First I will"), said("Let us begin")])
    assert (await b.run()).text == "Let us begin"
    assert shown(b) == ["First I will", "Let us begin"]
    assert inactive(b) == ["First I will"]
    (old,) = [event.message for event in b.of(MessageAdded) if not event.active]
    assert old.partial
    assert [message.model_dump().get("text") for message in b.history] == ["go", "Let us begin"]
    b.assert_whole()


async def test_a_retry_that_ends_earlier_leaves_the_longer_text_apart() -> None:
    b = await bench([cut("Hello world"), said("Hello")])
    assert (await b.run()).text == "Hello"
    assert (shown(b), inactive(b)) == (["Hello world", "Hello"], ["Hello world"])
    b.assert_whole()


async def test_thinking_that_differs_takes_the_text_of_the_attempt_along() -> None:
    first: list[Item] = [StreamStarted("m"), ThinkingChunk("hm"), TextChunk("Hello wor"), DROPPED]
    second: list[Item] = [StreamStarted("m"), TextChunk("Hello"), ThinkingChunk("no"), TextChunk(" there")]
    b = await bench([first, second])
    await b.run()
    assert (shown(b), inactive(b)) == (["Hello wor", "Hello there"], ["Hello wor"])
    b.assert_whole()


async def test_a_retry_that_does_not_think_shows_its_text_once() -> None:
    """H-074: cut in its thinking, or after text that the retry repeats."""
    only_thought: list[Item] = [StreamStarted("m"), ThinkingChunk("hm"), DROPPED]
    thought: list[Item] = [StreamStarted("m"), ThinkingChunk("hm"), TextChunk("Hello"), DROPPED]
    for first, before in ((only_thought, None), (thought, "Hello")):
        b = await bench([first, said("Hello there")])
        await b.run()
        assert (shown(b), inactive(b)) == ([*filter(None, [before]), "Hello there"], [before])
        b.assert_whole()


async def test_a_retry_that_thinks_goes_on_and_one_that_does_not_any_more_is_another_reply() -> None:
    """H-074."""
    thinks: list[Item] = [StreamStarted("m"), ThinkingChunk("hm"), TextChunk("Hello"), DROPPED]
    b = await bench([cut("Hello"), thinks, said("Hello there")])
    await b.run()
    assert (shown(b), inactive(b)) == (["Hello", "Hello there"], ["Hello"])
    b.assert_whole()


async def test_shown_text_stays_marked_when_every_retry_fails() -> None:
    """H-079: forty deltas, then nothing but 529."""
    words = [f"w{n} " for n in range(40)]
    b = await bench([cut(*words), *[BUSY] * 4, said("and so on")])
    outcome = await b.run()
    text = "".join(words)
    assert (outcome.status, outcome.text, outcome.error) == (TurnStatus.FAILED, text, "overloaded")
    assert b.history[-1] == AssistantMessage(text=text, partial=True)
    assert (await b.run("continue")).text == "and so on"
    assert AssistantMessage(text=text, partial=True) in b.provider.requests[-1].messages
    b.assert_whole()


async def test_a_stream_without_an_end_mark_is_no_answer() -> None:
    """H-074."""
    b = await bench([[StreamStarted("m"), TextChunk("half"), ModelReply(text="half")], said("half done")])
    assert (await b.run()).text == "half done"
    assert b.of(RetryScheduled)[0].reason == "the reply broke off before its end"
    assert shown(b) == ["half done"]


async def test_silence_cuts_the_stream_and_tries_again() -> None:
    """H-073."""
    silent: Script = [StreamStarted("m"), TextChunk("x"), "hang"]
    retry = RetryPolicy(base_seconds=0, silence_seconds=0.02)
    b = await bench([silent, silent, said("x y")], retry=retry)
    assert (await b.run()).text == "x y"
    assert {event.reason for event in b.of(RetryScheduled)} == {"the model sent nothing for 0.02 s"}
    assert shown(b) == ["x y"]
    b.assert_whole()


async def test_any_progress_restarts_the_clock_of_silence() -> None:
    b = await bench([[StreamStarted("m"), *[OtherProgress()] * 500, TextChunk("ok")]])
    assert ((await b.run()).text, b.of(RetryScheduled)) == ("ok", [])


async def test_nothing_is_on_screen_before_it_is_in_the_journal() -> None:
    """H-079: also what was shown an instant before a kill."""
    kept = [""]

    class Watched(MemoryJournal):
        async def keep_reply(self, turn: TurnInfo, pieces: Sequence[ReplyPiece], *, message_id: UUID) -> None:
            assert kept[-1].startswith("".join(shown(b)))
            await super().keep_reply(turn, pieces, message_id=message_id)
            kept.append(kept[-1] + "".join(piece.text for piece in pieces))

    b = await bench([[StreamStarted("m"), *map(TextChunk, ("First ", "I ", "will"))]], journal=Watched())
    outcome = await b.run()
    assert (outcome.status, outcome.text) == (TurnStatus.COMPLETED, "First I will")
    assert (shown(b), kept[-1]) == (["First I will"], "First I will")


async def test_usage_of_every_attempt_counts_once() -> None:
    part = ModelReply(text="a", usage=Usage(input_tokens=5, output_tokens=1))
    whole = ModelReply(text="a", usage=Usage(input_tokens=7), stop_reason="end_turn", is_complete=True)
    b = await bench([[StreamStarted("m"), TextChunk("a"), part, DROPPED], whole])
    seen = list[Any]()
    b.on("api_request_error", lambda usage: seen.append(usage.input_tokens))
    b.on("post_api_request", lambda usage, api_call_count: seen.append((usage.input_tokens, api_call_count)))
    assert (await b.run()).usage == Usage(input_tokens=12, output_tokens=1, is_partial=True)
    assert seen == [5, (7, 2)]


TEXTS = st.text("ab \U0001f511", max_size=6)
CHUNKS = st.lists(st.tuples(st.booleans(), TEXTS), max_size=5)


@settings(max_examples=150, deadline=None)
@given(attempts=st.lists(CHUNKS, min_size=1, max_size=5), last_breaks=st.booleans(), continuing=st.booleans())
def test_what_is_shown_is_exactly_what_is_kept(
    attempts: list[list[tuple[bool, str]]], last_breaks: bool, continuing: bool
) -> None:
    """H-074, H-079: wherever the connection breaks, whatever the next attempt says."""
    scripts: list[Script] = []
    for number, chunks in enumerate(attempts):
        if continuing:
            chunks = [chunk for earlier in attempts[: number + 1] for chunk in earlier]
        made: list[Item] = [StreamStarted("m")]
        made += [ThinkingChunk(text) if is_thinking else TextChunk(text) for is_thinking, text in chunks]
        if last_breaks or number < len(attempts) - 1:
            made.append(DROPPED)
        scripts.append(made)

    async def run() -> None:
        b = await bench([*scripts, said("end"), said("end")], retry=AT_ONCE)
        await b.run()
        b.assert_whole()

    asyncio.run(run())
