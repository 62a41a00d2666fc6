"""`cos ask`: one turn without the app, for people in a hurry and for scripts."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeGuard

from cos.agent.errors import CosError
from cos.agent.events import TurnCompleted
from cos.agent.records import TurnStatus
from cos.agent.tags import merge_tags
from cos.cli.ask_output import CALL_RECORDED, AskOutput, JsonOutput, TextOutput
from cos.cli.ask_waiting import print_end, turn_of_waiting
from cos.cli.compose import open_core
from cos.cli.logs import log_to
from cos.cli.opening import StartRequest
from cos.cli.running_core import Core
from cos.cli.standing_refusal import StandingRefusal
from cos.cli.terminal_answers import TerminalAnswers
from cos.core.choose_session import chosen_session
from cos.core.effective import NOBODY_ANSWERS, Flags
from cos.core.inbound import Inbound
from cos.core.live import PluginEvent, Resync, SessionEvent, session_of
from cos.core.paths import Paths

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.events import AgentEvent
    from cos.core.live import CoreEvent, Subscription

_CHILDS: Final = frozenset({"approval.requested", "approval.resolved", CALL_RECORDED})
"""What is told of child agents: what a person has to answer, and what was paid."""
COMPLETED, FAILED, REFUSED, CANCELLED, OUT_OF_BUDGET = 0, 1, 3, 4, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What was asked for on the command line, checked."""

    text: str
    flags: Flags
    tags: tuple[str, ...]
    session: str | None
    resume: bool
    timeout_seconds: float | None
    can_answer: bool
    """A person at this terminal can answer requests for approval."""


def run(options: argparse.Namespace) -> int:
    wish = _wish(options)
    log_to(Paths.from_environment(os.environ).log_file)
    output: AskOutput = JsonOutput() if options.json else TextOutput()
    return asyncio.run(_ask(wish, output))


def _wish(options: argparse.Namespace) -> _Wish:
    reads_stdin = options.text == "-"
    text = sys.stdin.read() if reads_stdin else options.text
    if not text.strip():
        raise CosError("the message is empty; give a text, or - and a text on standard input")
    can_answer = not reads_stdin and sys.stdin.isatty() and sys.stderr.isatty()
    is_denied = options.approve == "deny"
    return _Wish(
        text=text,
        flags=Flags(
            profile=options.profile,
            approval_mode="deny" if is_denied else None,
            is_unattended=not can_answer and options.approve is None,
        ),
        tags=merge_tags(options.tags),
        session=options.session,
        resume=options.resume,
        timeout_seconds=options.timeout_seconds,
        can_answer=can_answer and not is_denied,
    )


async def _ask(wish: _Wish, output: AskOutput) -> int:
    request = StartRequest(env=os.environ, flags=wish.flags, surface="cli", say=output.progress)
    core = await open_core(request)
    try:
        return await _one_turn(core, wish, output)
    finally:
        await core.close()


async def _one_turn(core: Core, wish: _Wish, output: AskOutput) -> int:
    session_id = await chosen_session(core.sessions, wish.session, resume=wish.resume, profile_id=wish.flags.profile)
    profile_id = core.profile.id
    if session_id is not None and wish.flags.profile is None:
        profile_id = (await core.sessions.get(session_id)).profile_id
    core.dispatcher.goes_on_alone = False
    with core.feed.subscribe() as events:
        accepted = await core.dispatcher.dispatch(
            Inbound(text=wish.text, profile_id=profile_id, source="cli", session_id=session_id, tags=wish.tags)
        )
        if accepted.session_id is None or accepted.handled:
            output.reply(accepted.said)
            return COMPLETED
        turn: UUID | TurnCompleted | None = accepted.turn_id
        if turn is None:
            busy = "The session is busy in another cos; waiting for the message's turn."
            output.progress(accepted.trouble or busy)
            turn = await turn_of_waiting(core, accepted, asyncio.timeout(wish.timeout_seconds), output.progress)
        if isinstance(turn, TurnCompleted):
            return _exit_code(await print_end(core.sessions, turn, output))
        output.session(accepted.session_id)
        _cancel_on_signals(core, accepted.session_id)
        if wish.timeout_seconds is not None:
            _cancel_after(core, accepted.session_id, wish.timeout_seconds, output)
        answers = _answers(core, wish)
        end = await _follow(events, accepted.session_id, turn, answers, output)
        await core.edits.seen(accepted.session_id)
        return _exit_code(end)


def _answers(core: Core, wish: _Wish) -> TerminalAnswers | StandingRefusal | None:
    """Who answers requests for approval in this process."""
    if wish.flags.approval_mode == "deny":
        return StandingRefusal(core.desk, "flag --approve deny")
    if wish.flags.is_unattended:
        return StandingRefusal(core.desk, NOBODY_ANSWERS)
    return TerminalAnswers(core.desk) if wish.can_answer else None


async def _follow(
    events: Subscription,
    session_id: UUID,
    turn_id: UUID,
    answers: TerminalAnswers | StandingRefusal | None,
    output: AskOutput,
) -> TurnCompleted:
    family = {turn_id}
    try:
        async for live in events:
            event = live.event
            if isinstance(event, Resync):
                continue
            if session_of(event) != session_id:
                if not _is_childs(event, family):
                    continue
                family.add(event.turn.turn_id)
            if session_of(event) == session_id or event.type in _CHILDS:
                output.event(event)
            if answers is not None:
                answers.see(event)
            if isinstance(event, TurnCompleted) and event.turn.turn_id == turn_id:
                return event
    finally:
        if answers is not None:
            await answers.close()
    raise CosError("the live feed ended before the turn did")


def _is_childs(event: CoreEvent, family: set[UUID]) -> TypeGuard[AgentEvent | PluginEvent]:
    """Whether it is about a turn that one of the `family` has delegated."""
    return not isinstance(event, SessionEvent) and event.turn.parent_turn_id in family


def _cancel_on_signals(core: Core, session_id: UUID) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, core.dispatcher.cancel, session_id, f"by {number.name}")


def _cancel_after(core: Core, session_id: UUID, seconds: float, output: AskOutput) -> None:
    def cancel() -> None:
        reason = f"it took longer than {seconds:g} s"
        if core.dispatcher.cancel(session_id, reason):
            output.progress(f"{reason}, so it is cancelled")

    asyncio.get_running_loop().call_later(seconds, cancel)


def _exit_code(end: TurnCompleted) -> int:
    if end.status is TurnStatus.CANCELLED:
        return CANCELLED
    if end.status is not TurnStatus.COMPLETED:
        return OUT_OF_BUDGET if end.stop_reason == "budget" else FAILED
    return REFUSED if end.stop_reason == "refusal" or end.denied_calls else COMPLETED
