"""Files that come with a message: checked, stored, and named in the message as parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.agent.images import MEDIA_TYPES, MOST_BYTES, media_type_of
from cos.agent.messages import Part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cos.core.postgres.blobs import PostgresBlobs


class AttachmentError(CosError):
    """A file that cannot come with a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """One picture, read and checked."""

    name: str
    media_type: str
    data: bytes


def read_attachment(path: Path) -> Attachment:
    """The picture in a file.

    Raises:
        AttachmentError: it cannot be read, is no picture that a model takes, or is too large.
    """
    try:
        if not path.is_file():
            raise AttachmentError(f"{path} is no file")
        if path.stat().st_size > MOST_BYTES:
            raise AttachmentError(f"{path.name} has more than {MOST_BYTES // 1024**2} MB; make it smaller")
        data = path.read_bytes()
    except OSError as error:
        raise AttachmentError(f"{path} cannot be read: {error.strerror}") from error
    media_type = media_type_of(data)
    if media_type is None:
        kinds = ", ".join(kind.removeprefix("image/") for kind in MEDIA_TYPES)
        raise AttachmentError(f"{path.name} is no picture that a model takes ({kinds})")
    return Attachment(name=path.name, media_type=media_type, data=data)


async def kept_parts(attachments: Iterable[Attachment], profile_id: str, blobs: PostgresBlobs) -> list[Part]:
    """Store the pictures. Answers the parts that name them.

    Raises:
        DatabaseError: one could not be kept.
    """
    parts = []
    for item in attachments:
        blob = await blobs.keep(profile_id, item.media_type, item.data)
        parts.append(Part(type="image", blob=blob, media_type=item.media_type, text=item.name))
    return parts
