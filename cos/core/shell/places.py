"""Places that may never be wiped: which folder or disk a word of a command means, as far as its text tells.

Text only: no file system is asked, because what is refused must not depend on what happens to be there.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

_SYSTEM = (
    "/", "/etc", "/usr", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local",
    "/usr/share", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot", "/boot/efi", "/var", "/var/lib",
    "/home", "/root", "/opt", "/srv", "/dev", "/sys", "/proc", "/run", "/mnt", "/media",
    "/System", "/Library", "/Applications", "/Users", "/Volumes", "/private", "/private/etc", "/private/var",
)  # fmt: skip
_HOMES = ("/home/someone", "/Users/someone", "/root")
_HOME_FOLDER = re.compile(r"/(?:home|Users)/[^/]+")
_DEVICE = re.compile(
    r"/dev/(?:[shv]d[a-z*?\[]|xvd|nvme|mmcblk|dm-|md\d|nbd|vd|r?disk|mapper/|disk/|root\b|mem\b|kmem\b|port\b|\*$|[shv]d?\*)"
)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*|[0-9@*])\}|([A-Za-z_]\w*|[0-9@*]))")
_DEFAULT = re.compile(r"\$\{\w+:?[-=]([^{}]*)\}")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_LAST_PART_IS_ALL = re.compile(r"(?:\.?\*+|\*\.\*|\.\[!?\^?\.\]\*|\.\?\?\*|\?\*|\*\?)")
_MOST_ALTERNATIVES = 200
HOME = "~"
UNKNOWN_FOLDER = "/unknown/folder/of/this/session"
"""Stands for a working folder that is not known: climbing out of it by more levels than it has ends in `/`."""


def expanded(text: str, variables: Mapping[str, str]) -> list[str]:
    """`text` with the variables that the line itself sets, and one text for each alternative in braces."""
    for _ in range(3):
        text = _DEFAULT.sub(r"\1", _VARIABLE.sub(lambda it: variables.get(it[1] or it[2], it[0]), text))
    found = [text]
    while (
        len(found) < _MOST_ALTERNATIVES
        and (at := next((i for i, one in enumerate(found) if _BRACES.search(one)), -1)) >= 0
    ):
        braces = _BRACES.search(found[at])
        assert braces is not None
        before, after = found[at][: braces.start()], found[at][braces.end() :]
        found[at : at + 1] = [before + part + after for part in braces[1].split(",")]
    return found


def is_disk(path: str) -> bool:
    """Whether `path` names a disk, a partition or the memory."""
    return bool(_DEVICE.match(posixpath.normpath(path).replace("//", "/", 1)))


def wiped_place(path: str, folder: str, home: PurePath) -> str | None:
    """The system folder or home folder that is gone when `path`, seen from `folder`, is deleted; else None."""
    full = absolute(path, folder, home)
    for candidate in (full, posixpath.dirname(full) if _LAST_PART_IS_ALL.fullmatch(posixpath.basename(full)) else full):
        if found := _protected(candidate, home):
            return found
    return None


def absolute(path: str, folder: str, home: PurePath) -> str:
    path = re.sub(r"^(?:~|\$HOME\b|\$\{HOME\})(?=/|$)", str(home).replace("\\", r"\\"), path)
    path = re.sub(r"^~root(?=/|$)", "/root", path)
    path = re.sub(r"^~(?=[A-Za-z_])", "/home/", path)
    path = re.sub(r"^(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`)(?=/|$)", folder.replace("\\", r"\\"), path)
    return "/" + posixpath.normpath(posixpath.join(folder, path)).lstrip("/")


def _protected(path: str, home: PurePath) -> str | None:
    if path in _SYSTEM:
        return path
    if path in {str(home), "/root"} or _HOME_FOLDER.fullmatch(path):
        return f"the home folder {path}"
    # All that holds the home folder goes with it.
    if any(str(above) == path for above in home.parents):
        return f"{path}, which holds the home folder"
    if any(character in path for character in "*?["):
        return next((place for place in (*_SYSTEM[1:], *_HOMES, str(home)) if _glob_matches(place, path)), None)
    return None


def _glob_matches(place: str, pattern: str) -> bool:
    parts, patterns = place.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(
        fnmatch.fnmatchcase(part, one) for part, one in zip(parts, patterns, strict=True)
    )


def operands(texts: list[str]) -> Iterator[str]:
    """The words that are no options."""
    only_operands = False
    for text in texts:
        if text == "--" and not only_operands:
            only_operands = True
        elif only_operands or not text.startswith("-"):
            yield text
