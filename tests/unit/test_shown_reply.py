"""What is on screen of a reply and what the journal has of it: slow and failing journals, blank text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from cos.agent.errors import CosError
from cos.agent.events import MessageDelta
from cos.agent.identity import TurnInfo
from cos.agent.memory_journal import MemoryJournal
from cos.agent.records import ReplyPiece
from cos.agent.shown_reply import PATIENCE_SECONDS, ShownReply
from tests.agent_bench import until
from tests.tool_context import new_turn


async def test_text_is_not_held_back_after_a_journal_that_was_slow_once() -> None:
    """What comes is shown after PATIENCE_SECONDS at the latest, also right after the journal was slow."""
    calls = 0

    class SlowOnce(MemoryJournal):
        async def keep_reply(self, turn: TurnInfo, pieces: Sequence[ReplyPiece], *, message_id: UUID) -> None:
            nonlocal calls
            calls += 1
            if calls == 1:
                await asyncio.sleep(2)

    clock = asyncio.get_running_loop().time
    came: list[float] = []
    shown: list[float] = []

    def publish(event: Any) -> None:
        shown.extend([clock()] * len(event.text) if isinstance(event, MessageDelta) else [])

    reply = ShownReply(new_turn(), SlowOnce(), publish)
    async with reply.kept():
        for _ in range(100):
            came.append(clock())
            await reply.add_text("x")
            await asyncio.sleep(0.04)
    late = max(after - before for before, after in zip(came, shown, strict=True))
    assert late < 3 * PATIENCE_SECONDS, f"a piece was held back for {late:.2f} s"


async def test_blank_text_of_an_attempt_that_was_given_up_is_not_kept_with_the_next_one() -> None:
    kept: dict[UUID, list[ReplyPiece]] = {}
    shown: dict[UUID, str] = {}

    class Kept(MemoryJournal):
        async def keep_reply(self, turn: TurnInfo, pieces: Sequence[ReplyPiece], *, message_id: UUID) -> None:
            kept.setdefault(message_id, []).extend(pieces)

    def publish(event: Any) -> None:
        if isinstance(event, MessageDelta):
            shown[event.message_id] = shown.get(event.message_id, "") + event.text

    reply = ShownReply(new_turn(), Kept(), publish)
    reply.begin_attempt()
    async with reply.kept():
        await reply.add_text("\n\n")
    reply.begin_attempt()
    async with reply.kept():
        await reply.add_text("Hello")
    texts = {message_id: "".join(piece.text for piece in pieces) for message_id, pieces in kept.items()}
    assert texts[reply.message_id] == shown[reply.message_id] == "Hello"


async def test_what_was_shown_while_the_journal_was_slow_is_kept_as_soon_as_it_answers() -> None:
    """A server stood still for 3 s: a kill -9 2.5 s after it went on lost 73 words that were on screen."""
    clock = asyncio.get_running_loop().time
    answered: list[float] = []
    kept: list[tuple[float, str]] = []

    class SlowOnce(MemoryJournal):
        async def keep_reply(self, turn: TurnInfo, pieces: Sequence[ReplyPiece], *, message_id: UUID) -> None:
            if not answered:
                await asyncio.sleep(2)
                answered.append(clock())
            kept.append((clock(), "".join(piece.text for piece in pieces)))

    shown: list[tuple[float, str]] = []

    def publish(event: Any) -> None:
        shown.append((clock(), event.text))

    reply = ShownReply(new_turn(), SlowOnce(), publish)
    async with reply.kept():
        for _ in range(100):
            await reply.add_text("x")
            await asyncio.sleep(0.04)
    after = answered[0] + 1
    on_screen = sum(len(text) for at, text in shown if at < after)
    safe = sum(len(text) for at, text in kept if at < after)
    assert safe >= on_screen, f"a second after the journal answered {on_screen} are on screen and {safe} are kept"


async def test_what_was_shown_while_the_journal_was_slow_is_kept_although_nothing_more_comes() -> None:
    kept: list[str] = []
    shown: list[str] = []

    class SlowOnce(MemoryJournal):
        async def keep_reply(self, turn: TurnInfo, pieces: Sequence[ReplyPiece], *, message_id: UUID) -> None:
            if not kept:
                await until(lambda: shown == ["a", "b"])
            kept.append("".join(piece.text for piece in pieces))

    reply = ShownReply(new_turn(), SlowOnce(), lambda event: shown.append(event.text))  # type: ignore[union-attr]
    async with reply.kept():
        await reply.add_text("a")
        await asyncio.sleep(0)
        await reply.add_text("b")
        await until(lambda: "".join(kept) == "ab")


async def test_what_could_not_be_kept_is_kept_with_what_comes_next() -> None:
    """H-079."""
    asked: list[list[ReplyPiece]] = []

    class Away(MemoryJournal):
        async def keep_reply(self, turn: TurnInfo, pieces: Sequence[ReplyPiece], *, message_id: UUID) -> None:
            asked.append(list(pieces))
            if len(asked) == 1:
                raise CosError("the database does not answer")

    reply = ShownReply(new_turn(), Away(), lambda event: None)
    async with reply.kept():
        await reply.add_thinking("hm")
        await until(lambda: asked)
        await reply.add_text("Fir")
        await reply.add_text("st")
    first = ReplyPiece(0, "hm", True)
    assert asked == [[first], [first, ReplyPiece(1, "First", False)]]
