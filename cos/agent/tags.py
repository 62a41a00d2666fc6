"""Tags: `key:value` labels that the loop copies and never reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Self

from cos.agent.errors import TagError

_KEY = re.compile(r"[a-z0-9_-]+")
_VALUE = re.compile(r"[A-Za-z0-9_.-]+")


class Tag(str):
    """A checked `key:value` label. Sorts, hashes and prints as its text.

    Raises:
        TagError: the text breaks a rule; the message names the text and the rule.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        broken = _broken_rule(text)
        if broken:
            raise TagError(f"bad tag {text!r}: {broken}. A tag is key:value, such as client:acme")
        return super().__new__(cls, text)

    @property
    def key(self) -> str:
        return self.partition(":")[0]

    @property
    def value(self) -> str:
        return self.partition(":")[2]


def _broken_rule(text: str) -> str | None:
    if any(character.isspace() for character in text):
        return "it must not contain spaces"
    if text.count(":") != 1:
        return f"it must contain exactly one colon, not {text.count(':')}"
    key, _, value = text.partition(":")
    if not _KEY.fullmatch(key):
        return "the key takes only lower-case letters, digits, _ and -" if key else "the key is empty"
    if not _VALUE.fullmatch(value):
        return "the value takes only letters, digits, _, - and ." if value else "the value is empty"
    return None


def merge_tags(*groups: Iterable[str]) -> tuple[Tag, ...]:
    """All tags of the groups, checked, sorted, without duplicates: how a turn gets its tags.

    Raises:
        TagError: one of them is not a tag.
    """
    return tuple(sorted({Tag(tag) for group in groups for tag in group}))
