"""Repositories that make a reading git run programs, by a real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cos.agent.hook_rules import Verdict
from cos.agent.records import Risk
from cos.core.shell.parsed import parse
from cos.core.shell.repositories import program_of_repository
from cos.core.shell.risk import command_risk
from tests.unit.test_approval_policy import verdict

ORDINARY = """
[remote "origin"]
	url = https://example.com/a.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	merge = refs/heads/main
[core]
	hooksPath = .husky/_
	fsmonitor = true
"""


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "protocol.file.allow=always", *arguments], cwd=folder, check=True, capture_output=True)


def repository(folder: Path) -> Path:
    """One commit with a file that was changed since, so that git has something to show."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Me")
    git(folder, "config", "user.email", "me@example.com")
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitattributes").write_text("*.txt diff=plan filter=plan\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    (folder / "a.txt").write_text("two\n")
    os.utime(folder / ".gitattributes", (1, 1))
    return folder


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that sets nothing; the user's own settings are empty."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return repository(tmp_path / "w")


def plant(folder: Path, setting: str) -> None:
    """Put a program into the settings of a repository, or its hook: it leaves a file `ran` beside the workspace."""
    program = f"sh -c 'touch {folder.parent}/ran; cat'"
    if setting == "hook":
        hook = folder / ".git" / "hooks" / "post-index-change"
        hook.write_text(f"#!/bin/sh\ntouch {folder.parent}/ran\n")
        hook.chmod(0o755)
    elif setting == "include":
        (folder / "more").write_text(f'[diff]\n\texternal = "{program}"\n')
        git(folder, "config", "include.path", "../more")
    else:
        git(folder, "config", setting, program)


@pytest.mark.parametrize(
    ("setting", "command"),
    [
        ("core.fsmonitor", "git status"),
        ("diff.external", "git diff"),
        ("diff.plan.textconv", "git diff"),
        ("diff.plan.textconv", "git log -p"),
        ("diff.plan.command", "git diff"),
        ("filter.plan.clean", "git status"),
        ("filter.plan.process", "git diff"),
        ("hook", "git status"),
        ("hook", "git diff"),
        ("include", "git diff"),
    ],
)
async def test_reading_where_the_repository_names_a_program_is_asked_about(
    workspace: Path, setting: str, command: str
) -> None:
    plant(workspace, setting)
    assert command_risk(command) == "read"
    found = await verdict("ask", "terminal", workspace=str(workspace), args={"command": command})
    assert "make git run programs by itself" in found.reasons[0]
    assert not (workspace.parent / "ran").exists()
    subprocess.run(["sh", "-c", command], cwd=workspace, capture_output=True, check=False)
    assert (workspace.parent / "ran").exists(), "the trap of this test is none"


def test_reading_files_outside_by_the_folder_that_a_repository_names_is_found(workspace: Path) -> None:
    git(workspace, "config", "core.worktree", str(workspace.parent))
    assert program_of_repository(parse("git diff"), workspace, workspace) == "its setting core.worktree"


def test_a_folder_that_a_repository_names_within_the_workspace_is_found(workspace: Path) -> None:
    """git goes there by itself, and into the repositories that are there."""
    plant(repository(workspace / "elsewhere" / "sub"), "diff.external")
    git(workspace, "config", "core.worktree", "../elsewhere")
    git(workspace / "elsewhere", "--git-dir=../.git", "--work-tree=.", "add", "sub")
    assert program_of_repository(parse("git status"), workspace, workspace) == "its setting core.worktree"


def test_a_value_does_not_pass_for_a_name(workspace: Path) -> None:
    git(workspace, "config", "remote.o.uploadpack", "/bin/x.url")
    assert program_of_repository(parse("git show"), workspace, workspace) == "its setting remote.o.uploadpack"


def test_a_repository_whose_branch_is_not_born_is_looked_at(workspace: Path) -> None:
    bare = workspace / "bare"
    (bare / "objects").mkdir(parents=True)
    (bare / "refs").mkdir()
    (bare / "HEAD").symlink_to("refs/heads/main")
    (bare / "config").write_text("[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = /bin/x\n")
    assert program_of_repository(parse("git status"), workspace, bare) == "its setting core.fsmonitor"


@pytest.mark.parametrize("line", ["git log -p --submodule=diff", "git diff --submodule", "git diff --subm=diff HEAD"])
def test_going_into_repositories_that_only_commits_name_is_not_reading(workspace: Path, line: str) -> None:
    assert command_risk(line) == "execute"
    git(workspace, "config", "diff.submodule", "diff")
    assert program_of_repository(parse("git log -p"), workspace, workspace) == "its setting diff.submodule"


def test_a_folder_that_a_line_goes_into_and_a_repository_inside_are_looked_at(workspace: Path) -> None:
    plant(repository(workspace / "sub" / "deep"), "diff.external")
    for line, found in {"git status": None, "cd sub && cd deep && git diff": "its setting diff.external"}.items():
        assert program_of_repository(parse(line), workspace, workspace) == found
    git(workspace, "add", "sub/deep")
    assert program_of_repository(parse("git status"), workspace, workspace / "sub") == "its setting diff.external"


def test_what_is_no_git_and_what_has_no_repository_is_not_looked_at(workspace: Path) -> None:
    plant(workspace, "diff.external")
    assert program_of_repository(parse("ls && cat a.txt"), workspace, workspace) is None
    assert program_of_repository(parse("git status"), workspace.parent, workspace.parent) is None


def test_a_repository_that_git_cannot_look_at_is_a_risk(workspace: Path) -> None:
    (workspace / ".git" / "config").write_text("[core\n")
    assert program_of_repository(parse("git status"), workspace, workspace) is not None


async def test_reading_in_an_ordinary_repository_is_not_asked_about(workspace: Path) -> None:
    other = repository(workspace.parent / "other")
    git(workspace, "submodule", "add", "-q", str(other), "module")
    with (workspace / ".git" / "config").open("a") as file:
        file.write(ORDINARY)
    for line in ("git status", "cd module && git log -p", "cd nowhere && git diff"):
        assert await verdict("ask", "terminal", workspace=str(workspace), args={"command": line}) == Verdict()


async def test_a_rule_for_what_reads_does_not_let_it_through(workspace: Path) -> None:
    plant(workspace, "diff.external")
    risk: Risk = "read"
    found = await verdict("deny", "terminal", risk, workspace=str(workspace), args={"command": "git diff"})
    assert found.blocked_by is not None
