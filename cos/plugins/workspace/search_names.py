"""One page of file names, newest first, or of counts for each file, from ripgrep's NUL-separated output."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cos.agent.text import storable
from cos.agent.tools import Json
from cos.plugins.workspace.matches import PAGE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePage:
    """Results `offset` to `offset + limit - 1`, fewer when their names are long."""

    offset: int
    limit: int
    base: str
    """What to put before each path, ending in `/`."""

    def newest(self, output: bytes, wants: Callable[[str], bool], folder: Path) -> Json:
        """The files of `output` (paths below `folder`, each ended by NUL) that are wanted. Blocking."""
        names = [os.fsdecode(name.removeprefix(b"./")) for name in output.split(b"\0")[:-1]]
        found = [name for name in names if wants(name)]
        found.sort(key=lambda name: (-_modified(folder, name), name))
        paths = self._page(found)
        return {"total_count": len(found), "files": paths, "truncated": self._more(len(found), len(paths))}

    def counted(self, counts: list[tuple[str, int]], *, only_files: bool) -> Json:
        """The files that match, or how many of their lines do."""
        paths = self._page([name for name, _ in counts])
        if only_files:
            return {"total_count": len(counts), "files": paths, "truncated": self._more(len(counts), len(paths))}
        numbers = [count for _, count in counts[self.offset :]]
        return {
            "total_count": sum(count for _, count in counts), "file_count": len(counts),
            "counts": dict(zip(paths, numbers, strict=False)), "truncated": self._more(len(counts), len(paths)),
        }  # fmt: skip

    def _page(self, names: list[str]) -> list[str]:
        kept, size = [], 0
        for name in names[self.offset : self.offset + self.limit]:
            path = storable(f"{self.base}{name}")
            size += len(path.encode()) + 12
            if size > PAGE_BYTES:
                break
            kept.append(path)
        return kept

    def _more(self, total: int, shown: int) -> bool:
        return total > self.offset + shown


def counts_of(output: bytes, wants: Callable[[str], bool]) -> list[tuple[str, int]]:
    """Path and number of matching lines, from `path NUL number LF` records."""
    *pieces, last = output.split(b"\0")
    counts, path = [], b""
    for index, piece in enumerate([*pieces, last]):
        number, _, rest = piece.partition(b"\n") if index else (b"", b"", piece)
        number = number.removesuffix(b"\r")
        name = os.fsdecode(path.removeprefix(b"./"))
        if number.isdigit() and wants(name):
            counts.append((name, int(number)))
        path = rest
    return counts


def _modified(folder: Path, name: str) -> int:
    try:
        return os.lstat(f"{folder}/{name}").st_mtime_ns
    except OSError:
        return 0  # it has just gone
