"""What a change does to a store: worked out whole, with every rule, before anything is written.

The rules are Hermes': an entry is found by a part of it that no other entry holds, what is there already is not added
again, and a store that would be too full is left as it is. Nothing is ever cut or pushed out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from cos.agent.errors import CosError
from cos.agent.text import storable
from cos.plugins.memory.block import shown_entry
from cos.plugins.memory.entries import MARK, Entry, Target, contents_of, preview, size_of
from cos.plugins.memory.scan import find_threat

Action = Literal["add", "replace", "remove"]
Problem = Literal["invalid", "threat", "full", "unmatched", "ambiguous", "changed"]


class MemoryRefused(CosError):
    """A change that was not made, with nothing written. The message says to everybody why."""

    def __init__(
        self, message: str, problem: Problem, *, advice: str = "", entries: Sequence[Entry] = (), old_text: str = ""
    ) -> None:
        super().__init__(message)
        self.problem = problem
        self.advice = advice
        """What the model may do now."""
        self.entries = tuple(entries)
        """Those that matched."""
        self.old_text = old_text
        """What no entry holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One step of a change. An entry is named by its number or by a part of its text."""

    action: Action
    content: str = ""
    old_text: str = ""
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What became of one entry. `before` None = it is new, `after` None = it is gone."""

    before: Entry | None
    after: str | None


@dataclass(slots=True)
class _Slot:
    entry: Entry | None
    content: str


@dataclass(slots=True)
class Plan:
    """The store as it is to become."""

    target: Target
    limit: int
    slots: list[_Slot]
    removed: list[Entry] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    """Texts that were to be added and are there already."""

    @property
    def contents(self) -> list[str]:
        return [slot.content for slot in self.slots]

    @property
    def edits(self) -> list[Edit]:
        """What is to be written, oldest entry first, new ones last."""
        gone = [Edit(before=entry, after=None) for entry in self.removed]
        kept = [
            Edit(before=slot.entry, after=slot.content)
            for slot in self.slots
            if slot.entry is None or slot.entry.content != slot.content
        ]
        return gone + kept


Sees = Callable[[Entry], bool]
"""Whether whoever changes an entry has read it as it is now."""


def planned(target: Target, limit: int, entries: Sequence[Entry], operations: Sequence[Operation], sees: Sees) -> Plan:
    """The store `entries` after `operations`, of which all are done or none. Only the size at the end counts.

    Raises:
        MemoryRefused: it cannot be done as asked.
    """
    plan = Plan(target, limit, [_Slot(entry, entry.content) for entry in entries])
    for position, operation in enumerate(operations, start=1):
        try:
            _apply(plan, checked(operation), sees)
        except MemoryRefused as refused:
            if len(operations) == 1:
                raise
            raise MemoryRefused(
                f"Operation {position} of {len(operations)} ({operation.action}): {refused} None of them was done.",
                refused.problem,
                advice=refused.advice,
                entries=refused.entries,
                old_text=refused.old_text,
            ) from refused
    before, after = size_of(contents_of(entries)), size_of(plan.contents)
    if after > limit and after > before:
        advice = (
            "Shorten the text, or make room first by merging or removing entries that matter less; one batch of "
            "operations may do both."
        )
        raise MemoryRefused(_too_full(target, limit, before, after, operations), "full", advice=advice)
    return plan


def checked(operation: Operation) -> Operation:
    """The operation with its texts in stored form.

    Raises:
        MemoryRefused: it is incomplete, or its text may not be stored.
    """
    content = storable(operation.content).replace("\r\n", "\n").replace("\r", "\n").strip()
    old_text = storable(operation.old_text).replace("\r\n", "\n").strip()
    if operation.action != "add" and not old_text and operation.number is None:
        raise MemoryRefused(
            f"To {operation.action} an entry, give a part of its text that no other entry holds as old_text.", "invalid"
        )
    if operation.action == "remove":
        return replace(operation, content="", old_text=old_text)
    if not content:
        hint = "" if operation.action == "add" else " To delete an entry, remove it."
        raise MemoryRefused(f"The content is missing or blank.{hint}", "invalid")
    if any(line.strip() == MARK for line in content.split("\n")):
        raise MemoryRefused(f"A line of nothing but {MARK} separates entries; write two entries instead.", "invalid")
    threat = find_threat(content)
    if threat is not None:
        raise MemoryRefused(
            f"The entry “{preview(content)}” was not saved: it looks like a planted instruction or a secret "
            f"({threat.name}: {threat.excerpt}), and every later session would read it. If it is harmless, say it as "
            "a plain fact in other words.",
            "threat",
        )
    return replace(operation, content=content, old_text=old_text)


def _apply(plan: Plan, operation: Operation, sees: Sees) -> None:
    if operation.action == "add":
        if operation.content in plan.contents:
            plan.repeated.append(operation.content)
        else:
            plan.slots.append(_Slot(None, operation.content))
        return
    slot = _chosen(plan, operation)
    if slot.entry is not None and slot.content == slot.entry.content and not sees(slot.entry):
        raise MemoryRefused(
            "Changed meanwhile: this entry is not what this session has read. It now says "
            f"“{shown_entry(slot.entry, plan.limit)}”. Nothing was changed.",
            "changed",
            advice=f"To {operation.action} it all the same, make the same call again.",
            entries=[slot.entry],
        )
    if operation.action == "replace":
        slot.content = operation.content
        return
    plan.slots.remove(slot)
    if slot.entry is not None:
        plan.removed.append(slot.entry)


def _chosen(plan: Plan, operation: Operation) -> _Slot:
    """The one entry that is meant; of identical ones the first."""
    if operation.number is not None:
        matching = [slot for slot in plan.slots if slot.entry is not None and slot.entry.number == operation.number]
        if not matching:
            raise MemoryRefused(f"There is no entry #{operation.number} any more.", "unmatched")
        return matching[0]
    matching = [slot for slot in plan.slots if operation.old_text in slot.content]
    if not matching:
        raise MemoryRefused(
            f"No entry of this store holds “{preview(operation.old_text)}”.",
            "unmatched",
            advice="Take a part of one of its entries, letter by letter.",
            old_text=operation.old_text,
        )
    if len({slot.content for slot in matching}) > 1:
        raise MemoryRefused(
            f"“{preview(operation.old_text)}” stands in {len(matching)} entries, so it is not clear which one is "
            "meant. Nothing was changed.",
            "ambiguous",
            advice="Take a longer part of the one that is meant.",
            entries=[slot.entry for slot in matching if slot.entry is not None],
        )
    return matching[0]


def _too_full(target: Target, limit: int, before: int, after: int, operations: Sequence[Operation]) -> str:
    adding = sum(len(storable(operation.content).strip()) for operation in operations if operation.action != "remove")
    return (
        f"The store {target} holds {before:,} of {limit:,} characters. With the {adding:,} characters of this change "
        f"it would hold {after:,}, {after - limit:,} too many, so nothing was changed."
    )
