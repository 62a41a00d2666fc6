"""Telling binary data from text by its bytes, and naming its kind by the signature at its start."""

from __future__ import annotations

SAMPLE_BYTES = 8_192
# Random or compressed bytes are 11 % control characters. A text in an old encoding has many bytes that are not UTF-8,
# but hardly any controls; `find -print0` writes a NUL for each name.
_MANY_CONTROLS = 0.08
_SOME_CONTROLS = 0.02
_MANY_BROKEN = 0.10
_FEW = 8

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x7fELF", "ELF program"),
    (b"\x1f\x8b", "gzip archive"),
)
_ORDINARY_CONTROLS = b"\t\n\r\b\x0c\x1b"
_CONTROLS = bytes(code for code in range(0x20) if code not in _ORDINARY_CONTROLS) + b"\x7f"


def kind_of(start: bytes) -> str | None:
    """The kind of file that `start` is the beginning of, such as "PNG image", or None when no signature matches."""
    return next((kind for signature, kind in _SIGNATURES if start.startswith(signature)), None)


def is_binary(sample: bytes) -> bool:
    """Whether `sample` is no text: many control characters, or some of them among many bytes that are not UTF-8."""
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls > max(_FEW, _MANY_CONTROLS * len(sample)):
        return True
    if controls <= _SOME_CONTROLS * len(sample):
        return False
    return sample.decode("utf-8", "replace").count("\ufffd") > max(_FEW, _MANY_BROKEN * len(sample))


def describe(start: bytes, size_bytes: int) -> str:
    """One phrase for the reader, such as "PNG image, 12,345 bytes"."""
    return f"{kind_of(start) or 'binary data'}, {size_bytes:,} bytes"
