"""The floor: commands that are refused in every mode, because nothing is left to undo them with.

Wiping /, a system folder, a home folder or a disk; taking their permissions away; shutting down; a fork bomb; killing
every process. Only words in command position count: `echo reboot` passes. What a program would do on its own
(`python -c ...`, a script file) is not looked into.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from cos.core.shell.floor_programs import ANYWHERE, TRIGGER, Look, refusal
from cos.core.shell.parsed import Parsed, parse
from cos.core.shell.places import UNKNOWN_FOLDER, expanded, is_disk, operands
from cos.core.shell.reached import Layers, Reached, listed, reached
from cos.core.shell.wrappers import WRAPPERS, program

_BOMB = re.compile(
    r"(?:function)?([^\s(){};|&'\"]{1,60})\(\)\{[^}]{0,500}?(?<![\w-])\1(?:\|&?|&)\1(?![\w-])[^}]{0,500}\}"
)
_PIECES = re.compile(r"[;&|\n(){}`<>]|\$\(|'|\"")
_SET = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_SUBSTITUTED = re.compile(r"/?(?:\$\((.+)\)|`(.+)`)", re.DOTALL)
_NO_CHARACTERS = re.compile(r"\\\n|[\0\\]|\$(?=['\"])")
_ODD_BLANKS = re.compile(r"[\r\v\f\x1c-\x1f\x85\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ufeff]")
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "time"})
_MOST_WORDS = 200
_MOST_PARSED = 50


def catastrophe(text: str, *, cwd: Path | None = None, home: Path | None = None) -> str | None:
    """Why the command line `text` must never run, as a sentence, or None.

    `cwd` is the folder that it starts in. Without it a relative path counts only when it climbs to `/`.
    """
    home_folder = home or Path.home()
    layers = reached(parse(text))
    folders = [str(cwd) if cwd else UNKNOWN_FOLDER]
    variables = {name: value for one in layers.parsed for name, value in one.loops}
    for command in layers.commands:
        variables |= _assigned(command)
        if found := _refused(command, {**variables, **command.variables}, folders, home_folder):
            return found
    return _bomb(layers) or _textual(layers, folders[0], home_folder)


def _assigned(command: Reached) -> dict[str, str]:
    exported = [word.text for word in command.words[1:]] if program(command.words) in _DECLARERS else []
    found = [match for item in (*command.assignments, *exported) if (match := _SET.fullmatch(item))]
    return {match[1]: match[2].strip("'\"") for match in found}


_DECLARERS = frozenset({"export", "declare", "local", "readonly", "typeset"})


def _refused(command: Reached, variables: Mapping[str, str], folders: list[str], home: PurePath) -> str | None:
    """The refusal of one command. A `cd` adds to the folders that later ones may start in."""
    texts = [text for word in command.words for text in expanded(word.text, variables)]
    # A word that is a whole command line only after expansion: X='rm -rf /'; $X
    texts = texts[0].split() + texts[1:] if texts and command.words[0].unknown else texts
    if program(command.words) == "rm":
        texts += [place for text in texts if (it := _SUBSTITUTED.fullmatch(text)) for place in _listed(it[1] or it[2])]
    for redirect in command.redirects:
        if not redirect.reads and (found := _written(expanded(redirect.target.text, variables), redirect.operator)):
            return found
    # The word after an unknown option may be its value.
    starts = [0] if command.is_certain else [1, *_possible_starts(texts)]
    for start in starts:
        for folder in folders:
            if found := refusal(Look(texts[start:], folder, home)):
                return found
    _follow(texts, folders, home)
    return None


def _listed(text: str) -> list[str]:
    return [word.text for word in listed(parse(text).commands)]


def _written(targets: list[str], operator: str) -> str | None:
    for target in targets:
        if is_disk(target):
            return f"it writes over the disk {target} ({operator})"
        if target == TRIGGER:
            return "it makes the kernel act at once (sysrq-trigger)"
    return None


def _follow(texts: Sequence[str], folders: list[str], home: PurePath) -> None:
    if texts[:1] not in (["cd"], ["pushd"]) or len(folders) > 16:
        return
    target = next(operands(list(texts[1:])), "~")
    folders.extend([Look([], folder, home).absolute(target) for folder in folders])


def _possible_starts(texts: Sequence[str]) -> list[int]:
    """Where a wipe may begin: at any name of a program that wipes."""
    return [
        0,
        *(at for at, text in enumerate(texts) if text.rpartition("/")[2] in ANYWHERE or text.startswith("mkfs")),
    ]


def _bomb(layers: Layers) -> str | None:
    for one in layers.parsed:
        is_defined = bool(one.functions) or one.fault is not None
        if is_defined and _BOMB.search(_without_blanks(one)):
            return "it is a fork bomb: it starts itself again without end"
    return None


def _without_blanks(one: Parsed) -> str:
    text = re.sub(r"function\s+([^\s(){};]+)\s*(?:\(\s*\))?\s*\{", r"\1(){", one.text)
    return re.sub(r"[\s\\]+", "", text)


def _textual(layers: Layers, folder: str, home: PurePath) -> str | None:
    """For texts that could not be parsed: rather refuse what only looks like a wipe than run one."""
    for one in layers.parsed:
        if one.fault is None:
            continue
        for piece in dict.fromkeys(_pieces(one.text)):
            for start in _possible_starts(piece):
                if found := refusal(Look(list(piece[start : start + _MOST_WORDS]), folder, home)):
                    return found
        if (device := re.search(r">\|?\s*(/dev/\S+)", one.text)) and is_disk(device[1]):
            return f"it writes over the disk {device[1]}"
    return None


def _pieces(text: str) -> Iterator[tuple[str, ...]]:
    """The words between separators; once with quotes removed, once with quotes as separators."""
    plain = _ODD_BLANKS.sub(" ", _NO_CHARACTERS.sub("", text))
    budget = _MOST_PARSED
    for version in (re.sub(r"['\"]", "", plain), plain):
        for piece in dict.fromkeys(_PIECES.split(version)):
            words = piece.split()
            while words and words[0] in _KEYWORDS:
                words.pop(0)
            if words and words[0].rpartition("/")[2] in WRAPPERS and budget > 0:
                budget -= 1
                inner = reached(parse(" ".join(words)))
                yield from (tuple(word.text for word in command.words) for command in inner.commands)
            yield tuple(words)
