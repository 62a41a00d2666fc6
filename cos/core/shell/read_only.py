"""Which programs with which options only read. Whatever is not named here is no reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_GIT_ANY = re.compile(r"--(?:output|ext-diff|textconv|open-files-in-pager|exec|upload-pack|config)\b.*|-O.*")
_GIT_SIMPLE = frozenset(
    {"status", "log", "diff", "show", "rev-parse", "ls-files", "ls-tree", "blame", "shortlog", "describe", "rev-list",
     "merge-base", "cat-file", "name-rev", "diff-tree", "for-each-ref", "show-ref", "grep"}
)  # fmt: skip
_GIT_LISTING = {
    "branch": frozenset({"-a", "-r", "-v", "-vv", "--all", "--remotes", "--list", "--verbose", "--show-current"}),
    "tag": frozenset({"-l", "--list", "-n"}),
    "remote": frozenset({"-v", "--verbose"}),
    "stash": frozenset({"list"}),
    "worktree": frozenset({"list"}),
}
_FIND_ACTS = frozenset(
    {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"}
)


def reads_only(argv: Sequence[str]) -> bool:
    """Whether this command can only read files and state, whatever is in them."""
    name, arguments = argv[0], list(argv[1:])
    for folder in ("/usr/bin/", "/bin/"):
        name = name.removeprefix(folder)
    check = _CHECKS.get(name)
    return check is not None and check(arguments)


def _always(_: list[str]) -> bool:
    return True


def _without(pattern: str) -> Callable[[list[str]], bool]:
    refused = re.compile(pattern)
    return lambda arguments: not any(refused.fullmatch(one) for one in arguments)


def _one_operand(arguments: list[str]) -> bool:
    """`uniq FILE OUT` writes; options of uniq that take a value look like operands and are not worth the risk."""
    return sum(not one.startswith("-") or one == "-" for one in arguments) <= 1 and "--" not in arguments


def _no_operands(arguments: list[str]) -> bool:
    return not arguments


def _cd(arguments: list[str]) -> bool:
    return len(arguments) == 1 and not arguments[0].startswith("-") and arguments[0] != ""


def _date(arguments: list[str]) -> bool:
    """Only formats and ways to say which time to show: any other operand sets the clock."""
    return all(
        re.fullmatch(r"\+.*|-[uIR]|-I\w+|--(?:utc|universal|iso-8601|rfc-\S+)(?:=.*)?", one, re.S) for one in arguments
    )


def _git(arguments: list[str]) -> bool:
    """Without options before the sub-command: `-c`, `-C`, `--git-dir`, `-p` and their like can run programs."""
    if arguments[:1] == ["--no-pager"]:
        arguments = arguments[1:]
    if not arguments:
        return False
    verb, rest = arguments[0], arguments[1:]
    if verb in _GIT_SIMPLE:
        # git takes any unambiguous beginning of a long option.
        return not any(_GIT_ANY.fullmatch(one) or _shortened(one) for one in rest)
    return verb in _GIT_LISTING and all(one in _GIT_LISTING[verb] for one in rest) and (verb != "stash" or bool(rest))


def _shortened(option: str) -> bool:
    name = option[2:].partition("=")[0] if option.startswith("--") else ""
    return len(name) > 1 and any(
        full.startswith(name) for full in ("output", "ext-diff", "textconv", "open-files-in-pager", "exec", "filters")
    )


_CHECKS: dict[str, Callable[[list[str]], bool]] = {
    **dict.fromkeys(
        ("ls", "cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "pwd", "echo", "whoami", "id", "uname", "which",
         "stat", "du", "df", "cut", "tr", "cmp", "comm", "nl", "tac", "rev", "basename", "dirname", "realpath",
         "readlink", "ps", "true", "false"),
        _always,
    ),
    "type": _without(r"-.*"),
    "rg": _without(r"--(?:pre|hostname-bin|search-zip).*|-\w*z\w*"),
    "find": lambda arguments: not _FIND_ACTS.intersection(arguments),
    # `%n` writes into a variable, whose name may hold a command.
    "printf": _without(r"-.*|(?s:.*)%[-+ #0-9.*'hlLqjzt]*n(?s:.*)"),
    "date": _date,
    "hostname": _no_operands,
    "file": _without(r"-\w*C\w*|--comp.*|-\w*m.*|--mag.*"),
    "sort": _without(r"-\w*[oT].*|--o.*|--c.*|--t.*|--files.*"),
    "uniq": _one_operand,
    "diff": _without(r"--to-file.*|-\w*l\w*|--pag.*"),
    "tree": _without(r"-\w*[oR].*|--output.*"),
    "cd": _cd,
    "git": _git,
}  # fmt: skip
