"""How the returns of a hook's callbacks combine: one function per rule. Shapes that fit no rule are ignored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cos.agent.hooks import APPROVAL_POLICY, Answer, Failure, HookBus

Returns = Sequence[Answer | Failure]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the guards say of a tool call."""

    blocked_by: str | None = None
    message: str = ""
    """Why it is blocked, for the model and the user."""
    reasons: tuple[str, ...] = ()
    """Why the user is to be asked; empty = run without asking."""


def first_action(returns: Returns, actions: frozenset[str]) -> dict[str, Any] | None:
    """The first returned dict whose `action` is one of `actions`."""
    for answer in returns:
        if isinstance(answer, Answer) and isinstance(answer.value, dict) and answer.value.get("action") in actions:
            return answer.value
    return None


def joined_context(returns: Returns) -> str | None:
    """Every non-blank string or {'context': text}, joined by a blank line in order."""
    pieces = []
    for answer in returns:
        if isinstance(answer, Answer):
            value = answer.value.get("context") if isinstance(answer.value, dict) else answer.value
            if isinstance(value, str) and value.strip():
                pieces.append(value)
    return "\n\n".join(pieces) or None


def first_string(returns: Returns, *, empty_counts: bool) -> str | None:
    """The first returned string; an empty one only when `empty_counts`."""
    for answer in returns:
        if isinstance(answer, Answer) and isinstance(answer.value, str) and (answer.value or empty_counts):
            return answer.value
    return None


async def judge_call(bus: HookBus, **arguments: Any) -> Verdict:
    """Run the `pre_tool_call` guards over the live dict `args` and combine: block beats approve beats modify.

    The approval policy judges first, and a block ends it there. If a guard then changed `args`, the policy judges the
    final ones again; only its last word counts.
    """
    policy = await _policy(bus, arguments)
    blocked = _block(policy)
    if blocked:
        return blocked
    args = arguments["args"]
    before = repr(args)
    guards = await bus.fire_for(lambda source: source != APPROVAL_POLICY, "pre_tool_call", **arguments)
    blocked = _block(guards)
    if blocked:
        return blocked
    for answer in guards:
        if isinstance(answer, Answer) and _action(answer) == "modify" and isinstance(answer.value.get("args"), dict):
            args.update(answer.value["args"])
    if repr(args) != before:  # Not ==, for which True, 1 and 1.0 are the same.
        policy = await _policy(bus, arguments)
        blocked = _block(policy)
        if blocked:
            return blocked
    return _asking((*policy, *guards))


async def judge_by_policy(bus: HookBus, **arguments: Any) -> Verdict:
    """What the approval policy alone says."""
    policy = await _policy(bus, arguments)
    return _block(policy) or _asking(policy)


async def _policy(bus: HookBus, arguments: dict[str, Any]) -> Returns:
    return await bus.fire_for(lambda source: source == APPROVAL_POLICY, "pre_tool_call", **arguments)


def _asking(returns: Returns) -> Verdict:
    asks = [answer for answer in returns if isinstance(answer, Answer) and _action(answer) == "approve"]
    return Verdict(reasons=tuple(str(a.value.get("message") or f"the plugin {a.source} wants it asked") for a in asks))


def _action(answer: Answer) -> Any:
    return answer.value.get("action") if isinstance(answer.value, dict) else None


def _block(returns: Returns) -> Verdict | None:
    for answer in returns:
        if isinstance(answer, Failure):
            return Verdict(answer.source, f"the guard of {answer.source} did not work, so nothing ran: {answer.reason}")
        message = answer.value.get("message") if isinstance(answer.value, dict) else None
        if _action(answer) == "block" and isinstance(message, str) and message:
            return Verdict(answer.source, message)
    return None
