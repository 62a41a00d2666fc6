"""Provider faults through the whole core: real HTTP, the real SDK, a real Postgres; alone and in random sequences.

`python -m tests.crash.faults --sequences 500 [--seed N]` prints what was not as it should be. Exit code 1 = something.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cos.agent.events import MessageDelta, Notice, RetryScheduled, ThinkingDelta, TurnCompleted
from cos.agent.messages import AssistantMessage, message_from_json
from cos.agent.providers.anthropic import AnthropicProvider
from cos.agent.retry import RetryPolicy
from cos.cli.compose import open_core
from cos.cli.opening import StartRequest
from cos.core.effective import Flags
from cos.core.inbound import Inbound
from tests.agent_bench import assert_answered
from tests.api_server import ApiServer, usage
from tests.api_server.server import KEY
from tests.crash.fault_table import ENDINGS, FAULTS, SILENCE_SECONDS, Ending, Fault
from tests.crash.world import World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from uuid import UUID

    from cos.cli.running_core import Core
    from cos.core.live import CoreEvent

Part = Fault | Ending
QUICK = RetryPolicy(base_seconds=0.0, cap_seconds=0.0, silence_seconds=1.5 * SILENCE_SECONDS)
_TEXTS = ("First I will look", "First I", "First I will look around and then", "Something else", "")
ATTEMPTS = QUICK.max_attempts


def sequence(chance: random.Random) -> list[tuple[Part, str]]:
    """What the server answers one turn with, in order, each with the text that it brings; exactly what is asked for."""
    parts: list[tuple[Part, str]] = []
    failed = 0
    while True:
        said = chance.choice(_TEXTS[:-1] if failed else _TEXTS[:4])
        if chance.random() < 0.55:
            retried = chance.random() < 0.92
            kinds = [
                each for each in FAULTS if each.is_retried is retried and (not each.is_slow or chance.random() < 0.1)
            ]
            parts.append((chance.choice(kinds), said))
            failed += 1
            if not retried or failed == ATTEMPTS:
                return parts
        else:
            ending = chance.choice([each for each in ENDINGS if _may_follow(each, parts)])
            if ending.goes_on and sum(isinstance(each, Ending) for each, _ in parts) >= 3:
                continue
            parts.append((ending, said))
            failed = 0
            if not ending.goes_on:
                return parts


def _may_follow(ending: Ending, parts: Sequence[tuple[Part, str]]) -> bool:
    """Not too many parts; and the local server does not know what thinking within a paused message is bound to."""
    before = next((part.name for part, _ in reversed(parts) if isinstance(part, Ending)), "")
    return not (len(parts) > 8 and ending.goes_on) and (before, ending.name) != ("pause_turn", "with thinking")


class FaultBench:
    """A running core whose model answers as told."""

    def __init__(self, core: Core, api: ApiServer, workspace: Path) -> None:
        self.core = core
        self._api = api
        self._workspace = workspace
        self._session: UUID | None = None
        self._figures = 0

    async def problems(self, parts: Sequence[tuple[Part, str]], *, in_session: bool = False) -> list[str]:
        """Send a message that is answered by `parts`; what was not as it should be, as sentences."""
        first, usages = len(self._api.requests), []
        for part, said in parts:
            self._figures += 1
            usages.append(usage(input=1000 + self._figures, output=50 + self._figures))
            made = part.reply(said)
            self._api.push(made if made.body is not None else replace(made, usage=usages[-1]))
        events = await self._turn(self._session if in_session else None)
        found = list(_said(parts, events))
        if (left := self._api.unused) or len(self._api.requests) - first != len(parts):
            found.append(f"{len(self._api.requests) - first} requests, {left} answers left")
            self._api.forget()
        found += [str(each.refusal) for each in self._api.requests[first:] if each.refusal]
        found += await self._rows(parts, usages, events)
        if (self._workspace / "never.log").exists():
            found.append("a call ran that must not run")
        return found

    async def _turn(self, session: UUID | None) -> list[CoreEvent]:
        inbound = Inbound(text="go", profile_id="work", source="cli", session_id=session)
        events: list[CoreEvent] = []
        with self.core.feed.subscribe() as feed:
            accepted = await self.core.dispatcher.dispatch(inbound)
            self._session = accepted.session_id
            async for live in feed:
                events.append(live.event)  # type: ignore[arg-type]
                if isinstance(live.event, TurnCompleted) and live.event.turn.turn_id == accepted.turn_id:
                    return events
        raise AssertionError("the feed ended")

    async def _rows(
        self, parts: Sequence[tuple[Part, str]], usages: list[dict[str, Any]], events: list[CoreEvent]
    ) -> list[str]:
        end = events[-1]
        assert isinstance(end, TurnCompleted)
        key = {"turn": end.turn.turn_id, "session": end.turn.session_id}
        (turn,) = await self.core.database.fetch(
            b"SELECT status, error, completed_at IS NOT NULL AS ended,"
            b" EXISTS (SELECT FROM reply_pieces WHERE turn_id = turns.id) AS has_pieces FROM turns WHERE id = %(turn)s",
            key,
        )
        found = []
        if turn != {"status": end.status.value, "error": end.error, "ended": True, "has_pieces": False}:
            found.append(f"the turn's row is {turn}")
        calls = await self.core.database.fetch(
            b"SELECT status, is_partial, input_tokens, output_tokens, cost_usd FROM model_calls"
            b" WHERE turn_id = %(turn)s ORDER BY ordinal", key,
        )  # fmt: skip
        expected = [_row(part, told) for (part, _), told in zip(parts, usages, strict=True)]
        if [_figures(row) for row in calls] != expected:
            found.append(f"the model calls are {[_figures(row) for row in calls]}, not {expected}")
        messages = await self.core.database.fetch(
            b"SELECT id, active, body::text AS body FROM messages WHERE session_id = %(session)s ORDER BY ordinal", key
        )
        stored = {row["id"]: message_from_json(row["body"]) for row in messages}
        try:
            assert_answered([stored[row["id"]] for row in messages if row["active"]])
        except AssertionError as error:
            found.append(f"the history is not valid: {error}")
        for message_id, shown in _texts(events).items():
            message = stored.get(message_id)
            if shown.strip() and (not isinstance(message, AssistantMessage) or message.text != shown):
                found.append(f"{shown!r} was shown and {message!r} is there")
        return found


def _row(part: Part, told: dict[str, Any]) -> tuple[str, bool, int | None, int | None]:
    """Status, whether it is partial, and the figures of the attempt."""
    if isinstance(part, Ending):
        return "ok", False, told["input_tokens"], told["output_tokens"]
    if part.row == "dropped":
        return "dropped", True, told["input_tokens"], 1
    return "error", False, None, None


def _figures(row: dict[str, Any]) -> tuple[str, bool, int | None, int | None]:
    return row["status"], row["is_partial"], row["input_tokens"], row["output_tokens"]


def _texts(events: list[CoreEvent]) -> dict[UUID, str]:
    shown: dict[UUID, str] = {}
    for event in events:
        if isinstance(event, MessageDelta):
            shown[event.message_id] = shown.get(event.message_id, "") + event.text
    return shown


def _said(parts: Sequence[tuple[Part, str]], events: list[CoreEvent]) -> Iterator[str]:
    """What of the events is not as `parts` want it."""
    end = events[-1]
    assert isinstance(end, TurnCompleted)
    last = parts[-1][0]
    retries = [event for event in events if isinstance(event, RetryScheduled)]
    tried_again = [part for part, _ in parts[:-1] if isinstance(part, Fault)]
    if len(retries) != len(tried_again):
        yield f"{len(retries)} retries for {[part.name for part in tried_again]}"
    for retry, part in zip(retries, tried_again, strict=False):
        if part.words not in retry.reason:
            yield f"{part.name}: tried again because {retry.reason!r}"
    status = "failed" if isinstance(last, Fault) else "completed"
    if end.status.value != status or (isinstance(last, Fault) and last.words not in (end.error or "")):
        yield f"the turn is {end.status.value}: {end.error!r} after {last.name}"
    if KEY in repr(events):
        yield "the key is shown"
    notices = " ".join(event.text for event in events if isinstance(event, Notice))
    if isinstance(last, Ending) and last.notice not in notices:
        yield f"{last.name}: said {notices!r}"
    if isinstance(last, Ending) and end.text != last.text.format(parts[-1][1]):
        yield f"the reply is {end.text!r}"
    longest = max((said for _, said in parts), key=len)
    shown = "".join(event.text for event in events if isinstance(event, MessageDelta | ThinkingDelta))
    if longest and shown.count(longest) > sum(said.startswith(longest) for _, said in parts):
        yield f"shown twice: {shown!r}"


@asynccontextmanager
async def fault_bench(world: World, api: ApiServer) -> AsyncIterator[FaultBench]:
    request = StartRequest(
        env=world.env, flags=Flags(), surface="tui", say=lambda line: None, retry=QUICK,
        provider_for=lambda profile, env: AnthropicProvider(
            api_key=KEY, key_source="ANTHROPIC_API_KEY", base_url=api.url, silence_seconds=SILENCE_SECONDS
        ),
    )  # fmt: skip
    core = await open_core(request)
    try:
        for provider in core.providers.values():
            await provider.prepare()  # While it imports the SDK, the server in this process cannot answer in time.
        yield FaultBench(core, api, world.workspace("work"))
    finally:
        await core.close()


async def run(sequences: int, seed: int) -> int:
    """Print figures; how many sequences were not as they should be."""
    folder = Path(tempfile.mkdtemp(prefix="faults-", dir="/tmp"))
    folder.chmod(0o711)
    chance, bad, seen, began = random.Random(seed), 0, Counter[str](), time.monotonic()
    with ApiServer() as api:
        world = World(folder, api)
        async with fault_bench(world, api) as bench:
            for number in range(sequences):
                parts = sequence(chance)
                seen.update(part.name for part, _ in parts)
                problems = await bench.problems(parts, in_session=number % 4 != 0)
                bad += bool(problems)
                for problem in problems:
                    print(f"seed {seed}, sequence {number} ({', '.join(part.name for part, _ in parts)}): {problem}")
        world.server.leave()
    shutil.rmtree(folder, ignore_errors=True)
    print(f"seed {seed}: {sequences} sequences, {seen.total()} answers of {len(seen)} kinds in "
          f"{time.monotonic() - began:.0f} s; {bad} sequences not as they should be")  # fmt: skip
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash.faults", description=__doc__)
    parser.add_argument("--sequences", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return 1 if asyncio.run(run(options.sequences, options.seed)) else 0


if __name__ == "__main__":
    sys.exit(main())
