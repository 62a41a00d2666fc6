"""Whether what the model was sent only grew: request n + 1 of a conversation begins with the blocks of request n."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.crash.model import ASKS_FOR_SUMMARY, marker_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.api_server import RecordedRequest

_SUMMARY = "The conversation up to here was compacted."


def problems(requests: Iterable[RecordedRequest]) -> Iterator[str]:
    """Of requests in the order in which they came."""
    before: dict[str, list[tuple[str, str]]] = {}
    for request in requests:
        if request.refusal is not None:
            yield f"request {request.number} was refused: {request.refusal}"
            continue
        if ASKS_FOR_SUMMARY in json.dumps(request.messages[-1]):
            continue  # Asks for a summary, and is no part of the conversation.
        marker, blocks = marker_of(request.messages), list(_blocks(request.messages))
        earlier = before.get(marker, [])
        if blocks[: len(earlier)] != earlier and not _is_compacted(blocks, earlier):
            place = next(at for at, block in enumerate(earlier) if blocks[at : at + 1] != [block])
            yield (
                f"request {request.number} of {marker} does not begin with the one before it: "
                f"{earlier[place : place + 1]} has become {blocks[place : place + 1]}"
            )
        before[marker] = blocks


def _blocks(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for message in messages:
        for block in message["content"]:
            yield message["role"], json.dumps(block)


def _is_compacted(blocks: list[tuple[str, str]], earlier: list[tuple[str, str]]) -> bool:
    return _SUMMARY in blocks[0][1] and blocks[0] != earlier[0]
