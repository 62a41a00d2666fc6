"""Tools: what a tool is, what it returns, and the context it runs in. A failed tool is a result, not an exception."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from cos.agent.records import ApprovalAnswer, Risk, ToolCallStatus

if TYPE_CHECKING:
    from pathlib import Path

    from cos.agent.cancellation import CancelToken
    from cos.agent.identity import TurnInfo
    from cos.agent.messages import Part

Json = dict[str, Any]
Kind = Literal["read", "search", "edit", "execute", "fetch", "think", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOk:
    """The tool did its work. `content` is what the model receives."""

    content: str
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolError:
    """The tool did not do its work; `content` tells the model why.

    `status` says how it ended when that is more than an error: `timed_out`, `cancelled`, `unknown`.
    """

    content: str
    status: ToolCallStatus = ToolCallStatus.ERROR


ToolOutcome = ToolOk | ToolError


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDescription:
    """What a call would do, before anything runs. The tool row, the approval and the dashboard all draw this."""

    title: str
    """One line."""
    kind: Kind = "other"
    detail: str = ""
    """The exact and whole text of what would run."""
    locations: tuple[str, ...] = ()
    """Files or addresses that the call touches."""
    diff: str | None = None
    """Unified diff, for edits."""
    cwd: str | None = None
    """The folder it would run in."""
    refusal: str | None = None
    """Why the call cannot succeed, when that is plain before it runs: the model is told, and nobody is asked."""


class ToolContext(Protocol):
    """What a running tool may use."""

    @property
    def workspace(self) -> Path:
        """Real path of the folder that the session works in."""
        ...

    @property
    def cancel(self) -> CancelToken:
        """Set when the turn is to stop. The tool is cancelled as a task too: clean up in `finally`."""
        ...

    def emit(self, text: str) -> None:
        """Show live output. Never blocks; may be coalesced."""
        ...

    def progress(self, text: str) -> None:
        """Replace the call's one-line progress note."""
        ...

    async def ask(self, question: str, choices: Sequence[str] = ()) -> ApprovalAnswer:
        """Ask the user, who may also answer in other words than `choices`. The call's clock stands still meanwhile.

        The decision is `answered`, `denied` (the user declined) or `expired`; only the first one is an answer.

        Raises:
            TurnCancelled: the turn is over.
        """
        ...


Run = Callable[[Json, "TurnInfo", ToolContext], Awaitable[ToolOutcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. `schema` is a JSON schema whose top level is an object; arguments are validated against it first."""

    name: str
    title: str
    """The verb a person reads, such as "Run"."""
    description: str
    """For the model."""
    schema: Json
    run: Run
    origin: str
    """The plugin or server that brought it."""
    risk: Risk | Callable[[Json], Risk] = "execute"
    parallel: bool = False
    """May run beside other parallel calls of the same step. Only for calls that change nothing."""
    describe: Callable[[Json, TurnInfo, Path], CallDescription] | None = None
    """Arguments, turn, workspace -> what the call would do. None = the name and the arguments as JSON."""
    stops_itself: bool = False
    """On cancel it ends by itself within seconds and returns what it can say; it is not cancelled before that."""
    needs_approval: bool = True
    """False: no mode of a profile asks about its calls or refuses them, only a rule may. For tools that change nothing
    but what cos itself keeps for the user, and that show each change."""
    timeout_seconds: float | None = None
    """Hard limit kept by the loop, waiting for the user not counted; None = the tool keeps its own."""

    def risk_of(self, args: Json) -> Risk:
        return self.risk(args) if callable(self.risk) else self.risk


@dataclass(frozen=True, slots=True)
class ToolSet:
    """The tools of one session by name."""

    tools: Mapping[str, Tool] = field(default_factory=dict)

    @classmethod
    def of(cls, *tools: Tool) -> ToolSet:
        return cls({tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)})

    def get(self, name: str) -> Tool | None:
        return self.tools.get(name)

    @property
    def names(self) -> list[str]:
        return list(self.tools)
