"""The pending requests as the pane holds them: their order, which one is selected, which are marked and read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from cos.tui.widgets.approval_card import Card


class Requests:
    """Nothing that arrives moves the selection."""

    def __init__(self) -> None:
        self._cards: dict[UUID, Card] = {}
        self._selected: UUID | None = None
        self._seen: set[UUID] = set()
        self._marked: set[UUID] = set()
        self._picked: dict[UUID, int] = {}
        """Of questions: which choice, from 0."""

    def __len__(self) -> int:
        return len(self._cards)

    @property
    def selected(self) -> Card | None:
        return self._cards.get(self._selected) if self._selected else None

    def show(self, cards: Sequence[Card]) -> None:
        """Set them, oldest first. One whose text changed has not been read."""
        kept = [card for card in cards if self._cards.get(card.id) == card]
        self._seen &= {card.id for card in kept}
        self._marked &= {card.id for card in kept}
        self._picked = {card.id: self._picked[card.id] for card in kept if card.id in self._picked}
        self._cards = {card.id: card for card in cards}
        if self._selected not in self._cards:
            self._selected = cards[0].id if cards else None

    def move(self, step: int) -> None:
        order = list(self._cards)
        if self._selected in self._cards:
            self._selected = order[(order.index(self._selected) + step) % len(order)]

    def was_seen(self, card: Card) -> bool:
        """The end of exactly this was in view."""
        return card.id in self._seen and self._cards.get(card.id) == card

    def note_seen(self, card: Card) -> None:
        if self._cards.get(card.id) == card:
            self._seen.add(card.id)

    def toggle_mark(self) -> None:
        """Mark the selected one, or no longer. Questions are answered one by one."""
        card = self.selected
        if card is not None and not card.is_question:
            self._marked ^= {card.id}

    @property
    def picked(self) -> int | None:
        """The choice that is picked for the selected question."""
        return self._picked.get(self._selected) if self._selected else None

    def pick(self, number: int) -> bool:
        """Pick a choice of the selected question, from 0; whether there is such a choice."""
        card = self.selected
        if card is None or not card.is_question or number >= len(card.choices):
            return False
        self._picked[card.id] = number
        return True

    @property
    def can_mark(self) -> bool:
        """Others of its step wait beside the selected one."""
        card = self.selected
        return card is not None and len(self._step_of(card)) > 1

    def chosen(self) -> list[Card]:
        """What an answer is about: the marked ones of the selected one's step, or else the selected one alone."""
        card = self.selected
        if card is None:
            return []
        return [one for one in self._step_of(card) if one.id in self._marked] or [card]

    def place(self) -> str:
        """Where the selected one stands among the others; empty when it is the only one."""
        card = self.selected
        if card is None or len(self) == 1:
            return ""
        place = f"{list(self._cards).index(card.id) + 1} of {len(self)} ←→"
        step = self._step_of(card)
        if len(step) == 1:
            return place
        marked = sum(one.id in self._marked for one in step)
        box = "[x]" if card.id in self._marked else "[ ]"
        return f"{box} {place} · {step.index(card) + 1} of {len(step)} of one step, {marked} marked"

    def _step_of(self, card: Card) -> list[Card]:
        """Calls of one turn that wait together are of one step: the next one begins when all are answered."""
        if card.is_question:
            return [card]
        return [one for one in self._cards.values() if one.turn_id == card.turn_id and not one.is_question]
