"""Pictures that are sent: read, stored once, and named in the message as parts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cos.agent.image_types import MEDIA_TYPES
from cos.agent.messages import Part
from cos.core.attachments import AttachmentError, image_at

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cos.core.attachments import Attachment
    from cos.core.postgres.blobs import PostgresBlobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What is sent."""

    name: str
    media_type: str
    data: bytes = b""
    blob: str | None = None
    """The hash under which the database has it already; then there is no `data`."""


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


async def read_pictures(attachments: Iterable[Attachment]) -> tuple[Picture, ...]:
    """The pictures that are sent, in order; what the database has is not read again.

    Raises:
        AttachmentError: as `read_picture`.
    """
    return tuple(
        [
            Picture(name=one.path.name, media_type=one.media_type, blob=one.blob)
            if one.blob is not None
            else await asyncio.to_thread(read_picture, one.path)
            for one in attachments
        ]
    )


async def kept_parts(pictures: Iterable[Picture], profile_id: str, blobs: PostgresBlobs) -> list[Part]:
    """Store pictures. Answers the parts that name them.

    Raises:
        DatabaseError: one could not be kept.
    """
    parts = []
    for picture in pictures:
        blob = picture.blob or await blobs.keep(profile_id, picture.media_type, picture.data)
        parts.append(Part(type="image", blob=blob, media_type=picture.media_type, text=picture.name))
    return parts
