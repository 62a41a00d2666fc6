"""The rules that "always allow" would write for a call, from the narrowest to the widest, each with a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cos.core.path_globs import path_matches
from cos.core.rule_words import allows_command
from cos.core.rules import PATH_TOOLS, JudgedCall, Rule, relative_path, writes_to_git
from cos.core.shell.tree import SimpleCommand
from cos.core.shell.wrappers import WRAPPERS

Grade = Literal["exact", "subcommand", "file", "folder", "tool"]
# Their first word after the name says what is done; only these get a rule for "this and any further words".
_WITH_SUBCOMMANDS = frozenset(
    {"git", "cargo", "go", "npm", "pnpm", "yarn", "pip", "uv", "docker", "podman", "kubectl", "make", "gh", "poetry",
     "dotnet", "brew", "apt", "systemctl"}
)  # fmt: skip
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9_-]*")
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./^-]+")
_GLOB = re.compile(r"[*?\[\]]")
# Any further words would be any program, or (`git diff --output`) any file to write.
_RUNS_ANYTHING = {
    "bundle": {"exec"},
    "cargo": {"run"},
    "docker": {"exec", "run"},
    "git": {"bisect", "config", "diff", "difftool", "filter-branch", "grep", "log", "mergetool", "rebase", "show",
            "submodule"},
    "go": {"run"},
    "kubectl": {"exec", "run"},
    "npm": {"exec", "x"},
    "pnpm": {"dlx", "exec"},
    "podman": {"exec", "run"},
    "poetry": {"run"},
    "uv": {"run", "tool"},
    "yarn": {"dlx", "exec"},
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleProposal:
    """Rules that belong together: one for each command of the line."""

    grade: Grade
    rules: tuple[Rule, ...]
    sentence: str
    """For the user: what would be allowed from now on."""


def propose(call: JudgedCall) -> tuple[RuleProposal, ...]:
    """What could be allowed always so that `call` would have been; empty when no safe rule says it."""
    if call.command is not None:
        return tuple(_for_commands(call))
    if writes_to_git(call):
        return ()
    return (*_for_path(call), _for_tool(call))


def _for_commands(call: JudgedCall) -> Iterator[RuleProposal]:
    line = call.command
    if line is None or line.fault is not None or not line.is_flat:
        return
    exact = [_exact(command) for command in line.commands]
    if not all(allows_command(match, one) for match, one in zip(exact, line.commands, strict=True) if match):
        return
    if not exact or any(not match for match in exact):
        return
    yield _proposal("exact", call, exact, "exactly")
    wide = [_subcommand(command) or match for command, match in zip(line.commands, exact, strict=True)]
    if wide != exact:
        yield _proposal("subcommand", call, wide, "with any further words:")


def _proposal(grade: Grade, call: JudgedCall, matches: list[str], how: str) -> RuleProposal:
    unique = list(dict.fromkeys(matches))
    rules = tuple(Rule(tool=call.tool, match=match, decision="allow") for match in unique)
    listed = " and ".join(f"`{match}`" for match in unique)
    return RuleProposal(grade=grade, rules=rules, sentence=f"Always allow {how} {listed}.")


def _exact(command: SimpleCommand) -> str:
    """The command as the words of a rule; empty when a rule cannot say it."""
    argv = command.argv
    if not argv or command.redirects or command.assignments or any("\n" in word for word in argv):
        return ""
    return " ".join(_quoted(word) for word in argv)


def _quoted(word: str) -> str:
    return word if _PLAIN.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'"


def _subcommand(command: SimpleCommand) -> str:
    argv = command.argv or ()
    if len(argv) < 2 or argv[0] in WRAPPERS or argv[0] not in _WITH_SUBCOMMANDS:
        return ""
    if argv[1] in _RUNS_ANYTHING.get(argv[0], ()) or not _SUBCOMMAND.fullmatch(argv[1]):
        return ""
    return f"{argv[0]} {argv[1]} *"


def _for_path(call: JudgedCall) -> Iterator[RuleProposal]:
    path = relative_path(call) if call.tool in PATH_TOOLS else None
    if path is None or _GLOB.search(path) or not path_matches(path, path) or path == ".":
        return
    yield RuleProposal(
        grade="file",
        rules=(Rule(tool=call.tool, path=path, decision="allow"),),
        sentence=f"Always allow {call.tool} for the file {path}.",
    )
    folder = path.rpartition("/")[0]
    if folder:
        yield RuleProposal(
            grade="folder",
            rules=(Rule(tool=call.tool, path=f"{folder}/**", decision="allow"),),
            sentence=f"Always allow {call.tool} for everything in the folder {folder}.",
        )


def _for_tool(call: JudgedCall) -> RuleProposal:
    # An origin keeps the rule from covering a tool of the same name that another server brings later.
    return RuleProposal(
        grade="tool",
        rules=(Rule(tool=call.tool, origin=call.origin, decision="allow"),),
        sentence=f"Always allow {call.tool}, whatever its arguments.",
    )
