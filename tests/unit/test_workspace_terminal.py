"""The tool `terminal` with real shells: result, working folder, environment, limits."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cos.agent.records import ToolCallStatus
from cos.agent.tools import ToolError, ToolOk, ToolOutcome
from cos.core.plugin_api import PluginContext, Registrations
from cos.core.plugin_host import PluginHost
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.terminal import Terminal
from tests.tool_context import RecordingContext, new_turn


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder


@pytest.fixture
def ctx(workspace: Path) -> RecordingContext:
    return RecordingContext(workspace)


@pytest.fixture
async def terminal(workspace: Path) -> AsyncIterator[Terminal]:
    terminal = Terminal(SessionFolders(), lambda: os.environ)
    yield terminal
    assert await terminal.close() == ()


def content(outcome: ToolOutcome) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(outcome.content)
    return data


async def test_result_has_output_of_both_streams_in_order(
    terminal: Terminal, ctx: RecordingContext, workspace: Path
) -> None:
    outcome = await terminal.run({"command": "echo one; echo two >&2; echo three"}, new_turn(), ctx)
    assert outcome == ToolOk(content=outcome.content)
    assert content(outcome) == {"output": "one\ntwo\nthree\n", "exit_code": 0, "error": None, "cwd": str(workspace)}
    assert ctx.output == "one\ntwo\nthree\n"


async def test_failing_command_is_a_result_with_its_exit_code(terminal: Terminal, ctx: RecordingContext) -> None:
    outcome = await terminal.run({"command": "exit 3"}, new_turn(), ctx)
    assert isinstance(outcome, ToolOk)
    assert content(outcome)["exit_code"] == 3
    assert ctx.notes == ["exit 3"]


async def test_exit_by_signal_is_told_as_shells_do(terminal: Terminal, ctx: RecordingContext) -> None:
    assert content(await terminal.run({"command": "kill -KILL $$"}, new_turn(), ctx))["exit_code"] == 137


async def test_folder_is_kept_per_session(terminal: Terminal, ctx: RecordingContext, workspace: Path) -> None:
    mine, other = new_turn(), new_turn()
    (workspace / "a b").mkdir()
    assert content(await terminal.run({"command": "cd 'a b' && false"}, mine, ctx))["cwd"] == str(workspace / "a b")
    assert content(await terminal.run({"command": "pwd; exit 1"}, mine, ctx))["output"] == f"{workspace / 'a b'}\n"
    assert content(await terminal.run({"command": "pwd"}, other, ctx))["output"] == f"{workspace}\n"
    assert terminal.describe({"command": "ls"}, mine, workspace).cwd == str(workspace / "a b")


@pytest.mark.parametrize("command", ["cd ..", "cd /", "ln -s / out; cd out", "mkdir ../proj-evil; cd ../proj-evil"])
async def test_leaving_the_workspace_goes_back_and_says_so(
    terminal: Terminal, ctx: RecordingContext, workspace: Path, command: str
) -> None:
    """H-126"""
    turn = new_turn()
    result = content(await terminal.run({"command": command}, turn, ctx))
    assert result["cwd"] == str(workspace)
    assert "outside the workspace" in result["note"]
    assert content(await terminal.run({"command": "pwd"}, turn, ctx))["output"] == f"{workspace}\n"


async def test_removed_folder_falls_back_to_the_workspace(
    terminal: Terminal, ctx: RecordingContext, workspace: Path
) -> None:
    turn = new_turn()
    await terminal.run({"command": "mkdir sub; cd sub"}, turn, ctx)
    (workspace / "sub").rmdir()
    result = content(await terminal.run({"command": "pwd"}, turn, ctx))
    assert result["output"] == f"{workspace}\n"
    assert "is gone" in result["note"]


async def test_workdir_is_for_one_call(terminal: Terminal, ctx: RecordingContext, workspace: Path) -> None:
    turn = new_turn()
    (workspace / "sub").mkdir()
    call = {"command": "pwd", "workdir": "sub"}
    assert terminal.describe(call, turn, workspace).cwd == str(workspace / "sub")
    assert content(await terminal.run(call, turn, ctx)) == {
        "output": f"{workspace / 'sub'}\n", "exit_code": 0, "error": None, "cwd": str(workspace),
    }  # fmt: skip


@pytest.mark.parametrize("workdir", ["..", "/etc", "~", "$HOME", "", "nowhere", "a\0b", "sub/../../x", "a" * 300])
async def test_bad_workdir_runs_nothing(
    terminal: Terminal, ctx: RecordingContext, workspace: Path, workdir: str
) -> None:
    """H-126"""
    outcome = await terminal.run({"command": "touch ran", "workdir": workdir}, new_turn(), ctx)
    assert isinstance(outcome, ToolError)
    assert content(outcome)["error"]
    assert not list(workspace.iterdir())


@pytest.mark.parametrize("command", ["", "  \n", "echo a\0b", "echo \ud800", "echo " + "a" * 200_000])
async def test_impossible_command_is_refused_with_a_sentence(
    terminal: Terminal, ctx: RecordingContext, command: str
) -> None:
    outcome = await terminal.run({"command": command}, new_turn(), ctx)
    assert isinstance(outcome, ToolError)
    assert content(outcome)["error"].startswith("The command ")


async def test_missing_workspace_is_told(terminal: Terminal, ctx: RecordingContext, workspace: Path) -> None:
    workspace.rmdir()
    outcome = await terminal.run({"command": "true"}, new_turn(), ctx)
    assert f"The folder {workspace} does not exist any more" in content(outcome)["error"]


async def test_command_has_no_terminal_and_no_input(terminal: Terminal, ctx: RecordingContext) -> None:
    own_session = f"{sys.executable} -c 'import os; print(os.getsid(0) == os.getppid())'"
    command = f"cat; (: </dev/tty) 2>/dev/null || echo none; echo $TERM $PAGER; {own_session}"
    lines = content(await terminal.run({"command": command}, new_turn(), ctx))["output"].splitlines()
    assert lines == ["none", "dumb cat", "True"]


async def test_secrets_do_not_reach_the_command(ctx: RecordingContext, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"HOME": "/h", "ANTHROPIC_API_KEY": "sk-1", "PGPASSWORD": "is-sk-2", "WORK": "is-sk-3"}.items():
        monkeypatch.setenv(name, value)
    plugin = PluginContext("workspace", {}, Registrations(), PluginHost(keys_in=frozenset({"WORK"})))
    terminal = Terminal(SessionFolders(), plugin.child_environment)
    output = content(await terminal.run({"command": "env"}, new_turn(), ctx))["output"]
    assert "HOME=/h" in output
    assert "sk-" not in output


async def test_reading_git_command_runs_no_program_that_a_folder_names(
    terminal: Terminal, ctx: RecordingContext, workspace: Path
) -> None:
    """A folder that looks like a bare repository, and a repository with a monitor of its own."""
    await terminal.run({"command": "git init -q --bare trap && git init -q . && printf x >a"}, new_turn(), ctx)
    for config in (workspace / "trap" / "config", workspace / ".git" / "config"):
        with config.open("a") as file:
            file.write(
                f'[core]\n\tfsmonitor = "touch {workspace}/ran; false"\n\tbare = false\n\tworktree = {workspace}\n'
            )
    for folder in ("trap", "."):
        await terminal.run({"command": f"cd {folder} && git status", "workdir": "."}, new_turn(), ctx)
    assert not (workspace / "ran").exists()


async def test_syntax_error_shows_the_command_and_not_our_wrapper(terminal: Terminal, ctx: RecordingContext) -> None:
    result = content(await terminal.run({"command": "echo hi\necho ("}, new_turn(), ctx))
    assert result["exit_code"] != 0
    assert "line 2" in result["output"]
    assert "trap" not in result["output"]


async def test_traced_command_does_not_show_our_trap(terminal: Terminal, ctx: RecordingContext) -> None:
    result = content(await terminal.run({"command": "set -x; cd ."}, new_turn(), ctx))
    assert result["output"].strip("+") == " cd .\n"


async def test_output_over_the_limit_keeps_head_and_tail(terminal: Terminal, ctx: RecordingContext) -> None:
    result = content(await terminal.run({"command": "seq 1 100000"}, new_turn(), ctx))
    assert result["output"].startswith("1\n2\n")
    assert result["output"].endswith("99999\n100000\n")
    assert f"[{result['truncated']:,} bytes of output left out here]" in result["output"]
    assert result["truncated"] == 588_895 - 50_000
    assert ctx.output.count("\n") == 100_000


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("cat /bin/ls", "[binary output not shown: "),
        ("head -c 500000 /dev/urandom", "binary data, 500,000 bytes"),
        ("head -c 100 /dev/zero", "binary data, 100 bytes"),
    ],
)
async def test_binary_output_is_named_instead_of_shown(
    terminal: Terminal, ctx: RecordingContext, command: str, says: str
) -> None:
    """H-121"""
    outcome = await terminal.run({"command": command}, new_turn(), ctx)
    assert says in content(outcome)["output"]
    assert len(outcome.content) < 300
    assert ctx.output == "[binary output, not shown live]\n"


async def test_spelled_escapes_survive_and_only_a_real_nul_is_replaced(
    terminal: Terminal, ctx: RecordingContext
) -> None:
    """H-009"""
    result = content(await terminal.run({"command": r"printf '%s' '\u0000'; printf 'a\0b'"}, new_turn(), ctx))
    assert result["output"] == "\\u0000a\ufffdb"
    assert ctx.output == "\\u0000a\ufffdb"


async def test_terminal_sequences_stay_data(terminal: Terminal, ctx: RecordingContext) -> None:
    r"""H-042: kept exactly in the result; whoever draws it uses `visible`."""
    result = content(await terminal.run({"command": r"printf '\033[?1049h\033[31mred\007\r over'"}, new_turn(), ctx))
    assert result["output"] == "\x1b[?1049h\x1b[31mred\x07\r over"


async def test_time_out_keeps_partial_output_and_says_so(terminal: Terminal, ctx: RecordingContext) -> None:
    outcome = await terminal.run({"command": "echo before; sleep 60", "timeout": 0.3}, new_turn(), ctx)
    assert isinstance(outcome, ToolError)
    assert outcome.status is ToolCallStatus.TIMED_OUT
    result = content(outcome)
    assert (result["output"], result["exit_code"]) == ("before\n", 124)
    assert result["error"].startswith("The command timed out after 0.3 s. It was stopped with everything")


def test_description_is_one_line_and_the_whole_command(tmp_path: Path) -> None:
    terminal = Terminal(SessionFolders(), lambda: os.environ)
    command = "\ncat <<E\x85F\u2028 > x\nline\nE\n"
    described = terminal.describe({"command": command}, new_turn(), tmp_path)
    assert described.title == "$ cat <<E …"
    assert described.detail == command
    assert described.cwd == str(tmp_path)
