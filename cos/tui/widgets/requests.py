"""The pending requests as the pane holds them: their order, which one is selected, and which were read to their end."""

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

    def __len__(self) -> int:
        return len(self._cards)

    @property
    def selected(self) -> Card | None:
        return self._cards.get(self._selected) if self._selected else None

    @property
    def position(self) -> int:
        """Of the selected one, from 1; 0 when there is none."""
        return list(self._cards).index(self._selected) + 1 if self._selected in self._cards else 0

    def show(self, cards: Sequence[Card]) -> None:
        """Set them, oldest first. One whose text changed has not been read."""
        self._seen = {card.id for card in cards if self.was_seen(card)}
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
