"""Pictures that go along with a message, recognised by their first bytes and never by their name.

One is an `Attachment` while it is only attached, and a `Picture` once it was read to be sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cos.agent.errors import CosError
from cos.agent.images import MEDIA_TYPES, MOST_BYTES, media_type_of
from cos.agent.messages import Part

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cos.core.postgres.blobs import PostgresBlobs

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
    """In bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What is sent."""

    name: str
    media_type: str
    data: bytes


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


def read_picture(path: Path) -> Picture:
    """The picture in a file, as it is now. Blocking.

    Raises:
        AttachmentError: it cannot be read, is no picture that a model takes, or is too large.
    """
    found = image_at(path)
    if found is None:
        kinds = ", ".join(kind.removeprefix("image/") for kind in MEDIA_TYPES)
        raise AttachmentError(f"{path} is not there, or is no picture that a model takes ({kinds})")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise AttachmentError(f"{path} cannot be read: {error.strerror}") from error
    return Picture(name=path.name, media_type=found.media_type, data=data)


async def kept_parts(pictures: Iterable[Picture], profile_id: str, blobs: PostgresBlobs) -> list[Part]:
    """Store pictures. Answers the parts that name them.

    Raises:
        DatabaseError: one could not be kept.
    """
    parts = []
    for picture in pictures:
        blob = await blobs.keep(profile_id, picture.media_type, picture.data)
        parts.append(Part(type="image", blob=blob, media_type=picture.media_type, text=picture.name))
    return parts
