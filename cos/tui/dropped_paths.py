"""Paths as terminals paste and drop them: quoted, escaped, as `file://` addresses, several in a row."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from cos.core.attachments import IMAGE_SUFFIXES, Attachment, image_at

LONGEST: Final = 8_000
_PATIENCE_SECONDS: Final = 2.0
"""A file on a network drive that is gone answers late or never."""


def image_paths(pasted: str) -> list[Path]:
    """The paths that a paste consists of, when all of it is absolute paths with an image's ending; else none."""
    text = pasted.strip()
    if not text or len(text) > LONGEST:
        return []
    whole = _path(text)
    if whole is not None and "\n" not in text and not text.startswith(("'", '"')) and "\\ " not in text:
        # A path with blanks that nobody quoted; several paths in a row do not name a file together.
        several = _split(text)
        return several if len(several) > 1 else [whole]
    return _split(text)


async def images_at(paths: list[Path]) -> list[Attachment]:
    """The images at all of these paths; none when one of them is no image.

    Raises:
        AttachmentError: one is too large.
    """
    found = []
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            for path in paths:
                image = await asyncio.to_thread(image_at, path)
                if image is None:
                    return []
                found.append(image)
    except TimeoutError:
        return []
    return found


def _split(text: str) -> list[Path]:
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    paths = [_path(word) for word in words]
    return [path for path in paths if path is not None] if all(paths) else []


def _path(word: str) -> Path | None:
    if word.startswith("file://"):
        address = urlsplit(word)
        if address.hostname not in (None, "localhost"):
            return None
        word = unquote(address.path)
    if not word.startswith(("/", "~/")) or Path(word).suffix.lower() not in IMAGE_SUFFIXES:
        return None
    try:
        return Path(word).expanduser()
    except RuntimeError:
        return None
