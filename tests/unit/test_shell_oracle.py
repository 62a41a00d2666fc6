"""What is allowed or taken for reading must run exactly as it was judged: every such line is really given to bash.

bash runs in an empty folder with a PATH that holds only stubs which log their words. `COS_ORACLE_EXAMPLES=10000` runs
that many generated lines instead of some hundred.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cos.core.rules import Rule, first_match, judged_call
from cos.core.shell.parsed import Parsed, parse
from cos.core.shell.risk import only_reads
from cos.core.shell.words import Word

BASH = shutil.which("bash") or "/bin/bash"
EXAMPLES = int(os.environ.get("COS_ORACLE_EXAMPLES", "400"))
PROGRAMS = ["git", "ls", "cat", "grep", "wc", "rm", "env", "sudo", "sh", "python3", "head", "x", "tee", "find"]
BUILTINS = {"echo", "printf", "pwd", "cd", "true", "false", "type"}
RULES = [
    Rule(tool="terminal", match="git status", decision="allow"),
    Rule(tool="terminal", match="git log *", decision="allow"),
    Rule(tool="terminal", match="cat docs/*", decision="allow"),
    Rule(tool="terminal", match="wc -l", decision="allow"),
]

COMMANDS = st.sampled_from(
    ["git status", "git log", "git log -n 5", "git status -s", "ls", "ls -la", "cat docs/a.md", "wc -l", "grep x y",
     "head -5 a", "find . -name a", "rm -rf build", "env git status", "FOO=1 git status", "sudo git status",
     "./git status",
     "/usr/bin/git status", "cat", "git  log", "time git status", "! git status", "command git status"]
)  # fmt: skip
SEPARATORS = st.sampled_from(
    [";", " ; ", "&&", " && ", "||", "|", " | ", "|&", "&", " & ", "\n", "\n\n", ";;", " ", "", "\\\n", ";\n",
     "&\n", "&& \n",
     "\r\n", "\r", "\v", "\f", "\t", "\u00a0", "\u2028", "\u200b", "\x00", "\x1b", "\x7f", "\x85", "#", " #",
     " # ", "(", ")"]
)  # fmt: skip
TAILS = st.sampled_from(
    ["$x", "${x}", "$(rm a)", "`rm a`", "$((1+1))", "<(ls)", ">(tee)", ">out", "> out", "2>out", "2>&1", ">&out",
     ">&2",
     "2>/dev/null", ">/dev/null", "&>/dev/null", "&>out", "<docs", "< /dev/null", "<>out", ">|out", "<<E\na\nE",
     "<<'E'\n$(rm a)\nE",
     "<<<a", "{a,b}", "{a..c}", "*", "?", "[ab]", "~", "~root", "a=~", "'a b'", '"a b"', "a\\ b", "'a'\"b\"c", "$'a'",
     "$'\\n'", '$"a"', '"a$"', '"$"a', '"a\\"b"', "'", '"', "\\", "--", "-n", "a#b", "#", "=", "a=b", "!", "!x",
     "!!", "{}",
     "{", "}", "[", "]", "]]", "[[", "@{1}", "%", "^", "-", "5", "5>a", "1", "1>&2", "é", "日本", "\U0001f600",
     "{x}>out",
     "\\;", "\\\n", "\\#", "''", '""', "'a\nb'", "if", "do", "done", "+(a)", "!(a)", "$", "$-", "$?", "@", "-exec",
     "rm",
     "{}\\;", "10>x", "\\$x", "'$x'", '"`rm a`"', '"\\`"', "a;", ";a", "&a", "|a", "--output=a", "-delete", "-o"]
)  # fmt: skip
PREFIXES = st.sampled_from(
    ["", "", "", "", "env ", "FOO=1 ", "sudo ", "./", "/bin/", "\\", "'", "! ", "time ", "{ ", "( ", "\t", "\n",
     "x=$(", "f() ",
     ">out ", "2>&1 ", "exec ", "eval ", "if ", "coproc ", "$x ", "function ", "command ", "a+=1 ", "a[0]=1 "]
)  # fmt: skip


@st.composite
def lines(draw: st.DrawFn) -> str:
    text = ""
    for index in range(draw(st.integers(1, 3))):
        plain = st.sampled_from([";", " && ", "|", " || ", "\n", "&"])
        text += draw(st.one_of(plain, SEPARATORS)) if index else ""
        text += (draw(PREFIXES) if draw(st.integers(0, 3)) == 0 else "") + draw(COMMANDS)
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2]))):
            text += draw(st.sampled_from([" ", " ", " ", ""])) + draw(TAILS)
    return text + draw(st.sampled_from(["", "", "", " ", "\n", ";", " &", "\\"]))


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs that only write down what they were given, each word with its length."""
    folder = tmp_path_factory.mktemp("stubs")
    for name in PROGRAMS:
        script = f'#!{BASH}\nprintf "%s\\0" {name} "$@" > "$COS_LOG/$$"\n'
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    return folder


