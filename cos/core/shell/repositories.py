"""What a git repository names for git to run, also when git is only to read.

A repository that came as a whole, by an archive or a copy, brings settings and hooks with it. Settings that are known
to run nothing are listed here; whatever else a repository itself sets makes reading in it a risk.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

from cos.core.shell.parsed import Parsed
from cos.core.shell.risk import in_folders
from cos.core.shell.wrappers import program

_SECONDS = 2.0
_MOST_NESTED = 4
_HOOK = "post-index-change"
"""The one hook that reading runs: `git status` and `git diff` write down what they found out about the files."""
_HARMLESS: Final = re.compile(
    r"(?:core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf"
    r"|eol|safecrlf|abbrev|quotepath|untrackedcache|splitindex|preloadindex|commitgraph|multipackindex|sparsecheckout"
    r"|sparsecheckoutcone|whitespace|longpaths|protectntfs|protecthfs|compression|checkstat|trustctime|commentchar|hookspath)"
    r"|extensions\.(?:worktreeconfig|objectformat|refstorage|relativeworktrees|noop)"
    r"|remote\..+\.(?:url|pushurl|fetch|push|tagopt|prune|prunetags|mirror|gh-resolved)"
    r"|branch\..*|user\.(?:name|email|signingkey)|(?:commit|tag|push)\.gpgsign|gpg\.format"
    r"|(?:pull|push|fetch|rebase|merge|init|gc|maintenance|status|advice|color|rerere|i18n|apply|am)\.[a-z]+"
    r"|merge\..*\.name|color\.[^\n]*|submodule\..*\.(?:url|active|branch|update)|submodule\.active"
    r"|diff\.(?:algorithm|renames|renamelimit|mnemonicprefix|noprefix|colormoved|context|ignoresubmodules)"
    r"|log\.(?:date|decorate|follow|abbrevcommit)|lfs\.repositoryformatversion|lfs\.(?:.*\.)?access)"
)
"""Names only: what comes after a name may be anything."""


def program_of_repository(parsed: Parsed, workspace: Path, cwd: Path) -> str | None:
    """What could make the git commands of a line that only reads run a program, or None. It starts git itself."""
    real_workspace = Path(os.path.realpath(workspace))
    folders = [
        folder for command, folders in in_folders(parsed, cwd) if program(command.words) == "git" for folder in folders
    ]
    return next(filter(None, (_named(one, real_workspace, _MOST_NESTED) for one in dict.fromkeys(folders))), None)


def _named(folder: Path, workspace: Path, nested: int) -> str | None:
    try:
        if not folder.is_dir() or not any(_is_repository(one) for one in (folder, *folder.parents)):
            return None
        return _setting(folder, workspace) or _hook(folder) or _submodule(folder, workspace, nested)
    except (OSError, ValueError, subprocess.SubprocessError):
        return "what it holds could not be looked at"


def _is_repository(folder: Path) -> bool:
    """A link as its HEAD may point to a branch that is not there yet."""
    return os.path.lexists(folder / ".git") or os.path.lexists(folder / "HEAD")


def _setting(folder: Path, workspace: Path) -> str | None:
    fields = _git(folder, "config", "--list", "--show-scope", "-z").split("\0")
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = setting.partition("\n")
        if name == "diff.submodule":
            is_harmless = value in {"short", "log"}  # Else git works in each repository that any commit names.
        elif scope not in {"local", "worktree"}:
            is_harmless = True
        elif name == "core.worktree":
            is_harmless = _is_around(folder, value, workspace)
        elif name == "core.fsmonitor":
            is_harmless = value in {"true", "false"}
        else:
            is_harmless = _HARMLESS.fullmatch(name) is not None
        if not is_harmless:
            return f"its setting {name}"
    return None


def _is_around(folder: Path, worktree: str, workspace: Path) -> bool:
    """A submodule's repository lies elsewhere and names its folder; any other would be read by git all the same."""
    repository = _git(folder, "rev-parse", "--absolute-git-dir").removesuffix("\n")
    real = Path(os.path.realpath(Path(repository, worktree)))
    return real.is_relative_to(workspace) and Path(os.path.realpath(folder)).is_relative_to(real)


def _hook(folder: Path) -> str | None:
    path = _git(folder, "rev-parse", "--git-path", f"hooks/{_HOOK}").removesuffix("\n")
    return f"its hook {_HOOK}" if os.access(folder / path, os.X_OK) else None


def _submodule(folder: Path, workspace: Path, nested: int) -> str | None:
    """What a repository inside it names: git looks into each that the index knows."""
    if _git(folder, "rev-parse", "--is-inside-work-tree") != "true\n":
        return None
    for entry in _git(folder, "ls-files", "--stage", "-z", ":/").split("\0"):
        if not entry.startswith("160000 "):
            continue
        inner = folder / entry.partition("\t")[2]
        if (inner / ".git").exists():
            found = _named(inner, workspace, nested - 1) if nested else "its submodules"
            if found:
                return found
    return None


def _git(folder: Path, *arguments: str) -> str:
    """
    Raises:
        OSError, subprocess.SubprocessError: there is no git, or it failed or took too long.
    """
    done = subprocess.run(
        ["git", *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=True
    )
    return os.fsdecode(done.stdout)
