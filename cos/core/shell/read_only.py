"""Which programs with which options only read. Whatever is not named here is no reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_GIT_ANY = re.compile(r"--(?:output|ext-diff|textconv|exec|upload-pack|config|batch|stdin)\b.*|-O.*")
# A colon elsewhere may name a file of a commit, also one that lies above the workspace: `HEAD:../x`.
_GIT_FORMAT = re.compile(r"--(?:pretty|format|date)=.*", re.DOTALL)
_GIT_SIMPLE = frozenset(
    {"status", "log", "diff", "show", "rev-parse", "ls-files", "ls-tree", "blame", "shortlog", "describe", "rev-list",
     "merge-base", "cat-file", "name-rev", "diff-tree", "for-each-ref", "show-ref"}
)  # fmt: skip
_GIT_LISTING = {
    "branch": frozenset({"-a", "-r", "-v", "-vv", "--all", "--remotes", "--list", "--verbose", "--show-current"}),
    "tag": frozenset({"-l", "--list", "-n"}),
    "remote": frozenset({"-v", "--verbose"}),
    "stash": frozenset({"list"}),
    "worktree": frozenset({"list"}),
}
_FIND_ACTS = frozenset(
    {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from",
     "-follow"}
)  # fmt: skip
_FIND_FOLLOWS = re.compile(r"-[EHLPXdsx]*[HL][EHLPXdsx]*")


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


def _unless(letters: str, *long: str) -> Callable[[list[str]], bool]:
    """Refuses short options with one of `letters` anywhere in the word, and all beginnings of the long ones."""

    def check(arguments: list[str]) -> bool:
        for one in arguments:
            if one.startswith("--"):
                name = one[2:].partition("=")[0]
                if name and any(option.startswith(name) for option in long):
                    return False
            elif one.startswith("-") and any(letter in one for letter in letters):
                return False
        return True

    return check


def _find(arguments: list[str]) -> bool:
    return not _FIND_ACTS.intersection(arguments) and not any(map(_FIND_FOLLOWS.fullmatch, arguments))


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
        return not any(
            _GIT_ANY.fullmatch(one) or _shortened(one) or (":" in one and not _GIT_FORMAT.fullmatch(one))
            for one in rest
        )
    return verb in _GIT_LISTING and all(one in _GIT_LISTING[verb] for one in rest) and (verb != "stash" or bool(rest))


def _shortened(option: str) -> bool:
    name = option[2:].partition("=")[0] if option.startswith("--") else ""
    return len(name) > 1 and any(
        full.startswith(name)
        for full in ("output", "ext-diff", "textconv", "exec", "filters", "batch-command", "stdin", "submodule")
    )


_CHECKS: dict[str, Callable[[list[str]], bool]] = {
    **dict.fromkeys(
        ("cat", "head", "tail", "pwd", "echo", "whoami", "id", "uname", "which", "stat", "df", "cut", "tr", "cmp",
         "comm", "nl", "tac", "rev", "basename", "dirname", "realpath", "readlink", "true", "false"),
        _always,
    ),
    # From here on also refused: what follows links that it meets, and what reads the names of files from a file.
    "ls": _unless("LH", "dereference-command-line-symlink-to-dir"),
    "wc": _unless("", "files0-from"),
    **dict.fromkeys(("grep", "egrep", "fgrep"), _unless("RSf", "dereference-recursive", "file")),
    "du": _unless("LDH", "dereference-args", "files0-from"),
    "type": _without(r"-.*"),
    "rg": _unless("zLf", "pre", "hostname-bin", "search-zip", "follow", "file"),
    "find": _find,
    # `%n` writes into a variable, whose name may hold a command.
    "printf": _without(r"-.*|(?s:.*)%[-+ #0-9.*'hlLqjzt]*n(?s:.*)"),
    "date": _date,
    "hostname": _no_operands,
    "file": _unless("Cmf", "compile", "magic-file", "files-from"),
    "sort": _unless("oT", "output", "compress-program", "temporary-directory", "files0-from"),
    "uniq": _one_operand,
    "diff": _unless("lr", "to-file", "paginate", "recursive"),
    "tree": _unless("oRl", "output", "fromfile", "fromtabfile"),
    "cd": _cd,
    "git": _git,
}  # fmt: skip
