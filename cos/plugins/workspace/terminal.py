"""The tool `terminal`: one shell command in the session's working folder.

Background processes that a command leaves behind go on running and are named in its result; `close` ends them. A
command that is cancelled or timed out takes everything it started with it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.cancellation import uninterrupted
from cos.agent.records import Risk, ToolCallStatus
from cos.agent.text import storable
from cos.agent.tools import CallDescription, Json, Tool, ToolContext, ToolError, ToolOk, ToolOutcome
from cos.core.plugin_api import command_risk
from cos.plugins.workspace.command import CommandNotStarted, Ending, RunningCommand
from cos.plugins.workspace.environment import command_environment
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.paths import PathRefused, is_folder, real_path, resolve, shown
from cos.plugins.workspace.process_tree import RunningProcess

if TYPE_CHECKING:
    from cos.agent.identity import TurnInfo

DEFAULT_TIMEOUT_SECONDS = 180
MAX_TIMEOUT_SECONDS = 600
# What shells and `timeout` use for these endings.
TIMED_OUT_EXIT_CODE = 124
CANCELLED_EXIT_CODE = 130
_LONGEST_JUDGED = 4_000
_TITLE_CHARACTERS = 120

_log = logging.getLogger(__name__)

DESCRIPTION = """\
Run a shell command (bash) in the workspace and return JSON: `output` (stdout and stderr together), `exit_code`, \
`error`, `cwd`. The working folder is kept between calls: after `cd sub` the next command starts in sub. There is no \
terminal and no input: programs that ask questions fail, so pass flags such as --yes. Output over 50,000 bytes is cut \
in the middle. The call returns when the shell exits; what was started with `&` goes on running and is listed by pid."""

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "The command, one or several lines."},
        "timeout": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": MAX_TIMEOUT_SECONDS,
            "description": f"Seconds after which the command is stopped; {DEFAULT_TIMEOUT_SECONDS} when not given.",
        },
        "workdir": {
            "type": "string",
            "description": "Folder inside the workspace for this call only, relative to the working folder.",
        },
    },
    "required": ["command"],
    "additionalProperties": False,
}


class Terminal:
    """Runs commands and remembers what they left running."""

    def __init__(self, folders: SessionFolders, environment: Callable[[], Mapping[str, str]]) -> None:
        self._folders = folders
        self._environment = environment
        self._left_running: list[RunningCommand] = []

    def tool(self, origin: str) -> Tool:
        return Tool(
            name="terminal", title="Run", description=DESCRIPTION, schema=SCHEMA, origin=origin, risk=_risk,
            run=self.run, describe=self.describe, stops_itself=True,
        )  # fmt: skip

    @property
    def left_running(self) -> tuple[RunningCommand, ...]:
        """The commands whose background processes still ran when this was last looked at."""
        return tuple(self._left_running)

    def describe(self, args: Json, turn: TurnInfo, workspace: Path) -> CallDescription:
        command = str(args.get("command", ""))
        cwd = self._folders.planned(turn, workspace, args.get("workdir"))
        return CallDescription(title=_title(command), kind="execute", detail=command, cwd=cwd)

    async def run(self, args: Json, turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        await self._forget_ended()
        workspace = real_path(ctx.workspace)
        session_folder, note = self._folders.current(turn, workspace)
        report = _Report(folder=session_folder, notes=[note] if note else [])
        command, timeout = args["command"], args.get("timeout", DEFAULT_TIMEOUT_SECONDS)
        try:
            _check_command(command)
            folder = _folder_for(args.get("workdir"), workspace=workspace, session_folder=session_folder)
            running = await RunningCommand.start(
                command, folder=folder, environment=command_environment(self._environment()), emit=ctx.emit
            )
        except (PathRefused, CommandNotStarted) as refusal:
            return report.not_started(str(refusal))
        try:
            ending = await running.wait(timeout, ctx.cancel)
            if ending is not Ending.EXITED:
                return report.stopped(running, ending, timeout, await uninterrupted(running.stop()))
            background = await running.settle()
        except BaseException:
            if survivors := await uninterrupted(running.stop()):
                ctx.emit(f"\n[stopped; still running: {_listed(survivors)}]\n")
            raise
        else:
            if args.get("workdir") is None:
                self._follow(running.final_folder(), turn, workspace, report)
            if background:
                self._left_running.append(running)
            ctx.progress(f"exit {running.exit_code}")
            return report.finished(running, background)
        finally:
            if running in self._left_running:
                running.detach()
            else:
                running.close()

    async def close(self) -> tuple[RunningProcess, ...]:
        """End what earlier commands left running; return (and log) what could not be ended."""
        left, self._left_running = self._left_running, []
        survivors = [process for group in await asyncio.gather(*(one.stop() for one in left)) for process in group]
        for one in left:
            one.close()
        if survivors:
            _log.warning("Processes started by terminal commands could not be ended: %s", _listed(survivors))
        return tuple(survivors)

    def _follow(self, folder: Path | None, turn: TurnInfo, workspace: Path, report: _Report) -> None:
        if folder is None:
            return
        if refusal := self._folders.move(turn, workspace, folder):
            report.notes.append(refusal)
        report.folder, _ = self._folders.current(turn, workspace)

    async def _forget_ended(self) -> None:
        for one in list(self._left_running):
            if not await one.tree.look() and one in self._left_running:
                self._left_running.remove(one)
                one.close()


@dataclass(kw_only=True)
class _Report:
    """Builds the JSON text that the model receives."""

    folder: Path
    """Where the session's next command starts."""
    notes: list[str]

    def finished(self, running: RunningCommand, background: Sequence[RunningProcess]) -> ToolOk:
        if background:
            self.notes.append(
                f"Still running in the background: {_listed(background)}. It is ended when cos exits; "
                "stop it earlier with `kill PID`."
            )
        return ToolOk(content=self._content(running, running.exit_code, None, background=background))

    def stopped(
        self, running: RunningCommand, ending: Ending, timeout: float, survivors: Sequence[RunningProcess]
    ) -> ToolError:
        end = f"It could not be ended completely; still running: {_listed(survivors)}." if survivors else (
            "It was stopped with everything it had started."
        )  # fmt: skip
        if ending is Ending.CANCELLED:
            content = self._content(running, CANCELLED_EXIT_CODE, f"The command was cancelled. {end}")
            return ToolError(content=content, status=ToolCallStatus.CANCELLED)
        error = (
            f"The command timed out after {timeout:g} s. {end} Give a longer `timeout` (at most "
            f"{MAX_TIMEOUT_SECONDS} s), or start a long-running program with `&`."
        )
        content = self._content(running, TIMED_OUT_EXIT_CODE, error)
        return ToolError(content=content, status=ToolCallStatus.TIMED_OUT)

    def not_started(self, error: str) -> ToolError:
        return ToolError(content=self._content(None, None, error))

    def _content(
        self, running: RunningCommand | None, exit_code: int | None, error: str | None, *,
        background: Sequence[RunningProcess] = (),
    ) -> str:  # fmt: skip
        output, dropped = running.collector.result() if running else ("", 0)
        content: Json = {"output": output, "exit_code": exit_code, "error": error, "cwd": shown(self.folder)}
        if dropped:
            content["truncated"] = dropped
        if background:
            content["background"] = [asdict(process) for process in background]
        if self.notes:
            content["note"] = " ".join(self.notes)
        return json.dumps(content, ensure_ascii=False)


def _title(command: str) -> str:
    lines = [line.strip() for line in command.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    if len(first) > _TITLE_CHARACTERS:
        return f"$ {first[:_TITLE_CHARACTERS]}…"
    return f"$ {first} …" if len(lines) > 1 else f"$ {first}"


def _risk(args: Json) -> Risk:
    command = str(args.get("command", ""))
    # Reading a long line takes a moment, and nobody takes one that long for harmless.
    return command_risk(command) if len(command) <= _LONGEST_JUDGED else "execute"


def _check_command(command: str) -> None:
    if not command.strip():
        raise CommandNotStarted("The command is empty; give the shell command to run.")
    if storable(command) != command:
        raise CommandNotStarted("The command holds a NUL or another character that is no valid text; write it without.")


def _folder_for(workdir: str | None, *, workspace: Path, session_folder: Path) -> Path:
    if workdir is None:
        return session_folder
    folder = resolve(workdir, workspace=workspace, folder=session_folder)
    if not is_folder(folder):
        raise PathRefused(f"The workdir {shown(folder)} is not a folder; create it first or name another one.")
    return folder


def _listed(processes: Iterable[RunningProcess]) -> str:
    return ", ".join(str(process) for process in processes)