def really_run(text: str, stubs: Path, folder: Path) -> tuple[list[tuple[str, ...]], list[str]]:
    """What the stubs were called with, and the files that are there now."""
    log = folder.parent / "log"
    for item in (log, folder):
        shutil.rmtree(item, ignore_errors=True)
    # One file for each call: those of a pipeline write at the same time.
    log.mkdir()
    (folder / "docs").mkdir(parents=True)
    subprocess.run(
        [BASH, "-c", 'eval "$1"; wait', "bash", text], cwd=folder, env={"PATH": str(stubs), "COS_LOG": str(log)},
        stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False,
    )  # fmt: skip
    calls = [tuple(item.read_bytes().decode().split("\0")[:-1]) for item in log.iterdir()]
    return calls, sorted(item.name for item in folder.iterdir())


def is_allowed(line: Parsed, folder: Path) -> bool:
    call = judged_call(
        tool="terminal",
        origin="workspace",
        risk="execute",
        args={"command": line.text},
        tags=(),
        folders=(folder, folder),
    )
    return first_match(RULES, call) is not None


def expected(words: tuple[Word, ...]) -> tuple[str, ...]:
    """What the program receives; a pattern stays as written where nothing has such a name."""
    return tuple(word.text for word in words)


def check(text: str, stubs: Path, folder: Path) -> None:
    line = parse(text)
    allowed = is_allowed(line, folder)
    if not (allowed or only_reads(line) or line.is_simple):
        return
    if line.is_simple and line.commands[0].words[0].text not in PROGRAMS:
        return
    calls, files = really_run(text, stubs, folder)
    judged = [expected(one.words) for one in line.commands if one.words[0].text not in BUILTINS]
    judged = [(words[0].rpartition("/")[2], *words[1:]) for words in judged]
    # With && and || not every command runs, and those of a pipeline run in any order.
    remaining = list(judged)
    for call in calls:
        assert call in remaining, f"{text!r} ran {call}, judged was {judged}"
        remaining.remove(call)
    assert files == ["docs"], f"{text!r} made {files}"
    if line.is_simple:
        assert calls == judged, f"{text!r} ran {calls}, judged was {judged}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("oracle") / "sandbox"


@pytest.mark.timeout(1800)
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None, print_blob=False,
    derandomize=EXAMPLES == 400,
)  # fmt: skip
@given(text=lines())
@example(text="git status;rm x")
@example(text="git log {x}>out")
@example(text="cat docs/a.md >out")
@example(text="ls *")
@example(text="git log ''\"\"")
@example(text="ls 2>/dev/null|wc -l&&git status")
def test_what_is_let_through_runs_exactly_as_judged(text: str, stubs: Path, folder: Path) -> None:
    check(text, stubs, folder)


@pytest.mark.parametrize(
    "text", ["git status", "git log -n 5 'a b' c\\ d", "git status; git log | wc -l", "ls && cat docs/a.md 2>/dev/null"]
)
def test_oracle_sees_what_runs(text: str, stubs: Path, folder: Path) -> None:
    line = parse(text)
    assert is_allowed(line, folder) or only_reads(line)
    calls, _ = really_run(text, stubs, folder)
    assert len(calls) >= 1
    check(text, stubs, folder)


def test_oracle_would_notice(stubs: Path, folder: Path) -> None:
    calls, files = really_run("git status > out; git $(rm a)", stubs, folder)
    assert sorted(calls) == [("git",), ("git", "status"), ("rm", "a")]
    assert files == ["docs", "out"]
