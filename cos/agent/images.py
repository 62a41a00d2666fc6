"""Pictures of a conversation: stored once by the hash of their bytes, named by it in messages, sent as base64."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Protocol

from cos.agent.messages import ToolResultMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cos.agent.messages import Message

MEDIA_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
MOST_BYTES: Final = 5_000_000
"""Of one picture as the API takes it. Source: platform.claude.com, vision, November 2026."""


class Blobs(Protocol):
    """Where the bytes are."""

    async def read(self, blob: str) -> bytes | None:
        """None when there is none of this hash."""
        ...


async def images_of(messages: Iterable[Message], blobs: Blobs | None) -> Mapping[str, str]:
    """Base64 by hash of every picture that the messages name and the store has."""
    found: dict[str, str] = {}
    for message in messages:
        if blobs is None or not isinstance(message, UserMessage | ToolResultMessage):
            continue
        for part in message.parts:
            if part.type == "image" and part.blob and part.blob not in found:
                data = await blobs.read(part.blob)
                if data is not None:
                    found[part.blob] = b64encode(data).decode()
    return found


def media_type_of(data: bytes) -> str | None:
    """What kind of picture the bytes are, by how they begin; None when they are none that a model takes."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
