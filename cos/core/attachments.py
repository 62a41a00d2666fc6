"""Pictures that are attached to a message, recognised by their first bytes and never by their name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cos.agent.errors import CosError
from cos.agent.image_types import MOST_BYTES, media_type_of

if TYPE_CHECKING:
    from pathlib import Path

IMAGE_SUFFIXES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})


class AttachmentError(CosError):
    """A file that cannot go along with a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file as it was found when it was attached; what is sent is read later."""

    path: Path
    """Absolute."""
    media_type: str
    """Such as `image/png`."""
    size: int
    """In bytes; 0 = unknown."""
    blob: str | None = None
    """The hash of its bytes, when the database has them: then `path` is only its name, and no file is read."""


def image_at(path: Path) -> Attachment | None:
    """The image in this file, or None when there is no such file or it is no image. Blocking.

    Raises:
        AttachmentError: it is an image, but a larger one than a message may bring.
    """
    try:
        size = path.stat().st_size
        if not path.is_file():
            return None
        with path.open("rb") as file:
            media_type = media_type_of(file.read(16))
    except (OSError, ValueError):
        return None
    if media_type is None:
        return None
    if size > MOST_BYTES:
        megabytes, most = size / 1_000_000, MOST_BYTES / 1_000_000
        raise AttachmentError(
            f"{path.name!r} has {megabytes:.1f} MB, and an image may have {most:g} MB. Make it smaller; its path "
            "stays in the text"
        )
    return Attachment(path=path.absolute(), media_type=media_type, size=size)
