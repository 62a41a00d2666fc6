"""How risky a command line is, and which paths outside the workspace it names.

"read" is said only of a flat line whose every command is known to only read. What a repository makes a reading git
run (a textconv filter, a hook) is not told by the line: see `repositories`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from cos.agent.records import Risk
from cos.core.shell.parsed import Parsed, parse
from cos.core.shell.reached import reached
from cos.core.shell.read_only import reads_only
from cos.core.shell.tree import SimpleCommand
from cos.core.shell.words import Word
from cos.core.shell.wrappers import program

_NETWORK = frozenset(
    {"curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "lftp", "pip",
     "pip3", "pipx", "uv", "npm", "npx", "pnpm", "yarn", "apt", "apt-get", "dnf", "yum", "apk", "brew", "gem", "ping",
     "dig", "nslookup", "host", "gh", "aria2c", "http", "xh", "whois", "traceroute", "mosh", "aws", "gcloud", "kubectl"}
)  # fmt: skip
_NETWORK_VERBS = {
    "git": frozenset({"push", "pull", "fetch", "clone", "ls-remote", "submodule", "send-email", "archive"}),
    "cargo": frozenset({"install", "fetch", "update", "publish", "search", "add"}),
    "go": frozenset({"get", "install", "mod"}),
    "docker": frozenset({"pull", "push", "login", "run", "build"}),
    "podman": frozenset({"pull", "push", "login", "run", "build"}),
}
_MOST_MATCHES = 5_000
_MOST_FOLDERS = 16
_PATTERN = re.compile(r"[*?\[]")
# bash and Python disagree about what these match, or bash's answer depends on its options.
_UNSURE_PATTERN = re.compile(r"\[|\*\*")


def command_risk(text: str) -> Risk:
    """ "read", "network" or "execute". A command that names a path outside the workspace may still be "read"."""
    parsed = parse(text)
    if only_reads(parsed):
        return "read"
    return "network" if any(_is_network(one.words) for one in reached(parsed).commands) else "execute"


def only_reads(parsed: Parsed) -> bool:
    """Whether every command of the line only reads, and nothing in the line writes or is replaced by the shell."""
    return parsed.fault is None and parsed.is_flat and bool(parsed.commands) and all(map(_reads, parsed.commands))


def outside_paths(parsed: Parsed, workspace: Path, cwd: Path) -> tuple[str, ...]:
    """The words of a line, as written, that lead outside the workspace by real path. Empty = none was found.

    Words that the shell replaces are taken for outside, but for plain patterns, whose matches are looked at.
    """
    real_workspace = Path(os.path.realpath(workspace))
    found: list[str] = []
    for command, folders in in_folders(parsed, cwd):
        words = [
            *command.words[1:],
            *(it.target for it in command.redirects if not _is_harmless_target(it.target.text)),
        ]
        found += [word.raw for word in words if _is_outside(word, real_workspace, folders)]
        if program(command.words) in {"cd", "pushd"} and len(command.words) > 1:
            target = command.words[1]
            if not target.is_literal or len(folders) > _MOST_FOLDERS:
                # Where the following commands start is not known.
                found.append(target.raw)
    return tuple(dict.fromkeys(found))


def in_folders(parsed: Parsed, cwd: Path) -> Iterator[tuple[SimpleCommand, list[Path]]]:
    """Each command of a line with the folders that it may start in, as far as its `cd`s can be followed."""
    folders = [Path(os.path.realpath(cwd))]
    for command in parsed.commands:
        yield command, folders
        if program(command.words) in {"cd", "pushd"} and len(command.words) > 1:
            target = command.words[1]
            if target.is_literal and len(folders) <= _MOST_FOLDERS:
                folders = _followed(folders, target.text)


def _followed(folders: Sequence[Path], target: str) -> list[Path]:
    """The folders that commands after a `cd` may start in: the `cd` may also have failed."""
    real = [Path(os.path.realpath(folder / target)) for folder in folders]
    written = [Path(os.path.normpath(folder / target)) for folder in (*folders, *real)]
    return list(dict.fromkeys((*folders, *real, *written)))


def _reads(command: SimpleCommand) -> bool:
    if not command.words or command.assignments or not all(map(_is_harmless, command.words)):
        return False
    if not command.words[0].is_literal or not reads_only([word.text for word in command.words]):
        return False
    if command.words[0].text == "cd" and not command.words[1].is_literal:
        return False
    return all(_is_harmless_redirect(it.operator, it.descriptor, it.target) for it in command.redirects)


def _is_harmless(word: Word) -> bool:
    """Literal, or a pattern for names that cannot become an option, `..` or a hidden name."""
    if word.is_literal:
        return True
    return (
        word.unknown == {"glob"}
        and word.raw == word.text
        and word.raw[0] not in "*?-"
        and "[" not in word.raw
        and not any(part.startswith(".") and part not in {".", ".."} for part in word.raw.split("/"))
    )


def _is_harmless_redirect(operator: str, descriptor: str, target: Word) -> bool:
    if not target.is_literal:
        return False
    if operator == ">&":
        return target.text in {"1", "2"}
    if operator == "<":
        return descriptor in {"", "0"} and (target.text == "/dev/null" or not target.text.startswith("/dev/"))
    return operator in {">", ">>", "&>", "&>>"} and target.text == "/dev/null"


def _is_harmless_target(text: str) -> bool:
    return text in {"/dev/null", "1", "2", "-"}


def _is_outside(word: Word, workspace: Path, folders: Sequence[Path]) -> bool:
    if not word.is_literal and word.unknown != {"glob"}:
        return True
    return any(
        _leads_outside(text, folder, workspace, is_pattern=not word.is_literal and bool(_PATTERN.search(text)))
        for text in _possible_paths(word.text)
        for folder in folders
    )


def _possible_paths(text: str) -> Iterator[str]:
    """The word itself, what follows a `=`, and what may be glued to a short option (`-f/etc/x`)."""
    if not text.startswith("-"):
        yield text
    if "=" in text:
        yield text.partition("=")[2]
    if text.startswith("-") and not text.startswith("--"):
        yield from (text[at:] for at in range(2, len(text)) if text[at] in "/.~" and not text[1:at].startswith("-"))


def _leads_outside(text: str, folder: Path, workspace: Path, *, is_pattern: bool) -> bool:
    if is_pattern and _UNSURE_PATTERN.search(text):
        return True
    try:
        paths = _matches(text, folder) if is_pattern else [folder / text]
        return len(paths) > _MOST_MATCHES or any(
            not Path(os.path.realpath(path)).is_relative_to(workspace) for path in paths
        )
    except (OSError, ValueError, IndexError, RuntimeError):
        # What Python cannot look up bash may find all the same.
        return True


def _matches(text: str, folder: Path) -> list[Path]:
    """What a pattern stands for, and the folder that its first plain parts name."""
    start = Path("/") if text.startswith("/") else folder
    plain = text[: next(_PATTERN.finditer(text)).start()].rpartition("/")[0]
    named = start / plain.lstrip("/")
    return [named, *islice(start.glob(text.lstrip("/")), _MOST_MATCHES)]


def _is_network(words: Sequence[Word]) -> bool:
    name = program(words)
    verbs = _NETWORK_VERBS.get(name, frozenset())
    return name in _NETWORK or any(word.text in verbs for word in words[1:])
