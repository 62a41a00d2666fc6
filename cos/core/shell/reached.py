"""Every command that a line reaches, also through wrappers, nested shells and text piped into a shell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cos.core.shell.flat import Redirect
from cos.core.shell.floor_programs import is_filtered, searched
from cos.core.shell.parsed import Parsed, parse
from cos.core.shell.places import operands
from cos.core.shell.tree import SimpleCommand
from cos.core.shell.words import Word, literal
from cos.core.shell.wrappers import Inner, inner_commands, program, reads_commands

_DEEPEST = 6
_MOST_TEXTS = 200
_PRINTERS = frozenset({"echo", "printf"})
_CHOOSERS = frozenset({"grep", "egrep", "fgrep", "rg", "head", "tail", "fzf"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """One command that would run, as far as that can be told."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    """Positional parameters, in the text of `bash -c`."""
    is_certain: bool = True
    """False when it is unclear where the command begins."""
    depth: int = 0
    """0 = it stands in the line itself."""


@dataclass(frozen=True, slots=True)
class Layers:
    """All commands of a line and all texts in it that a shell would read."""

    commands: tuple[Reached, ...]
    parsed: tuple[Parsed, ...]
    """The line itself first."""

    @property
    def has_fault(self) -> bool:
        return any(one.fault for one in self.parsed)


def reached(line: Parsed) -> Layers:
    """Goes through `line` and through what its commands would run."""
    search = _Search()
    search.go_through(line, {}, 0)
    return Layers(tuple(search.commands), tuple(search.texts))


class _Search:
    def __init__(self) -> None:
        self.commands: list[Reached] = []
        self.texts: list[Parsed] = []
        self._seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()

    def go_through(self, line: Parsed, variables: Mapping[str, str], depth: int) -> None:
        self.texts.append(line)
        printed = [word for one in line.commands if program(one.words) in _PRINTERS for word in one.words[1:]]
        piped = [one for one in line.commands if "pipeline" in one.context]
        given = printed + listed(piped)
        for one in line.commands:
            own = Reached(
                words=one.words, redirects=one.redirects, assignments=one.assignments, variables=variables, depth=depth
            )
            for item in _unwrapped(own, given, 0):
                if isinstance(item, Reached):
                    self.commands.append(item)
                elif item.text is not None:
                    self._read(item.text, {**variables, **item.variables}, depth + 1)
        if any(_reads_commands(one) for one in line.commands):
            for text in _held_texts(line, printed):
                self._read(text, variables, depth + 1)

    def _read(self, text: str, variables: Mapping[str, str], depth: int) -> None:
        key = (text, tuple(variables.items()))
        if key in self._seen:
            return
        self._seen.add(key)
        if depth > _DEEPEST or len(self._seen) > _MOST_TEXTS:
            self.texts.append(Parsed(text=text, commands=(), fault="commands are nested too deeply in it"))
        else:
            self.go_through(parse(text), variables, depth)


def listed(commands: Sequence[SimpleCommand]) -> list[Word]:
    """The places whose names `ls`, `find` and the printers give to what reads them; none when something chooses."""
    found: list[Word] = []
    for one in commands:
        name, arguments = program(one.words), [word.text for word in one.words[1:]]
        if name in _CHOOSERS:
            return []
        if name == "find" and not is_filtered(arguments):
            found += map(literal, searched(arguments))
        elif name in _PRINTERS or name == "ls":
            found += map(literal, operands(arguments))
    return found


def _unwrapped(command: Reached, printed: list[Word], level: int) -> Iterator[Reached | Inner]:
    yield command
    if level > _DEEPEST:
        return
    for inner in inner_commands(command.words):
        if inner.text is not None:
            yield inner
            continue
        words = inner.words + tuple(printed) if inner.takes_input else inner.words
        nested = Reached(
            words=words,
            assignments=command.assignments,
            variables=command.variables,
            is_certain=command.is_certain and inner.is_certain,
            depth=command.depth + 1,
        )
        yield from _unwrapped(nested, printed, level + 1)


def _reads_commands(command: SimpleCommand) -> bool:
    levels = _unwrapped(Reached(words=command.words), [], 0)
    return any(isinstance(one, Reached) and reads_commands(one.words) for one in levels)


def _held_texts(line: Parsed, printed: list[Word]) -> Iterator[str]:
    """What a shell in `line` may read from its standard input, as far as the line itself holds it."""
    for one in line.commands:
        yield from (redirect.target.text for redirect in one.redirects if redirect.operator.startswith("<<"))
    if printed:
        yield " ".join(word.text for word in printed)
        yield from (word.text for word in printed if " " in word.text)
