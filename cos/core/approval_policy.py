"""The first hook: what a profile's policy says of a tool call before any plugin is heard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from cos.agent.hooks import APPROVAL_POLICY, HookBus

if TYPE_CHECKING:
    from cos.agent.identity import TurnInfo
    from cos.agent.records import Risk
    from cos.agent.tools import Tool
    from cos.core.profiles import Profile

_WHY: Final[dict[Risk, str]] = {
    "read": "it reads",
    "write": "it changes files",
    "execute": "it runs a program with your rights",
    "network": "it talks to the network",
}


def register_approval_policy(hooks: HookBus, profiles: Mapping[str, Profile], tools: Mapping[str, Tool]) -> None:
    """Make the policy the first guard of every tool call."""
    hooks.register("pre_tool_call", _policy(profiles, tools), source=APPROVAL_POLICY)


def _policy(profiles: Mapping[str, Profile], tools: Mapping[str, Tool]) -> Callable[..., Any]:
    async def approval_policy(turn: TurnInfo, tool_name: str, args: dict[str, Any]) -> dict[str, str] | None:
        risk = tools[tool_name].risk_of(args) if tool_name in tools else "execute"
        if risk == "read":
            return None
        if profiles[turn.profile_id].settings.approvals.mode == "deny":
            return {
                "action": "block",
                "message": f"the policy of profile {turn.profile_id} (approvals.mode = deny) refuses it: {_WHY[risk]}",
            }
        return {"action": "approve", "message": _WHY[risk]}

    return approval_policy
