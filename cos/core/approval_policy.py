"""The first hook: what a profile's policy says of a tool call before any plugin is heard.

In this order: the floor that no mode lifts; the profile's rules, where a deny is final; what the user granted the
session; what only reads inside the workspace; the profile's mode.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol
from uuid import UUID

from cos.agent.events import Notice
from cos.agent.hooks import APPROVAL_POLICY, HookBus
from cos.core.rule_json import rule_words
from cos.core.rules import PATH_TOOLS, SHELL_TOOLS, JudgedCall, Rule, first_match, judged_call, relative_path
from cos.core.shell.floor import catastrophe
from cos.core.shell.repositories import program_of_repository
from cos.core.shell.risk import outside_paths
from cos.core.tools.clarify import NAME as CLARIFY

if TYPE_CHECKING:
    from cos.agent.identity import TurnInfo
    from cos.agent.records import Risk
    from cos.agent.tools import Tool
    from cos.core.effective import Sourced

Mode = Literal["ask", "auto", "deny"]
GrantsOf = Callable[[UUID], Awaitable[list[tuple[UUID, Rule]]]]
Verdict = dict[str, str] | None

_WHY: Final[dict[Risk, str]] = {
    "read": "it reads",
    "write": "it changes files",
    "execute": "it runs a program with your rights",
    "network": "it talks to the network",
}


class Book(Protocol):
    """The rules of a profile, as they are now."""

    @property
    def fault(self) -> str | None:
        """Why its file cannot be used at present."""
        ...

    def rules(self) -> Sequence[Rule]: ...

    @property
    def warning(self) -> str | None:
        """A sentence for the user while there is a fault."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePolicy:
    """What one profile wants."""

    mode: Callable[[], Sourced[Mode]]
    """The mode as it is after the book was read, and who set it, such as the profile's file or a flag."""
    book: Book


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionGrants:
    """How the policy asks for a session's grants, and says that one was used."""

    of_session: GrantsOf
    used: Callable[[UUID], Awaitable[None]]


def register_approval_policy(
    hooks: HookBus,
    policies: Mapping[str, ProfilePolicy],
    tools: Mapping[str, Tool],
    grants: SessionGrants,
    publish: Callable[[Notice], None],
) -> None:
    """Make the policy the first guard of every tool call. `policies` is by profile id."""
    policy = ApprovalPolicy(policies, tools, grants, publish)
    hooks.register("pre_tool_call", policy.judge, source=APPROVAL_POLICY)


class ApprovalPolicy:
    """Judges calls."""

    def __init__(
        self,
        policies: Mapping[str, ProfilePolicy],
        tools: Mapping[str, Tool],
        grants: SessionGrants,
        publish: Callable[[Notice], None],
    ) -> None:
        self._policies = policies
        self._tools = tools
        self._grants = grants
        self._publish = publish
        self._warned: set[tuple[UUID, str]] = set()

    async def judge(self, turn: TurnInfo, tool_name: str, args: dict[str, Any], workspace: str, cwd: str) -> Verdict:
        """The `pre_tool_call` callback."""
        # Off the loop: a long command line takes a while to read.
        call = await asyncio.to_thread(self._call, turn, tool_name, args, (Path(cwd), Path(workspace)))
        refused = await asyncio.to_thread(_below_the_floor, call)
        if refused:
            return _block(f"cos never runs this, whatever the mode: {refused}")
        policy = self._policies[turn.profile_id]
        rules = await asyncio.to_thread(policy.book.rules)
        self._warn(turn, policy.book)
        rule = first_match(rules, call)
        if rule is not None and rule.decision == "deny":
            return _block(f"a rule of the profile {turn.profile_id} denies it ({rule_words(rule)})")
        if tool_name == CLARIFY or (rule is not None and rule.decision == "allow"):
            return None  # Nobody is asked whether they may be asked.
        if await self._is_granted(turn.session_id, call):
            return None
        if rule is not None:
            return _ask(f"a rule of the profile asks ({rule_words(rule)}); {_why(call)}")
        tool = self._tools.get(tool_name)
        if tool is not None and not tool.needs_approval:
            return None
        return _by_mode(policy, call)

    def _warn(self, turn: TurnInfo, book: Book) -> None:
        """Tell a session once that its calls are judged by rules that its profile's file no longer holds."""
        said = book.warning
        if said and (turn.session_id, said) not in self._warned:
            self._warned.add((turn.session_id, said))
            self._publish(Notice(turn=turn, level="warning", text=said))

    def _call(self, turn: TurnInfo, name: str, args: dict[str, Any], folders: tuple[Path, Path]) -> JudgedCall:
        tool = self._tools.get(name)
        if tool is None:
            return judged_call(tool=name, origin="", risk="execute", args=args, tags=turn.tags, folders=folders)
        if name in SHELL_TOOLS and tool.describe is not None:
            # A guard may have changed the folder.
            cwd = tool.describe(args, turn, folders[1]).cwd
            folders = (Path(cwd) if cwd else folders[0], folders[1])
        risk = tool.risk_of(args)
        call = judged_call(tool=name, origin=tool.origin, risk=risk, args=args, tags=turn.tags, folders=folders)
        if risk != "read" or call.command is None:
            return call
        hidden = program_of_repository(call.command, call.workspace, call.cwd)
        return replace(call, risk="execute", hidden_program=hidden) if hidden else call

    async def _is_granted(self, session_id: UUID, call: JudgedCall) -> bool:
        grants = await self._grants.of_session(session_id)
        found = first_match([rule for _, rule in grants], call)
        if found is None:
            return False
        await self._grants.used(next(grant_id for grant_id, rule in grants if rule is found))
        return True


def _below_the_floor(call: JudgedCall) -> str | None:
    command = call.args.get("command")
    if call.command is None or not isinstance(command, str):
        return None
    return catastrophe(command, cwd=call.cwd, home=Path.home())


def _by_mode(policy: ProfilePolicy, call: JudgedCall) -> Verdict:
    mode = policy.mode()
    outside = outside_paths(call.command, call.workspace, call.cwd) if call.command is not None else ()
    if (call.risk == "read" and not outside) or mode.value == "auto":
        return None
    why = _why(call, outside)
    if mode.value == "deny":
        return _block(f"what needs approval is refused without asking ({mode.source}); {why}")
    broken = f" (its rules are those of before: {policy.book.fault})" if policy.book.fault else ""
    return _ask(why + broken)


def _why(call: JudgedCall, outside: tuple[str, ...] = ()) -> str:
    if call.risk == "write" and ".git" in Path(relative_path(call) or "").parts:
        return "it changes files of git, which can make git run programs"
    if call.command is not None and call.command.fault is not None:
        return f"its command could not be read ({call.command.fault})"
    if call.hidden_program is not None:
        return f"the repository can make git run programs by itself: {call.hidden_program}"
    if call.risk == "read" and outside:
        return f"it reads outside the workspace: {', '.join(outside[:3])}"
    if call.risk == "write" and call.tool not in PATH_TOOLS:
        return "it changes files or other data"
    return _WHY[call.risk]


def _block(message: str) -> Verdict:
    return {"action": "block", "message": message}


def _ask(message: str) -> Verdict:
    return {"action": "approve", "message": message}
