"""Approval rules: which calls a profile allows, asks about or denies. The first rule of the file that matches counts.

A rule names a `tool` (a name or a glob) and may narrow it by `path`, `match`, `risk`, `origin` and `tag`; all that it
names must hold. For shell tools `match` is read word by word:

* An allow rule allows what a person reading it expects and nothing more. `git status` is those two words and no
  others; `git status *` is also `git status -s`, because a `*` at the end stands for any further words. Elsewhere a
  `*` stays within one word and within one part of a path. The program must be written as in the rule: neither
  `/usr/bin/git` nor `env git`. A line of several commands (`;`, `&&`, `|`) is allowed when an allow rule allows each
  of them. Never allowed: redirects, variables, substitutions, patterns, `~`, comments, groups, line breaks in a word,
  and whatever could not be parsed; that is asked.
* An ask or deny rule is never weaker than it looks. It matches when any command in the line matches, also inside
  `sudo`, `env`, `bash -c`, `$(...)`, and written as `/usr/bin/git`. Its words must appear in this order, the first one
  as the program; what else stands between or after does not matter: `git push` denies `git -C x push -f`. A word that
  is not known (`git $x`) counts as a match, and so does a line that cannot be parsed when it holds the words.

`path` is for tools with an argument `path`: a glob below the workspace, `*` within one part, `**` over several. Real
paths are compared, so a link or `..` does not lead out, and nothing outside the workspace ever matches. No allow rule
allows a write to a path with a part `.git`: what is written there can make git run programs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from cos.agent.records import Risk
from cos.agent.tags import Tag
from cos.core.path_globs import path_matches
from cos.core.rule_words import allows_command, catches_line
from cos.core.shell.parsed import Parsed, parse

Decision = Literal["allow", "ask", "deny"]
SHELL_TOOLS = frozenset({"terminal"})
PATH_TOOLS = frozenset({"read_file", "write_file", "patch", "search_files"})
_WRITING_TOOLS = frozenset({"write_file", "patch"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a profile. What is None does not narrow it."""

    tool: str
    """A tool's name or a glob."""
    decision: Decision
    match: str | None = None
    """The words of a command."""
    path: str | None = None
    """A glob below the workspace."""
    risk: Risk | None = None
    origin: str | None = None
    """The plugin or server that brought the tool, or a glob."""
    tag: Tag | None = None
    """It counts only in turns with this tag."""
    expires_at: date | datetime | None = None
    """A day counts to its end in UTC; a time without an offset is UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCall:
    """What rules look at."""

    tool: str
    origin: str
    risk: Risk
    args: Mapping[str, Any]
    tags: frozenset[str]
    cwd: Path
    workspace: Path
    command: Parsed | None = field(default=None, repr=False)
    """The parsed `command` argument of a shell tool; None for other tools."""
    hidden_program: str | None = None
    """What could make a line that only reads run a program: then it is no reading."""


def judged_call(
    *, tool: str, origin: str, risk: Risk, args: Mapping[str, Any], tags: Iterable[str], folders: tuple[Path, Path]
) -> JudgedCall:
    """A call as rules look at it. `folders` is the working folder and the workspace."""
    command = args.get("command") if tool in SHELL_TOOLS else None
    return JudgedCall(
        tool=tool,
        origin=origin,
        risk=risk,
        args=args,
        tags=frozenset(tags),
        cwd=folders[0],
        workspace=folders[1],
        command=parse(command) if isinstance(command, str) else None,
    )


def first_match(rules: Iterable[Rule], call: JudgedCall, *, now: datetime | None = None) -> Rule | None:
    """The rule that decides about `call`, or None when none does.

    For a line of several commands an allow rule counts only when every command has one; the first of them is
    returned, at its own place in the order: an ask or deny rule that stands before it, or before the last one that is
    needed, wins.
    """
    missing = set(range(len(call.command.commands))) if call.command is not None else set()
    first_allow: Rule | None = None
    at = now or datetime.now(UTC)
    for rule in rules:
        if not _applies(rule, call, at):
            continue
        if rule.match is None:
            if rule.decision != "allow" or call.command is None or call.command.fault is None:
                return rule
        elif call.command is None:
            continue
        elif rule.decision != "allow":
            if catches_line(rule.match, call.command):
                return rule
        elif allowed := _allowed_parts(rule.match, call.command):
            first_allow = first_allow or rule
            missing -= allowed
            if not missing:
                return first_allow
    return None


def has_expired(rule: Rule, now: datetime) -> bool:
    """Whether `rule` no longer counts at `now`, which has an offset."""
    end = rule.expires_at
    if end is None:
        return False
    if not isinstance(end, datetime):
        return now.astimezone(UTC).date() > end
    return now >= (end if end.tzinfo else end.replace(tzinfo=UTC))


def _applies(rule: Rule, call: JudgedCall, now: datetime) -> bool:
    """All that the rule names besides its words."""
    return (
        fnmatchcase(call.tool, rule.tool)
        and not has_expired(rule, now)
        and (rule.risk is None or rule.risk == call.risk)
        and (rule.origin is None or fnmatchcase(call.origin, rule.origin))
        and (rule.tag is None or rule.tag in call.tags)
        and (rule.path is None or _path_applies(rule, call))
        and not (rule.decision == "allow" and writes_to_git(call))
    )


def _path_applies(rule: Rule, call: JudgedCall) -> bool:
    relative = relative_path(call)
    return relative is not None and rule.path is not None and path_matches(rule.path, relative)


def relative_path(call: JudgedCall) -> str | None:
    """The real path of the call's `path` argument below the workspace, "." for itself; None when it is outside."""
    text = call.args.get("path", "." if call.tool == "search_files" else None)
    if not isinstance(text, str) or "\0" in text:
        return None
    real = Path(os.path.realpath(call.cwd / text))
    workspace = Path(os.path.realpath(call.workspace))
    return real.relative_to(workspace).as_posix() if real.is_relative_to(workspace) else None


def writes_to_git(call: JudgedCall) -> bool:
    """Whether the call writes to a path with a part `.git`, as written or by real path."""
    text = call.args.get("path")
    if call.tool not in _WRITING_TOOLS or not isinstance(text, str) or "\0" in text:
        return False
    written = call.cwd / text
    # Some file systems take `.GIT` for the same name.
    return any(part.casefold() == ".git" for part in (*written.parts, *Path(os.path.realpath(written)).parts))


def _allowed_parts(match: str, line: Parsed) -> set[int]:
    """Which commands of the line the words of an allow rule allow."""
    if line.fault is not None or not line.is_flat:
        return set()
    return {index for index, command in enumerate(line.commands) if allows_command(match, command)}
