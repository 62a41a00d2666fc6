"""Which pictures a model takes. Imports nothing: the composer asks before anything heavy is loaded."""

from __future__ import annotations

from typing import Final

MEDIA_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
MOST_BYTES: Final = 5_000_000
"""Of one picture as the API takes it. Source: platform.claude.com, vision, November 2026."""


def media_type_of(data: bytes) -> str | None:
    """What kind of picture the bytes are, by how they begin; None when they are none that a model takes."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
