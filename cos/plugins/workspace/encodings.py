"""Text as it lies in a file: decoded so that encoding it again gives the same bytes, whatever they are."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

_CODECS: Final = (
    (codecs.BOM_UTF8, "utf-8", "surrogateescape", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "surrogatepass", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "surrogatepass", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "surrogatepass", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "surrogatepass", "UTF-16"),
)
LF, CRLF, CR = "\n", "\r\n", "\r"


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A file's text and all that is needed to write it back. `mark` and `rest` are bytes around the text."""

    text: str
    encoding: str
    errors: str
    name: str
    mark: bytes = b""
    rest: bytes = b""
    """What is left over at the end when the file's length is no multiple of the encoding's unit."""

    def to_bytes(self, text: str) -> bytes:
        """
        Raises:
            UnicodeEncodeError: `text` holds a character that the encoding does not have.
        """
        return self.mark + text.encode(self.encoding, self.errors) + self.rest


def decoded(data: bytes) -> EncodedText:
    """`data` by its byte order mark, else as UTF-8; bytes that are no valid UTF-8 become lone surrogates.

    Raises:
        UnicodeDecodeError: a UTF-32 mark, but no UTF-32.
    """
    for mark, encoding, errors, name in _CODECS:
        if data.startswith(mark):
            unit = {"utf-16": 2, "utf-32": 4}.get(encoding[:6], 1)
            end = len(data) - (len(data) - len(mark)) % unit
            body, rest = data[len(mark) : end], data[end:]
            return _decoded_units(body, rest, (mark, encoding, errors, name))
    return EncodedText(data.decode("utf-8", "surrogateescape"), "utf-8", "surrogateescape", "UTF-8")


def _decoded_units(body: bytes, rest: bytes, codec: tuple[bytes, str, str, str]) -> EncodedText:
    mark, encoding, errors, name = codec
    if encoding.startswith("utf-16") and body:
        # A high surrogate at the very end is half a character: it stays with the bytes that are no text.
        last = int.from_bytes(body[-2:], "little" if encoding.endswith("le") else "big")
        if 0xD800 <= last <= 0xDBFF:
            body, rest = body[:-2], body[-2:] + rest
    return EncodedText(body.decode(encoding, errors), encoding, errors, name, mark, rest)


def as_latin1(data: bytes) -> EncodedText | None:
    """`data` read as Latin-1 when it is neither marked nor valid UTF-8, else None."""
    text = decoded(data)
    if text.mark or not re.search("[\udc80-\udcff]", text.text):
        return None
    return EncodedText(data.decode("latin-1"), "latin-1", "strict", "Latin-1")


def majority_end(text: str) -> str:
    """The line end that most lines of `text` have; LF for a text of one line."""
    crlf = text.count(CRLF)
    feeds = text.count(LF) - crlf
    if not crlf and not feeds:
        return CR if CR in text else LF
    return CRLF if crlf > feeds else LF


def ends_name(end: str) -> str:
    """`LF`, `CRLF` or `CR`."""
    return {LF: "LF", CRLF: "CRLF", CR: "CR"}[end]
