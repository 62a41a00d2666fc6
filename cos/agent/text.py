"""Text hygiene: what may be stored, what may reach a terminal, and how a title is cut.

Storage replaces only what no database or provider accepts. Terminals get every control and direction-changing
character as a visible sign, so that text from a model or a tool can neither move the cursor nor hide a part of itself.
"""

from __future__ import annotations

import re
import unicodedata

REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_COLOUR = re.compile("(?:\x1b\\[|\x9b)[0-9;:]*m")
_CLUSTER_JOINERS = {"\u200d", "\ufe0f", "\ufe0e"}
_BIDI_AND_HIDDEN = "\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u00ad\u034f\u115f\u1160"
_INVISIBLE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_BIDI_AND_HIDDEN}\U000e0000-\U000e007f]")

_SIGNS = {0x1B: "\u241b", 0x9B: "\u27e8U+009B\u27e9", 0x0D: "\u240d"}

TITLE_CHARACTERS = 60


def storable(text: str) -> str:
    """`text` with every lone surrogate and every real U+0000 replaced by U+FFFD; all else unchanged."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub(REPLACEMENT, text)


def visible(text: str) -> str:
    """`text` as it may be written to a terminal: no control or hidden character left, each shown as a sign instead.

    Line feeds and tabs stay. Colour sequences (SGR) are dropped; every other control is shown: ESC as `␛`, C1 controls,
    zero-width and bidirectional marks as `⟨U+202E⟩`.
    """
    if text.isascii() and text.isprintable():
        return text
    return _INVISIBLE.sub(lambda match: _sign(match.group()), _COLOUR.sub("", text.replace("\r\n", "\n")))


def exact(text: str) -> str:
    """As `visible`, but nothing is dropped either: colour sequences and carriage returns are shown too."""
    return visible(text.translate(_SIGNS))


def _sign(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"\u27e8U+{code:04X}\u27e9"


def clusters(text: str) -> list[str]:
    """`text` cut into what a reader sees as one character each (combining marks, joined emoji and flags stay whole)."""
    found: list[str] = []
    for character in text:
        if found and _joins(found[-1], character):
            found[-1] += character
        else:
            found.append(character)
    return found


def _joins(before: str, character: str) -> bool:
    if character in _CLUSTER_JOINERS or before[-1] == "\u200d":
        return True
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Mc"}:
        return True
    if "\U0001f3fb" <= character <= "\U0001f3ff":
        return True
    is_flag = "\U0001f1e6" <= character <= "\U0001f1ff"
    return is_flag and len(before) == 1 and "\U0001f1e6" <= before <= "\U0001f1ff"


def cells(text: str) -> int:
    """How many cells of a terminal `text` takes."""
    return len(text) if text.isascii() else sum(map(_cluster_cells, clusters(text)))


def _cluster_cells(cluster: str) -> int:
    if unicodedata.east_asian_width(cluster[0]) in {"W", "F"} or "\ufe0f" in cluster:
        return 2
    is_flag = "\U0001f1e6" <= cluster[0] <= "\U0001f1ff" and len(cluster) > 1
    return 2 if is_flag else 1


def title_of(text: str) -> str | None:
    """The first 60 visible characters of `text` on one line, or None when nothing visible is left.

    Control and hidden characters are dropped; the cut never divides a visible character.
    """
    plain = "".join(" " if character.isspace() else character for character in _COLOUR.sub("", text))
    kept = "".join(c for c in plain if c in _CLUSTER_JOINERS or not _INVISIBLE.match(c))
    line = "".join(clusters(" ".join(storable(kept).split()))[:TITLE_CHARACTERS]).strip()
    return line if any(character not in _CLUSTER_JOINERS for character in line) else None
