"""What a profile's policy says of a call before any plugin is heard."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cos.agent.events import Notice
from cos.agent.hook_rules import Verdict, judge_call
from cos.agent.hooks import HookBus
from cos.core.approval_policy import ProfilePolicy, SessionGrants, register_approval_policy
from cos.core.effective import Sourced
from tests.agent_bench import tool
from tests.tool_context import new_turn
from tests.unit.test_hooks import arguments

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from cos.agent.identity import TurnInfo
    from cos.agent.records import Risk
    from cos.core.approval_policy import Mode
    from cos.core.rules import Rule


class NoBook:
    """A profile without rules."""

    fault: str | None = None
    warning: str | None = None

    def rules(self) -> tuple[Rule, ...]:
        return ()


async def no_grants(session_id: UUID) -> list[tuple[UUID, Rule]]:
    return []


async def nothing(grant_id: UUID) -> None:
    raise AssertionError(f"there is no grant {grant_id}")


async def verdict(
    mode: Mode, name: str, risk: Risk = "read", *, workspace: str = "/w", args: Mapping[str, str] | None = None
) -> Verdict:
    bus = HookBus()
    policies = {"home": ProfilePolicy(mode=lambda: Sourced(mode, "the profile home"), book=NoBook())}
    grants = SessionGrants(of_session=no_grants, used=nothing)
    tools = {"keeps": replace(tool("keeps", risk=risk), needs_approval=False)}
    tools |= {name: tool(name, risk=risk) for name in ("known", "terminal")}
    register_approval_policy(bus, policies, tools, grants, list[Notice]().append)
    asked = {"turn": new_turn(), "tool_name": name, "args": dict(args or {}), "workspace": workspace, "cwd": workspace}
    return await judge_call(bus, **arguments("pre_tool_call", **asked))


@pytest.mark.parametrize("mode", ["ask", "deny"])
async def test_reading_needs_no_approval(mode: Mode) -> None:
    assert await verdict(mode, "known") == Verdict()


@pytest.mark.parametrize(
    ("risk", "why"),
    [
        ("write", "it changes files or other data"),
        ("execute", "it runs a program with your rights"),
        ("network", "it talks to the network"),
    ],
)
async def test_everything_else_is_asked_or_denied_with_the_reason(risk: Risk, why: str) -> None:
    assert await verdict("ask", "known", risk) == Verdict(reasons=(why,))
    denied = await verdict("deny", "known", risk)
    assert (denied.blocked_by, why in denied.message, "home" in denied.message) == ("approval_policy", True, True)


@pytest.mark.parametrize("mode", ["ask", "deny"])
async def test_what_only_changes_what_cos_keeps_is_neither_asked_nor_denied(mode: Mode) -> None:
    assert await verdict(mode, "keeps", "write") == Verdict()


async def test_a_tool_of_unknown_origin_is_taken_for_the_worst() -> None:
    assert (await verdict("ask", "other")).reasons == ("it runs a program with your rights",)


async def test_a_session_is_told_once_that_the_rules_of_before_judge_its_calls() -> None:
    bus, book, published = HookBus(), NoBook(), list[Notice]()
    policies = {"home": ProfilePolicy(mode=lambda: Sourced("auto", "the profile home"), book=book)}
    grants = SessionGrants(of_session=no_grants, used=nothing)
    register_approval_policy(bus, policies, {"known": tool("known")}, grants, published.append)
    first, second = new_turn(), new_turn()

    async def judged(turn: TurnInfo, warning: str | None) -> list[str]:
        book.warning = warning
        published.clear()
        await judge_call(
            bus, **arguments("pre_tool_call", turn=turn, tool_name="known", args={}, workspace="/w", cwd="/w")
        )
        assert all((notice.turn, notice.level) == (turn, "warning") for notice in published)
        return [notice.text for notice in published]

    assert await judged(first, None) == []
    assert await judged(first, "broken") == ["broken"]
    assert await judged(first, "broken") == []
    assert await judged(second, "broken") == ["broken"]
    assert await judged(first, "broken in another way") == ["broken in another way"]
