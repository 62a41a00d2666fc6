"""Programs that run other programs: what `sudo`, `env`, `xargs`, `bash -c`, `find -exec` and their like would run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from cos.core.shell.words import Word, literal

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "rbash"})
# For each: its options that take a value as the next word, and how many words stand before the command.
_PREFIXES: dict[str, tuple[str, int]] = {
    "sudo": ("-u -g -h -p -C -T -R -D -U -r -t --user --group --host --prompt --chroot --chdir --role --type", 0),
    "doas": ("-u -C", 0),
    "env": ("-u -C --unset --chdir", 0),
    "nohup": ("", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n -p --class --classdata", 0),
    "chrt": ("-T -P -D", 1),
    "taskset": ("", 1),
    "setsid": ("", 0),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    "time": ("-f -o --format --output", 0),
    "timeout": ("-s -k --signal --kill-after", 1),
    "xargs": ("-I -n -P -L -d -E -s -a --replace --max-args --max-procs --max-lines --delimiter --arg-file", 0),
    "parallel": ("-j --jobs -I -N -n", 0),
    "exec": ("-a", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "coproc": ("", 0),
    "watch": ("-n --interval", 0),
    "chroot": ("", 1),
    "flock": ("-w -E --timeout", 1),
    "strace": ("-e -o -p -s -u", 0),
    "ltrace": ("-e -o -p -s -u", 0),
    "unshare": ("", 0),
    "nsenter": ("-t --target", 0),
    "busybox": ("", 0),
    "toybox": ("", 0),
    "systemd-run": ("-p -u --property --unit --uid --gid", 0),
    "systemd-inhibit": ("", 0),
    "caffeinate": ("-t -w", 0),
    "catchsegv": ("", 0),
    "fakeroot": ("", 0),
    "pkexec": ("--user", 0),
    "runuser": ("-u --user", 0),
    "ssh": ("-p -i -l -o -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w", 1),
}
WRAPPERS = frozenset(_PREFIXES) | SHELLS | {"eval", "trap", "su"}
# These hand their command to a shell, as one text.
_JOINED = frozenset({"watch", "ssh", "parallel"})
_RESERVED = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "(", "time", "coproc"})
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """What a wrapper runs: words, or a text for a shell."""

    words: tuple[Word, ...] = ()
    text: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    """The positional parameters that `text` sees."""
    takes_input: bool = False
    """More words come from the standard input."""
    is_certain: bool = True
    """False when an unknown option makes it unclear where the command begins."""


def program(words: Sequence[Word]) -> str:
    """The program's name without its folder; empty when there is none."""
    return words[0].text.rpartition("/")[2] if words else ""


def inner_commands(words: Sequence[Word]) -> Iterator[Inner]:
    """What the command `words` would run besides itself."""
    name = program(words)
    if name in SHELLS:
        yield from _shell_text(words)
    elif name == "eval":
        yield Inner(text=_joined(words[1:]))
    elif name == "trap" and len(words) > 1:
        yield Inner(text=next((word.text for word in words[1:] if not word.text.startswith("-")), ""))
    elif name == "find":
        yield from _find_runs(words)
    elif name in {"su", "runuser", "script", "flock", "watch"}:
        yield from (Inner(text=text) for text in _after_option_c(words))
    if name in _RESERVED and len(words) > 1:
        yield Inner(words=tuple(words[1:]))
    elif name in _PREFIXES:
        yield from _after_prefix(name, words)


def reads_commands(words: Sequence[Word]) -> bool:
    """Whether this is a shell that reads its commands from the standard input."""
    operands = [word.text for word in words[1:] if not word.text.startswith(("-", "+")) or word.text == "-"]
    has_text = any(_holds_c(word.text) for word in words[1:])
    return program(words) in SHELLS and not has_text and (not operands or "-s" in [word.text for word in words])


def _after_prefix(name: str, words: Sequence[Word]) -> Iterator[Inner]:
    options, operands = _PREFIXES[name]
    with_value = set(options.split())
    at, is_certain = 1, True
    while at < len(words):
        text = words[at].text
        if name == "env" and text.startswith(("-S", "--split-string", "-vS", "-iS")):
            yield Inner(text=_split_string(words[at:]))
            return
        if text in with_value:
            at += 1
        elif text == "--":
            at += 1
            break
        elif text.startswith("-") and len(text) > 1:
            is_certain = is_certain and len(text) == 2
        elif not (name in {"env", "sudo", "doas"} and "=" in text):
            break
        at += 1
    inner = tuple(words[at + operands :])
    if not inner:
        return
    if name in _JOINED:
        yield Inner(text=_joined(inner))
    yield Inner(words=inner, takes_input=name in {"xargs", "parallel"}, is_certain=is_certain)


def _split_string(words: Sequence[Word]) -> str:
    first = words[0].text
    text = first.partition("=")[2] if first.startswith("--") else first.partition("S")[2]
    return " ".join([text, *(word.text for word in words[1:])])


def _shell_text(words: Sequence[Word]) -> Iterator[Inner]:
    for at, word in enumerate(words[1:], 1):
        if not _holds_c(word.text):
            continue
        rest = list(words[at + 1 :])
        while len(rest) > 1 and rest[0].text.startswith(("-", "+")):
            rest.pop(0)
        if rest:
            given = [item.text for item in rest[1:]]
            numbered = {str(index): text for index, text in enumerate(given)}
            everything = " ".join(given[1:])
            yield Inner(text=rest[0].text, variables={**numbered, "@": everything, "*": everything})
        return


def _holds_c(option: str) -> bool:
    """`-c`, `-lc`, `-ec`: short options in one word."""
    return option.startswith("-") and not option.startswith("--") and "c" in option


def _after_option_c(words: Sequence[Word]) -> Iterator[str]:
    for word, following in pairwise(words):
        if _holds_c(word.text) or word.text == "--command":
            yield following.text
        elif word.text.startswith("--command="):
            yield word.text.partition("=")[2]
    if len(words) > 1 and words[-1].text.startswith("--command="):
        yield words[-1].text.partition("=")[2]


def _find_runs(words: Sequence[Word]) -> Iterator[Inner]:
    places = [word.text for word in words[1:] if not word.text.startswith(("-", "(", "!"))]
    start = places[0] if places else "."
    for at, word in enumerate(words):
        if word.text not in _FIND_RUNS:
            continue
        run = []
        for item in words[at + 1 :]:
            if item.text in {";", "+"}:
                break
            run.append(literal(start) if item.text == "{}" else item)
        if run:
            yield Inner(words=tuple(run))


def _joined(words: Sequence[Word]) -> str:
    return " ".join(word.text for word in words)
