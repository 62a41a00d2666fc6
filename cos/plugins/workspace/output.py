"""What is kept and shown of a command's output: bounded by bytes while it is read, however much arrives."""

from __future__ import annotations

import codecs
from collections.abc import Callable

from cos.agent.text import storable
from cos.plugins.workspace.binary import SAMPLE_BYTES, describe, is_binary, kind_of

RESULT_BYTES = 50_000
HEAD_SHARE = 0.4
LIVE_BYTES = 1_000_000


class OutputCollector:
    """Keeps the head and the tail of a stream of bytes, never more than `limit_bytes` of it."""

    def __init__(self, limit_bytes: int = RESULT_BYTES) -> None:
        self._head_limit = int(limit_bytes * HEAD_SHARE)
        self._tail_limit = limit_bytes - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    @property
    def kept_bytes(self) -> int:
        return len(self._head) + len(self._tail)

    def feed(self, data: bytes) -> None:
        self.total_bytes += len(data)
        if room := self._head_limit - len(self._head):
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._tail_limit :]
        del self._tail[: -self._tail_limit]

    def result(self) -> tuple[str, int]:
        """The text for the model and the number of bytes that are missing from it.

        Binary output is named by kind and size instead of being quoted.
        """
        head, tail = bytes(self._head), bytes(self._tail)
        dropped = self.total_bytes - self.kept_bytes
        if not dropped:
            head, tail = head + tail, b""
        if kind_of(head) or is_binary(head):
            return f"[binary output not shown: {describe(head, self.total_bytes)}]", self.total_bytes
        text = _decode_start(head) if dropped else head.decode("utf-8", "replace")
        if not dropped:
            return storable(text), 0
        if is_binary(tail):
            dropped += len(tail)
            return f"{storable(text)}\n\n[{dropped:,} bytes left out: binary output from here on]", dropped
        return storable(f"{text}\n\n[{dropped:,} bytes of output left out here]\n\n{_decode_end(tail)}"), dropped


class LiveOutput:
    """Decodes a stream of bytes for the screen, until it grows too long or turns out to be binary."""

    def __init__(self, emit: Callable[[str], None], limit_bytes: int = LIVE_BYTES) -> None:
        self._emit = emit
        self._left = limit_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_open = True

    def feed(self, data: bytes) -> None:
        if not self._is_open:
            return
        if kind_of(data) or is_binary(data[:SAMPLE_BYTES]):
            self._close("[binary output, not shown live]\n")
            return
        shown = data[: self._left]
        self._left -= len(shown)
        if text := storable(self._decoder.decode(shown)):
            self._emit(text)
        if len(shown) < len(data):
            self._close("\n[too much output: the rest is not shown live]\n")

    def finish(self) -> None:
        """Show what an unfinished character left behind."""
        if self._is_open and (text := self._decoder.decode(b"", final=True)):
            self._emit(text)
        self._is_open = False

    def _close(self, note: str) -> None:
        self._is_open = False
        self._emit(note)


def _decode_start(data: bytes) -> str:
    """`data` as text without the character that the cut at its end divided."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=False)


def _decode_end(data: bytes) -> str:
    """`data` as text without the character that the cut at its start divided."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode("utf-8", "replace")
