"""One page of matching lines, built from ripgrep's JSON records while they arrive.

Records: `begin` (path), then `match` and `context` (lines), then `end` of each file; one JSON object a line. A file
that turns out to be binary says so only at its end.
"""

from __future__ import annotations

import base64
import json
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from cos.agent.text import storable
from cos.agent.tools import Json
from cos.plugins.workspace.binary import is_binary

PAGE_BYTES = 50_000
LINE_BYTES = 500
COUNTED_MATCHES = 10_000
_BEFORE_MATCH_BYTES = 100
# A longer record is one very long line, or one with very many matches; only its line number is taken.
_RECORD_BYTES = 1_000_000
_LINE_NUMBER = re.compile(rb'"\},"line_number":(\d+)')
_MATCH = b'{"type":"match"'
_OVERLAP = 64


class Records:
    """Splits output into lines; of one that is too long only the line number is kept."""

    def __init__(self) -> None:
        self._start = b""
        self._long_kind: str | None = None
        self._number: int | None = None

    def feed(self, data: bytes) -> list[Json]:
        """The records that `data` completes. One that was too long has no `lines`."""
        *parts, rest = data.split(b"\n")
        found = [record for part in parts if (record := self._finished(part))]
        self._add(rest)
        return found

    def finish(self) -> list[Json]:
        """What is known of a long record that was cut off."""
        record = self._finished(b"") if self._long_kind else None
        return [record] if record else []

    def _finished(self, part: bytes) -> Json | None:
        self._add(part)
        line, kind, number = self._start, self._long_kind, self._number
        self._start, self._long_kind, self._number = b"", None, None
        if kind:
            return {"type": kind, "data": {"line_number": number}}
        record: Json | None = json.loads(line) if line else None
        return record

    def _add(self, part: bytes) -> None:
        self._start += part
        if len(self._start) > _RECORD_BYTES or self._long_kind:
            self._long_kind = self._long_kind or ("match" if self._start.startswith(_MATCH) else "context")
            if self._number is None and (match := _LINE_NUMBER.search(self._start)):
                self._number = int(match.group(1))
            self._start = self._start[-_OVERLAP:]


@dataclass(kw_only=True)
class MatchPage:
    """Takes the matches `offset` to `offset + limit - 1` with their context lines, and counts the rest."""

    offset: int
    limit: int
    context: int = 0
    wants: Callable[[str], bool]
    """Whether a file's path, before `base` is added, is a result."""
    base: str = ""
    """What to put before each path, ending in `/`."""
    entries: list[Json] = field(default_factory=list)
    total: int = 0
    shown: int = 0
    is_full: bool = False

    def __post_init__(self) -> None:
        self._records = Records()
        self._path: str | None = None
        self._size = 0
        self._before_file = (0, 0, 0, False, 0)
        self._last_line = 0
        self._waiting: deque[Json] = deque(maxlen=self.context)

    def receive(self, data: bytes) -> bool:
        """Whether more is wanted."""
        for record in self._records.feed(data):
            self._take(record["type"], record["data"])
        return self.total < self.offset + self.limit + COUNTED_MATCHES

    def finish(self) -> None:
        """No more output comes."""
        for record in self._records.finish():
            self._take(record["type"], record["data"])

    def _take(self, kind: str, data: Json) -> None:
        if kind == "begin":
            self._begin(_text(data["path"])[0])
        elif kind == "end":
            if data.get("binary_offset") is not None:
                self._forget_file()
            self._path = None
        elif self._path is not None and kind == "match":
            self._match(self._path, data)
        elif self._path is not None and kind == "context":
            self._context_line(self._entry(self._path, data) | {"context": True})

    def _begin(self, path: str) -> None:
        path = path.removeprefix("./")
        self._path = f"{self.base}{path}" if self.wants(path) else None
        self._before_file = (len(self.entries), self.total, self.shown, self.is_full, self._size)
        self._last_line = 0
        self._waiting.clear()

    def _forget_file(self) -> None:
        entries, self.total, self.shown, self.is_full, self._size = self._before_file
        del self.entries[entries:]

    def _match(self, path: str, data: Json) -> None:
        index = self.total
        self.total += 1
        if index < self.offset or self.is_full:
            self._waiting.clear()
            return
        entry = self._entry(path, data)
        self.is_full = self.shown == self.limit or not self._append([*self._waiting, entry])
        self._waiting.clear()
        if not self.is_full:
            self.shown += 1
            self._last_line = entry["line"] or 0

    def _context_line(self, entry: Json) -> None:
        if self._last_line and not self.is_full and entry["line"] - self._last_line <= self.context:
            self._append([entry])
        else:
            self._waiting.append(entry)

    def _append(self, entries: list[Json]) -> bool:
        size = sum(len(json.dumps(entry, ensure_ascii=False).encode()) + 2 for entry in entries)
        if self._size + size > PAGE_BYTES:
            return False
        self._size += size
        self.entries += entries
        return True

    def _entry(self, path: str, data: Json) -> Json:
        if "lines" not in data:
            content = f"[this line is not shown: it is longer than {_RECORD_BYTES:,} bytes or matches very often]"
        else:
            starts = [match["start"] for match in data.get("submatches", ())]
            content = _shown_line(_text(data["lines"])[1], starts[0] if starts else 0)
        return {"path": path, "line": data["line_number"], "content": content}


def _text(value: dict[str, str]) -> tuple[str, bytes]:
    """A value as ripgrep writes it: as text when it is UTF-8, else its bytes in Base64."""
    if "text" in value:
        return storable(value["text"]), value["text"].encode()
    raw = base64.b64decode(value["bytes"])
    return storable(raw.decode("utf-8", "replace")), raw


def _shown_line(raw: bytes, match_start: int) -> str:
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    if is_binary(raw):
        return f"[{len(raw):,} bytes of binary data]"
    start = max(0, match_start - _BEFORE_MATCH_BYTES) if len(raw) > LINE_BYTES else 0
    start = min(start, max(0, len(raw) - LINE_BYTES))
    piece = raw[start : start + LINE_BYTES]
    try:
        raw.decode()
        text = piece.decode("utf-8", "ignore")  # a cut may have divided a character
    except UnicodeDecodeError:
        text = piece.decode("latin-1")
    after = len(raw) - start - len(piece)
    before_note = f"[{start:,} bytes] …" if start else ""
    after_note = f"… [{after:,} more bytes in this line]" if after else ""
    return before_note + storable(text) + after_note
