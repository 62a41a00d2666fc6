"""The tool `search_files` with the real ripgrep on real trees; its limits with programs that stand in for it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from cos.agent.records import ToolCallStatus
from cos.agent.tools import ToolError, ToolOk
from cos.core.plugin_api import find_ripgrep
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.globs import Glob
from cos.plugins.workspace.paths import PathRefused
from cos.plugins.workspace.ripgrep import Ripgrep
from cos.plugins.workspace.search_files import FileSearcher
from tests.tool_context import RecordingContext, new_turn


async def search(workspace: Path, pattern: str, *, ripgrep: Ripgrep | None = None, **args: Any) -> dict[str, Any]:
    searcher = FileSearcher(SessionFolders(), ripgrep or Ripgrep())
    outcome = await searcher.run({"pattern": pattern, **args}, new_turn(), RecordingContext(workspace))
    data: dict[str, Any] = json.loads(outcome.content)
    assert isinstance(outcome, ToolError if "error" in data else ToolOk)
    return data


def stand_in(folder: Path, script: str, **settings: Any) -> Ripgrep:
    """A ripgrep that is a shell script."""
    folder.mkdir()
    (folder / "rg").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "rg").chmod(0o755)
    return Ripgrep(environment=lambda: {"PATH": str(folder)}, **settings)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    for name in ("src/a.py", "src/deep/b.py", "readme.md", ".hidden.py", ".github/ci.py", "build/out.py", "debug.log"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"one\nneedle {name}\nthree\n")
    (root / ".gitignore").write_text("/build/\n*.log\n")
    return root


def paths(result: dict[str, Any]) -> list[str]:
    return [match["path"] for match in result["matches"]]


async def test_lines_are_found_in_path_order(tree: Path) -> None:
    assert await search(tree, r"need\w+ .*\.py$") == {
        "total_count": 2, "truncated": False,
        "matches": [
            {"path": "src/a.py", "line": 2, "content": "needle src/a.py"},
            {"path": "src/deep/b.py", "line": 2, "content": "needle src/deep/b.py"},
        ],
    }  # fmt: skip


async def test_hidden_and_ignored_files_are_left_out_unless_asked(tree: Path) -> None:
    assert paths(await search(tree, "needle")) == ["readme.md", "src/a.py", "src/deep/b.py"]
    assert paths(await search(tree, "needle", hidden=True)) == [
        ".github/ci.py", ".hidden.py", "readme.md", "src/a.py", "src/deep/b.py",
    ]  # fmt: skip
    assert paths(await search(tree, "needle", path=".github")) == [".github/ci.py"]
    nothing = await search(tree, "needle debug")
    assert (nothing["total_count"], "in .gitignore are left out" in nothing["hint"]) == (0, True)


async def test_gitignore_counts_in_a_repository_and_from_a_folder_below(tree: Path) -> None:
    (tree / "src" / ".gitignore").write_text("/deep/\n")
    (tree / "src" / "x.log").write_text("needle")
    assert paths(await search(tree, "needle", path="src")) == ["src/a.py"]
    (tree / ".git").mkdir()
    (tree / ".git" / "config").write_text("needle")
    assert paths(await search(tree, "needle", path="src", hidden=True)) == ["src/a.py"]
    assert ".git/config" not in paths(await search(tree, "needle", hidden=True))


async def test_gitignore_above_the_workspace_is_nobody_s_business(tree: Path) -> None:
    (tree.parent / ".gitignore").write_text("*\n")
    assert len(paths(await search(tree, "needle"))) == 3
    assert len(paths(await search(tree, "needle", path="src"))) == 2


async def test_glob_limits_the_files_and_brings_no_ignored_one_back(tree: Path) -> None:
    assert paths(await search(tree, "needle", file_glob="*.md")) == ["readme.md"]
    assert paths(await search(tree, "needle", file_glob="src/*.py")) == ["src/a.py"]
    assert paths(await search(tree, "needle", file_glob="**/deep/*.{py,md}")) == ["src/deep/b.py"]
    assert paths(await search(tree, "needle", file_glob="!*.py")) == ["readme.md"]
    assert paths(await search(tree, "needle", file_glob="*.py")) == ["src/a.py", "src/deep/b.py"]
    assert paths(await search(tree, "needle", file_glob=".hid*")) == [".hidden.py"]
    assert (await search(tree, "needle", file_glob="*.log"))["total_count"] == 0
    assert "a { is not closed" in (await search(tree, "needle", file_glob="*.{py"))["error"]


async def test_names_are_found_newest_first(tree: Path) -> None:
    for age, name in enumerate(["src/a.py", "readme.md", "src/deep/b.py"]):
        os.utime(tree / name, (1_000_000 - age, 1_000_000 - age))
    assert await search(tree, "*", target="files") == {
        "total_count": 3, "files": ["src/a.py", "readme.md", "src/deep/b.py"], "truncated": False,
    }  # fmt: skip
    assert (await search(tree, "src/**/*.py", target="files"))["files"] == ["src/a.py", "src/deep/b.py"]
    assert (await search(tree, ".github/*", target="files"))["files"] == [".github/ci.py"]
    assert (await search(tree, "*.py", target="files", path="src/deep"))["files"] == ["src/deep/b.py"]
    page = await search(tree, "*", target="files", limit=1, offset=1)
    assert (page["files"], page["total_count"], page["truncated"]) == (["readme.md"], 3, True)
    assert page["hint"].startswith("More results follow: go on with `offset` 2")


async def test_name_with_a_line_break_is_one_name(tree: Path) -> None:
    (tree / "odd\nname.md").write_text("needle")
    assert "odd\nname.md" in (await search(tree, "odd*", target="files"))["files"]
    assert "odd\nname.md" in (await search(tree, "needle", output_mode="files_only"))["files"]


async def test_files_and_counts_of_matching_lines(tree: Path) -> None:
    (tree / "src" / "a.py").write_text("needle needle\nneedle\n")
    assert (await search(tree, "needle", output_mode="files_only"))["files"] == [
        "readme.md",
        "src/a.py",
        "src/deep/b.py",
    ]
    counted = await search(tree, "needle", output_mode="count", file_glob="*.py")
    assert counted == {
        "total_count": 3, "file_count": 2, "counts": {"src/a.py": 2, "src/deep/b.py": 1}, "truncated": False,
    }  # fmt: skip
    rest = await search(tree, "needle", output_mode="count", offset=2)
    assert rest["counts"] == {"src/deep/b.py": 1}


async def test_context_lines_are_marked(tree: Path) -> None:
    (tree / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 10)))
    result = await search(tree, "^[47]$", path="a.txt", context=1)
    assert [(entry["line"], "context" in entry) for entry in result["matches"]] == [
        (3, True), (4, False), (5, True), (6, True), (7, False), (8, True),
    ]  # fmt: skip
    first = await search(tree, "^[47]$", path="a.txt", context=1, limit=1)
    assert [entry["line"] for entry in first["matches"]] == [3, 4, 5]
    assert first["truncated"]
    second = await search(tree, "^[47]$", path="a.txt", context=1, offset=1)
    assert [entry["line"] for entry in second["matches"]] == [6, 7, 8]


async def test_pages_follow_one_another(tree: Path) -> None:
    (tree / "a.txt").write_text("".join(f"x{n}\n" for n in range(120)))
    first = await search(tree, "x", path="a.txt")
    assert (len(first["matches"]), first["total_count"], first["truncated"]) == (50, 120, True)
    last = await search(tree, "x", path="a.txt", offset=100)
    assert (last["matches"][0]["line"], len(last["matches"]), last["truncated"]) == (101, 20, False)
    assert "past the end" in (await search(tree, "x", path="a.txt", offset=200))["hint"]


async def test_result_is_bounded_and_counting_ends(tree: Path) -> None:
    """H-121"""
    (tree / "a.txt").write_text(("x" * 400 + "\n") * 50_000)
    result = await search(tree, "x+", path="a.txt", limit=1000)
    assert len(json.dumps(result)) < 51_000
    assert (result["truncated"], result["total_count_is_lower_bound"]) == (True, True)
    assert f"go on with `offset` {len(result['matches'])}," in result["hint"]


async def test_long_line_is_cut_around_the_match_with_the_amount(tree: Path) -> None:
    """H-121"""
    (tree / "min.js").write_text("é" * 1_000 + "needle" + "b" * 1_000 + "\n")
    result = await search(tree, "needle", path="min.js")
    content = result["matches"][0]["content"]
    assert content == "[1,900 bytes] …" + "é" * 50 + "needle" + "b" * 394 + "… [606 more bytes in this line]"


async def test_huge_line_and_line_that_matches_everywhere_stay_small(tree: Path) -> None:
    """H-121"""
    (tree / "huge.json").write_text("short\n" + "x" * 3_000_000 + "\n")
    result = await search(tree, "x", path="huge.json", context=1)
    assert [(entry["line"], len(entry["content"]) < 200) for entry in result["matches"]] == [(1, True), (2, True)]
    around = await search(tree, "short", path="huge.json", context=1)
    assert (around["total_count"], [entry["line"] for entry in around["matches"]]) == (1, [1, 2])


async def test_binary_files_are_left_out(tree: Path) -> None:
    """H-121"""
    (tree / "early.bin").write_bytes(b"needle\0" * 10)
    (tree / "late.bin").write_bytes(b"needle\n" + b"text\n" * 100_000 + b"\0")
    (tree / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0\x01" * 100)
    assert paths(await search(tree, "needle")) == ["readme.md", "src/a.py", "src/deep/b.py"]
    refused = await search(tree, "IHDR", path="a.png")
    assert "PNG image" in refused["error"]


async def test_other_encodings_and_line_ends_are_read(tree: Path) -> None:
    (tree / "latin.txt").write_bytes(b"caf\xe9 needle\r\n")
    (tree / "utf16.txt").write_bytes("zwölf needle\r\n".encode("utf-16"))
    found = {entry["path"]: entry["content"] for entry in (await search(tree, "needle$"))["matches"]}
    assert found == {"latin.txt": "café needle", "utf16.txt": "zwölf needle"}


async def test_bad_regular_expression_is_explained(tree: Path) -> None:
    assert "unclosed group" in (await search(tree, "fo("))["error"]
    look = (await search(tree, "(?=x)y"))["error"]
    assert "look-around" in look
    assert "--pcre2" not in look
    assert "--multiline" not in (await search(tree, r"a\nb"))["error"]
    assert "is empty" in (await search(tree, ""))["error"]
    assert (await search(tree, "--files"))["total_count"] == 0


async def test_links_that_lead_out_are_not_followed(tree: Path) -> None:
    """H-126"""
    (tree.parent / "secret").mkdir()
    (tree.parent / "secret" / "s.txt").write_text("needle")
    (tree / "out").symlink_to(tree.parent / "secret")
    (tree / "s.txt").symlink_to(tree.parent / "secret" / "s.txt")
    assert "s.txt" not in " ".join(paths(await search(tree, "needle")))
    assert (await search(tree, "s.txt", target="files"))["files"] == []
    assert "outside the workspace" in (await search(tree, "needle", path="out"))["error"]
    assert "outside the workspace" in (await search(tree, "needle", path="s.txt"))["error"]


@pytest.mark.parametrize("path", ["../../x", "/etc", "~/x", "$HOME/x", "a/../../x", "", "a\0b", "a\nb", "missing"])
async def test_path_outside_or_missing_is_refused(tree: Path, path: str) -> None:
    """H-126"""
    assert "error" in await search(tree, "needle", path=path)


async def test_pipe_is_refused(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    assert "neither a folder nor a regular file" in (await search(tree, "x", path="pipe"))["error"]


async def test_cancelled_search_ends_its_processes(tree: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    slow = stand_in(
        tmp_path / "bin", f"/bin/sleep 600 & echo $! $$ > {pid_file}.part; /bin/mv {pid_file}.part {pid_file}; wait"
    )
    call = asyncio.ensure_future(search(tree, "x", ripgrep=slow))
    while not pid_file.exists():
        await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    processes: list[psutil.Process] = []
    for pid in pid_file.read_text().split():
        with suppress(psutil.NoSuchProcess):
            processes.append(psutil.Process(int(pid)))
    _, alive = await asyncio.to_thread(psutil.wait_procs, processes, 5)
    assert all(process.status() == psutil.STATUS_ZOMBIE for process in alive)


async def test_search_that_takes_too_long_is_stopped(tree: Path, tmp_path: Path) -> None:
    searcher = FileSearcher(SessionFolders(), stand_in(tmp_path / "bin", "exec /bin/sleep 600", timeout_seconds=0.2))
    outcome = await searcher.run({"pattern": "x"}, new_turn(), RecordingContext(tree))
    assert isinstance(outcome, ToolError)
    assert outcome.status is ToolCallStatus.TIMED_OUT
    assert "it took longer than 0.2 s" in outcome.content


async def test_endless_output_is_stopped(tree: Path, tmp_path: Path) -> None:
    endless = stand_in(tmp_path / "bin", "while :; do echo src/a.py; done", output_bytes=100_000)
    result = await search(tree, "x", ripgrep=endless, target="files")
    assert "there is too much output" in result["error"]


async def test_files_that_cannot_be_read_are_told(tree: Path, tmp_path: Path) -> None:
    partial = stand_in(tmp_path / "bin", "printf './src/a.py\\0'; exit 2")
    assert "could not be read" in (await search(tree, "*", ripgrep=partial, target="files"))["warning"]


def test_program_in_the_workspace_is_not_trusted(tree: Path, tmp_path: Path) -> None:
    stand_in(tree / "bin", "")
    stand_in(tmp_path / "good", "")
    assert find_ripgrep(f"{tree / 'bin'}:bin:.:{tmp_path / 'good'}", tree) == str(tmp_path / "good" / "rg")


def test_program_of_the_package_is_used_when_there_is_none_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path / "bin", "")
    packages = tmp_path / "lib"
    info = packages / "ripgrep-14.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ripgrep\nVersion: 14.1.0\n")
    (info / "RECORD").write_text("../bin/rg,,\n")
    monkeypatch.syspath_prepend(packages)
    assert find_ripgrep("", tmp_path / "proj") == str(tmp_path / "bin" / "rg")


async def test_ripgrep_that_is_not_there_is_told(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert "pip install" in (await search(tree, "x", ripgrep=Ripgrep(environment=dict)))["error"]


def test_call_is_described(tree: Path) -> None:
    searcher = FileSearcher(SessionFolders(), Ripgrep())
    described = searcher.describe({"pattern": "a\nb", "file_glob": "*.py"}, new_turn(), tree)
    assert (described.title, described.kind, described.cwd) == ("a␊b in . (*.py)", "search", str(tree))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "a.py", True), ("*.py", "x/y/a.py", True), ("*.py", "a.pyc", False), ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False), ("src/*.py", "x/src/a.py", False), ("src/**", "src/x/a.py", True),
        ("**/a.py", "a.py", True), ("a/**/b", "a/b", True), ("a/**/b", "a/x/y/b", True), ("a?c", "a/c", False),
        ("[ab].py", "b.py", True), ("[!ab].py", "b.py", False), ("[!a]b", "/b", False), ("*.{py,md}", "x.md", True),
        ("{a,b/c}.py", "b/c.py", True), ("./a.py", "a.py", True), ("./a.py", "x/a.py", False), ("a.b", "axb", False),
        (r"\*.py", "*.py", True), (r"\*.py", "a.py", False), ("a,b", "a,b", True), ("[]]", "]", True),
        ("!*.py", "a.md", True), ("!*.py", "a.py", False),
    ],
)  # fmt: skip
def test_glob_matches(pattern: str, path: str, expected: bool) -> None:
    assert Glob.of(pattern).matches(path) is expected


@pytest.mark.parametrize("pattern", ["", "!", "./", "[a", "{a", "[z-a]"])
def test_bad_glob_is_refused(pattern: str) -> None:
    with pytest.raises(PathRefused):
        Glob.of(pattern)
