"""The first hook: what a profile's policy says of a tool call before any plugin is heard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from cos.agent.hooks import APPROVAL_POLICY, HookBus

if TYPE_CHECKING:
    from cos.agent.identity import TurnInfo
    from cos.agent.records import Risk
    from cos.agent.tools import Tool

_WHY: Final[dict[Risk, str]] = {
    "read": "it reads",
    "write": "it changes files",
    "execute": "it runs a program with your rights",
    "network": "it talks to the network",
}


Mode = Literal["ask", "auto", "deny"]


def register_approval_policy(hooks: HookBus, modes: Mapping[str, Mode], tools: Mapping[str, Tool]) -> None:
    """Make the policy the first guard of every tool call. `modes` is by profile id."""
    hooks.register("pre_tool_call", _policy(modes, tools), source=APPROVAL_POLICY)


def _policy(modes: Mapping[str, Mode], tools: Mapping[str, Tool]) -> Callable[..., Any]:
    async def approval_policy(turn: TurnInfo, tool_name: str, args: dict[str, Any]) -> dict[str, str] | None:
        risk = tools[tool_name].risk_of(args) if tool_name in tools else "execute"
        if risk == "read":
            return None
        if modes[turn.profile_id] == "deny":
            message = f"nobody can be asked for approval here (mode deny of profile {turn.profile_id}); {_WHY[risk]}"
            return {"action": "block", "message": message}
        return {"action": "approve", "message": _WHY[risk]}

    return approval_policy
