"""Pastes and images that stand in the composer as one mark each: what is behind a mark, and how a draft keeps it.

A mark is `[paste 1: 4,812 characters, 130 lines]` between two characters that no text has, because they are replaced
wherever text comes in. So nothing that a person writes is ever taken for a mark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cos.agent.text import REPLACEMENT, exact
from cos.core.attachments import Attachment

if TYPE_CHECKING:
    from cos.agent.messages import UserMessage

OPEN: Final = "\U0010ff00"
CLOSE: Final = "\U0010ff01"
FOLD_LINES: Final = 15
FOLD_CHARACTERS: Final = 2_000
_OURS = re.compile(f"[{OPEN}{CLOSE}]")
_MARK = re.compile(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")
_PASTE, _IMAGE = "p", "i"
_NAME_CHARACTERS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What one mark stands for."""

    mark: str
    text: str
    """What is sent in its place."""
    attachment: Attachment | None = None
    """The image, when it is one."""


def clean(text: str) -> str:
    """Text from outside without the two characters of marks. Terminals paste carriage returns for line feeds."""
    return _OURS.sub(REPLACEMENT, text.replace("\r\n", "\n").replace("\r", "\n"))


def is_long(text: str) -> bool:
    """Whether a paste is better folded."""
    return len(text) > FOLD_CHARACTERS or line_count(text) > FOLD_LINES


def line_count(text: str) -> int:
    """A line feed at the end ends a line and begins none."""
    return text.count("\n") + (not text.endswith("\n"))


class Folds:
    """The marks of one composer. A mark that was deleted stays known: undo may bring it back."""

    def __init__(self) -> None:
        self._folds: dict[str, Fold] = {}
        self._numbers = {_PASTE: 0, _IMAGE: 0}

    def __bool__(self) -> bool:
        return bool(self._folds)

    def __getitem__(self, mark: str) -> Fold:
        return self._folds[mark]

    def clear(self) -> None:
        """Forget all: the composer writes somewhere else, and nothing can bring a mark back."""
        self._folds.clear()
        self._numbers = dict.fromkeys(self._numbers, 0)

    def paste(self, text: str) -> str:
        """A new mark for a long text."""
        lines = line_count(text)
        number = self._next(_PASTE)
        mark = f"{OPEN}paste {number}: {len(text):,} characters, {lines:,} line{'s' if lines > 1 else ''}{CLOSE}"
        self._folds[mark] = Fold(mark=mark, text=text)
        return mark

    def image(self, attachment: Attachment) -> str:
        """A new mark for an image. The model reads the same words, so that a text can speak of it."""
        words = f"image {self._next(_IMAGE)}: {_shown_name(attachment.path.name)}"
        mark = f"{OPEN}{words}{CLOSE}"
        self._folds[mark] = Fold(mark=mark, text=f"[{words}]", attachment=attachment)
        return mark

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where marks are in a line: first character, and the one after the last."""
        if not self._folds or OPEN not in line:
            return []
        return [match.span() for match in _MARK.finditer(line) if match.group() in self._folds]

    def inside(self, text: str) -> list[Fold]:
        """The folds of a text, in order."""
        return [self._folds[match] for match in _MARK.findall(text) if match in self._folds]

    def opened(self, text: str) -> str:
        """The text as it is sent."""
        return self._replaced(text, lambda fold: fold.text)

    def packed(self, text: str) -> str:
        """The text as a draft keeps it: whole, and with the marks where they were."""
        return self._replaced(text, _pack)

    def unpacked(self, body: str) -> str:
        """The inverse of `packed`, with new marks."""
        pieces, end = [], 0
        for match in _MARK.finditer(body):
            pieces += [clean(body[end : match.start()]), self._unpack(match.group()[1:-1])]
            end = match.end()
        return "".join([*pieces, clean(body[end:])])

    def _unpack(self, content: str) -> str:
        kind, rest = content[:1], content[1:]
        if kind == _PASTE:
            return self.paste(rest)
        try:
            data = json.loads(rest)
            path = Path(data["path"])
            blob = str(data["blob"]) if "blob" in data else None
            return self.image(
                Attachment(path=path, media_type=str(data["media_type"]), size=int(data["size"]), blob=blob)
            )
        except (ValueError, KeyError, TypeError):
            return content

    def _replaced(self, text: str, piece: Callable[[Fold], str]) -> str:
        if not self._folds or OPEN not in text:
            return text
        folds = self._folds
        return _MARK.sub(lambda match: piece(folds[match.group()]) if match.group() in folds else match.group(), text)

    def _next(self, kind: str) -> int:
        self._numbers[kind] += 1
        return self._numbers[kind]


def packed_message(message: UserMessage) -> str:
    """A message as a draft: its pictures are marks again, in the place of the words that stood for them."""
    text = clean(message.text)
    for part in message.parts:
        if part.type == "image" and part.blob:
            name = part.text or "picture"
            image = Attachment(path=Path(name), media_type=part.media_type or "", size=0, blob=part.blob)
            words = re.search(rf"\[image \d+: {re.escape(_shown_name(name))}\]", text)
            start, end = words.span() if words else (len(text), len(text))
            text = f"{text[:start]}{_packed_image(image)}{text[end:]}"
    return text


def _shown_name(name: str) -> str:
    """On one line, the middle of a long one left out."""
    name = clean(exact(name).replace("\n", "\u240a"))
    return name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS - 9]}…{name[-8:]}"


def _pack(fold: Fold) -> str:
    return f"{OPEN}{_PASTE}{fold.text}{CLOSE}" if fold.attachment is None else _packed_image(fold.attachment)


def _packed_image(image: Attachment) -> str:
    data = {"path": str(image.path), "media_type": image.media_type, "size": image.size}
    if image.blob is not None:
        data["blob"] = image.blob
    return f"{OPEN}{_IMAGE}{json.dumps(data)}{CLOSE}"
