"""Reading a page of lines from a file of any size and encoding, without holding more than the page."""

from __future__ import annotations

import codecs
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from cos.agent.text import storable

PAGE_BYTES = 50_000
LINE_BYTES = 2_000
_READ_BYTES = 262_144
# Counting the rest of a file costs time; beyond this size the number of lines stays unknown.
_COUNT_REST_BYTES = 5_000_000

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8 with a byte order mark, which is left out here."),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32, shown as text."),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16, shown as text."),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16, shown as text."),
)


class ReadingStopped(Exception):
    """Nobody waits for the page any more."""


@dataclass(kw_only=True)
class LinePage:
    """Some lines of a file, without their line ends."""

    lines: list[str] = field(default_factory=list)
    total_lines: int | None = None
    """Lines in the whole file; None when it was too large to count them."""
    has_more: bool = False
    odd_lines: int = 0
    """How many of `lines` are not what the encoding says and were read as Latin-1."""


class _Line(NamedTuple):
    start: bytes
    """At most the first `LINE_BYTES`."""
    length: int
    """Bytes without the line end."""
    raw_length: int
    """Bytes with the line end."""


def encoding_of(sample: bytes) -> tuple[str, str | None]:
    """The encoding by the byte order mark, and a sentence about it; UTF-8 and None without one."""
    for mark, encoding, note in _MARKS:
        if sample.startswith(mark):
            return encoding, f"Encoding: {note}"
    return "utf-8", None


def read_page(file: BinaryIO, encoding: str, *, first: int, limit: int, stop: threading.Event) -> LinePage:
    """Lines `first` to `first + limit - 1`, fewer when they are too long together. Blocking.

    Raises:
        ReadingStopped: `stop` was set meanwhile.
    """
    file_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    page = LinePage()
    number, size, passed = 0, 0, 0
    for number, line in enumerate(_lines(_utf8_chunks(file, encoding, stop)), 1):
        passed += line.raw_length
        if number < first or page.has_more:
            continue
        text, is_odd = _shown(line)
        size += len(f"{number}|{text}\n".encode())
        if len(page.lines) == limit or size > PAGE_BYTES:
            page.has_more = True
        else:
            page.lines.append(text)
            page.odd_lines += is_odd
        is_full = page.has_more or len(page.lines) == limit
        if is_full and passed < file_bytes and file_bytes > _COUNT_REST_BYTES:
            page.has_more = True
            return page
    page.total_lines = number
    return page


def _shown(line: _Line) -> tuple[str, bool]:
    """A line as text, cut when it is too long, and whether it had to be read as Latin-1."""
    hidden = line.length - len(line.start)
    try:
        text, is_odd = codecs.getincrementaldecoder("utf-8")().decode(line.start, final=not hidden), False
    except UnicodeDecodeError:
        text, is_odd = line.start.decode("latin-1"), True
    return storable(text) + (f"… [{hidden:,} more bytes in this line]" if hidden else ""), is_odd


def _utf8_chunks(file: BinaryIO, encoding: str, stop: threading.Event) -> Iterator[bytes]:
    if encoding == "utf-8-sig":
        file.seek(len(codecs.BOM_UTF8))
    decoder = codecs.getincrementaldecoder(encoding)("replace") if encoding in {"utf-16", "utf-32"} else None
    while data := file.read(_READ_BYTES):
        if stop.is_set():
            raise ReadingStopped
        yield data if decoder is None else decoder.decode(data).encode()
    if decoder is not None:
        yield decoder.decode(b"", final=True).encode()


def _lines(chunks: Iterator[bytes]) -> Iterator[_Line]:
    start, raw_length, last = b"", 0, b""
    for chunk in chunks:
        for index, part in enumerate(chunk.split(b"\n")):
            if index:
                length = raw_length - (last == b"\r")
                yield _Line(start[:length], length, raw_length + 1)
                start, raw_length, last = b"", 0, b""
            start += part[: LINE_BYTES - len(start)]
            raw_length += len(part)
            last = part[-1:] or last
    if raw_length:
        yield _Line(start, raw_length, raw_length)
