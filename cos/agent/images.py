"""Pictures of a conversation: stored once by the hash of their bytes, named by it in messages, sent as base64."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from cos.agent.messages import ToolResultMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cos.agent.messages import Message


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
