"""Finds the line of every key in a TOML text (TOML 1.0, https://toml.io/en/v1.0.0).

It reads only texts that tomllib has accepted, so it need not find mistakes, only places.
"""

from __future__ import annotations

import contextlib
import re
import tomllib

KeyPath = tuple[str | int, ...]
"""Keys from the top, with the index where a list or an array of tables is passed: ("approvals", "rules", 0, "tool")."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# A multi-line text may end in up to five quotes, of which the first two belong to the text.
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


def key_lines(text: str) -> dict[KeyPath, int]:
    """The first line (from 1) of every key, table, list item and array-table item of a valid TOML text."""
    scanner = _Scanner(text)
    # A later TOML may hold what this scanner does not know: an error without its line is better than none.
    with contextlib.suppress(_Lost, IndexError, RecursionError):
        scanner.scan()
    return scanner.lines


class _Lost(Exception):
    """The text is not what the scanner expects."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.array_sizes: dict[KeyPath, int] = {}

    def scan(self) -> None:
        table: KeyPath = ()
        self.skip(_BLANK)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip(_BLANK)

    def header(self) -> KeyPath:
        start, is_array = self.at, self.text.startswith("[[", self.at)
        self.at += 2 if is_array else 1
        *parents, last = self.keys()
        self.at += 2 if is_array else 1
        path: KeyPath = ()
        for key in parents:
            path = self.newest((*path, key), start)
        path = (*path, last)
        if not is_array:
            return self.newest(path, start)
        self.note(path, start)
        self.array_sizes[path] = self.array_sizes.get(path, 0) + 1
        return self.newest(path, start)

    def newest(self, path: KeyPath, start: int) -> KeyPath:
        """`path`, or the newest item of the array of tables at `path`: what a header below it speaks of."""
        self.note(path, start)
        if path in self.array_sizes:
            path = (*path, self.array_sizes[path] - 1)
            self.note(path, start)
        return path

    def pair(self, table: KeyPath) -> None:
        start, path = self.at, table
        for key in self.keys():
            path = (*path, key)
            self.note(path, start)
        self.at += 1
        self.value(path)

    def keys(self) -> list[str]:
        """The parts of a dotted key; stops at what ends it (`=` or `]`)."""
        found = [self.key()]
        while self.text[self.at] == ".":
            self.at += 1
            found.append(self.key())
        return found

    def key(self) -> str:
        self.skip(_SPACE)
        is_quoted = self.text[self.at] in "\"'"
        raw = self.skip(_STRING if is_quoted else _BARE_KEY)
        self.skip(_SPACE)
        if not is_quoted:
            return raw
        name: str = tomllib.loads(f"text = {raw}")["text"]
        return name

    def value(self, path: KeyPath) -> None:
        self.skip(_BLANK)
        match self.text[self.at]:
            case '"' | "'":
                self.skip(_STRING)
            case "[":
                self.items(path)
            case "{":
                self.inline_table(path)
            case _:
                self.skip(_SCALAR)

    def items(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while self.more("]"):
            self.note((*path, index), self.at)
            self.value((*path, index))
            index += 1

    def inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while self.more("}"):
            self.pair(path)

    def more(self, end: str) -> bool:
        """Passes blanks and one comma; False after passing `end`."""
        self.skip(_BLANK)
        if self.text[self.at] == ",":
            self.at += 1
            self.skip(_BLANK)
        if self.text[self.at] == end:
            self.at += 1
            return False
        return True

    def skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _Lost
        self.at = found.end()
        return found.group()

    def note(self, path: KeyPath, start: int) -> None:
        self.lines.setdefault(path, self.text.count("\n", 0, start) + 1)
