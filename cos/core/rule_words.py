"""How the words of a rule are compared with a command: strictly to allow it, widely to ask about it or deny it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from cos.core.path_globs import path_matches
from cos.core.shell.parsed import Parsed
from cos.core.shell.reached import reached
from cos.core.shell.tree import SimpleCommand
from cos.core.shell.words import Word, resolved

ANY_FURTHER = "*"
_PATTERN = re.compile(r"[*?\[\]]")
_RAW_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+""", re.DOTALL)


def rule_words(match: str) -> list[Word]:
    """The words of a rule; quotes work as in the shell, and `*` `?` `[` are patterns unless they are quoted.

    Raises:
        ValueError: there is no word, or one that no literal word can match; the message says which.
    """
    raws = _RAW_WORD.findall(match)
    words = [word for raw in raws if (word := resolved(raw))]
    if not words or len(words) != len(raws) or _RAW_WORD.sub("", match).strip(" \t"):
        raise ValueError("must be the words of one command, with quotes that end")
    for word in words:
        if word.unknown - {"glob", "brace", "history"} or re.search(r"[;&|<>()\n]", _without_quotes(word.raw)):
            raise ValueError(
                f"holds {word.raw}, which the shell would replace or take for a separator: a rule matches the plain "
                "words of one command. Quote it, or write one rule for each command"
            )
    return words


def allows_command(match: str, command: SimpleCommand) -> bool:
    """Whether an allow rule allows this one command of a flat line."""
    argv = command.argv
    if argv is None or command.redirects or command.assignments or any("\n" in word for word in argv):
        return False
    words = rule_words(match)
    if words[-1].raw == ANY_FURTHER and len(words) > 1:
        words = words[:-1]
        argv = argv[: len(words)]
    return len(argv) == len(words) and all(_fits(word, text) for word, text in zip(words, argv, strict=True))


def catches_line(match: str, line: Parsed) -> bool:
    """Whether an ask or deny rule matches anything that the line runs or may run."""
    words = rule_words(match)
    if words[-1].raw == ANY_FURTHER and len(words) > 1:
        words = words[:-1]
    layers = reached(line)
    if any(_caught(words, one.words) for one in layers.commands):
        return True
    return any(_text_holds(words, one.text) for one in layers.parsed if one.fault is not None)


def _fits(word: Word, text: str) -> bool:
    """A pattern stays within one part of a path and never reaches `..`."""
    if not _is_pattern(word):
        return word.text == text
    if "/" not in word.text and "/" not in text:
        return fnmatchcase(text, word.text)
    if ".." in text.split("/") or text.startswith("/") != word.text.startswith("/"):
        return False
    return path_matches(word.text.replace("**", "*"), text)


def _is_pattern(word: Word) -> bool:
    return "glob" in word.unknown and bool(_PATTERN.search(word.raw))


def _caught(words: Sequence[Word], command: Sequence[Word]) -> bool:
    if not command:
        return False
    name, wanted = command[0], words[0]
    base = name.text.rpartition("/")[2]
    if not (_is_unknown(name) or any(_resembles(wanted, text) for text in (name.text, base))):
        return False
    at = 1
    for word in words[1:]:
        # A word that is not known counts only where the next one is due, else `git commit -m "$x"` were a push.
        if at < len(command) and _is_unknown(command[at]):
            at += 1
            continue
        at = next((i + 1 for i in range(at, len(command)) if _resembles(word, command[i].text)), 0)
        if not at:
            return False
    return True


def _resembles(word: Word, text: str) -> bool:
    return fnmatchcase(text, word.text) if _is_pattern(word) else word.text == text


def _is_unknown(word: Word) -> bool:
    return not word.is_literal


def _text_holds(words: Sequence[Word], text: str) -> bool:
    """For a text that cannot be parsed: the words in this order, whatever quotes and characters stand between."""
    plain = re.sub(r"\\\n|['\"\\\0]", "", text)
    at = 0
    for word in words:
        # Word by word from the left: one pattern for all would take the text's length to the power of the words.
        found = re.compile(re.escape(word.text).replace(r"\*", r"\S*").replace(r"\?", ".")).search(plain, at)
        if found is None:
            return False
        at = found.end()
    return True


def _without_quotes(raw: str) -> str:
    return re.sub(r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"", "", raw, flags=re.DOTALL)
