"""What is at a path before it is written: its bytes, and a fingerprint that tells whether it has changed since."""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.tools import Json
from cos.plugins.workspace.binary import SAMPLE_BYTES, describe, is_binary, kind_of
from cos.plugins.workspace.encodings import EncodedText, decoded
from cos.plugins.workspace.files import FileRefused, check_kind, failure, open_regular
from cos.plugins.workspace.lines import encoding_of
from cos.plugins.workspace.paths import quoted, real_path, resolve, shown

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.identity import TurnInfo
    from cos.plugins.workspace.folders import SessionFolders

COMPARED_BYTES = 5_000_000
"""Larger files are neither patched nor compared."""
_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A regular file, or no file where `stat` is None."""

    path: Path
    written: str
    """The path as the model wrote it."""
    stat: os.stat_result | None = None
    data: bytes | None = None
    """None when there is no file, or when it is larger than `COMPARED_BYTES`."""
    start: bytes = b""
    """The first bytes, also of a larger file."""
    fingerprint: str = "absent"

    def check_text(self) -> None:
        """
        Raises:
            FileRefused: the file is binary.
        """
        marked = encoding_of(self.start)[0] != "utf-8"
        if kind_of(self.start) or (not marked and is_binary(self.start)):
            raise self._binary()

    def text(self) -> EncodedText:
        """
        Raises:
            FileRefused: the file is binary.
        """
        self.check_text()
        try:
            return decoded(self.data or b"")
        except UnicodeDecodeError:
            raise self._binary() from None

    def _binary(self) -> FileRefused:
        size = self.stat.st_size if self.stat else 0
        return FileRefused(
            f"{quoted(self.written)} is no text file ({describe(self.start, size)}) and was left as it is; "
            "use a program that knows its format.",
            is_binary=True, file_size=size,
        )  # fmt: skip


def find(args: Json, turn: TurnInfo, workspace: Path, folders: SessionFolders) -> FileState:
    """The state of the file that `args["path"]` names. Blocking.

    Raises:
        PathRefused: the path leads outside the workspace, or is none.
        FileRefused: a folder, pipe or device, or a file that may not be read.
    """
    workspace = real_path(workspace)
    folder, _ = folders.current(turn, workspace)
    written = str(args.get("path", ""))
    return read_state(resolve(written, workspace=workspace, folder=folder), written)


def read_state(path: Path, written: str) -> FileState:
    """
    Raises:
        FileRefused: a folder, pipe or device, or a file that may not be read.
    """
    try:
        check_kind(path)
        with open_regular(path, written) as file:
            found = os.fstat(file.fileno())
            data = file.read(COMPARED_BYTES + 1)
    except FileNotFoundError:
        return FileState(path=path, written=written)
    except OSError as error:
        raise FileRefused(failure(error, written, "read")) from error
    is_large = len(data) > COMPARED_BYTES
    mark = f"{found.st_ino}:{found.st_size}:{found.st_mtime_ns}" if is_large else hashlib.sha256(data).hexdigest()
    return FileState(
        path=path, written=written, stat=found, data=None if is_large else data, start=data[:SAMPLE_BYTES],
        fingerprint=mark,
    )  # fmt: skip


def check_is_text(path: Path, written: str) -> None:
    """Check that a file holds text, without reading it all. Blocking.

    Raises:
        FileRefused: it is binary, or may not be read.
    """
    try:
        with open_regular(path, written) as file:
            FileState(
                path=path, written=written, stat=os.fstat(file.fileno()), start=file.read(SAMPLE_BYTES)
            ).check_text()
    except OSError as error:
        raise FileRefused(failure(error, written, "read")) from error


class DescribedStates:
    """Remembers how each file was when a call was described, so that a person's answer is for exactly that."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[UUID, str], tuple[Path, str]] = OrderedDict()

    def remember(self, turn: TurnInfo, state: FileState, args: Json) -> None:
        self._known[_key(turn, args)] = (state.path, state.fingerprint)
        self._known.move_to_end(_key(turn, args))
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def check(self, turn: TurnInfo, state: FileState, args: Json) -> None:
        """
        Raises:
            FileRefused: the path leads to another file, or the file is not as it was, when the call was described.
        """
        path, fingerprint = self._known.get(_key(turn, args), (state.path, state.fingerprint))
        if path != state.path:
            raise FileRefused(
                f"{quoted(state.written)} led to {shown(path)} when this call was shown and leads to "
                f"{shown(state.path)} now, so nothing was done; repeat the call with the whole path."
            )
        if fingerprint != state.fingerprint:
            raise FileRefused(
                f"{quoted(state.written)} has changed since this call was shown, and was left as it is; "
                "read it again and repeat the call."
            )

    def written(self, turn: TurnInfo, before: FileState, after: bytes) -> None:
        """The session itself changed the file: its other calls of the same step still fit."""
        fingerprint = hashlib.sha256(after).hexdigest()
        for key, known in self._known.items():
            if key[0] == turn.session_id and known == (before.path, before.fingerprint):
                self._known[key] = (before.path, fingerprint)


def _key(turn: TurnInfo, args: Json) -> tuple[UUID, str]:
    text = json.dumps(args, sort_keys=True)
    return turn.session_id, hashlib.sha256(text.encode()).hexdigest()
