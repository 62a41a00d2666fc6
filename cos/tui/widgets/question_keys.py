"""What the keyboard does on a question's card: a digit picks a choice, Enter or y sends it, t opens a line to write on.

A pick decides nothing; it changes the card, which must arm again before the answer is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final
from uuid import UUID

from textual.binding import Binding, BindingType
from textual.message import Message

from cos.tui.widgets.reading import ReadToEnd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.tui.widgets.approval_card import Card
    from cos.tui.widgets.requests import Requests

ANSWERING: Final = frozenset({"y", "enter", "n", "r", "v", "t"})
"""Keys that answer a question or open a panel for it."""
_FOR_QUESTIONS: Final = frozenset({"pick", "answer"})
_PANELS_FOR_CALLS: Final = frozenset({"session", "always", "edit"})


class QuestionKeys(ReadToEnd):
    """The part of the pane that knows questions; the pane says which request is selected and whether keys count."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "panel('text')", "Write"),
        *(Binding(str(number), f"pick({number})", f"Choice {number}", show=False) for number in range(1, 10)),
    ]
    """
    | Key | |
    | :- | :- |
    | 1 to 9 | Pick a choice of the question. |
    | t | Answer in your own words. |
    """
    requests: Requests

    class Answered(Message):
        """The user sends the picked choice."""

        def __init__(self, pane: QuestionKeys, approval_id: UUID, answer: str) -> None:
            super().__init__()
            self.pane = pane
            self.approval_id = approval_id
            self.answer = answer

        @property
        def control(self) -> QuestionKeys:
            return self.pane

    def takes(self, to_read: Sequence[Card]) -> bool:
        """Whether a key counts now; says so when `to_read` was not read to its end."""
        raise NotImplementedError

    def picked_changed(self) -> None:
        """Draw the selected card again, and take no answer until it has armed."""
        raise NotImplementedError

    def action_pick(self, number: int) -> None:
        if self.requests.pick(number - 1):
            self.picked_changed()

    def action_answer(self) -> None:
        card, picked = self.requests.selected, self.requests.picked
        if card is None or not card.is_question:
            return
        if picked is None:
            number = "a number picks a choice, " if card.choices else ""
            self.notify(f"Nothing is picked: {number}t writes an answer, n declines.", markup=False)
        elif self.takes([card]):
            self.post_message(self.Answered(self, card.id, card.choices[picked]))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that mean nothing for the selected request are not there."""
        card = self.requests.selected
        is_question = card is not None and card.is_question
        if action in _FOR_QUESTIONS or (action == "panel" and parameters == ("text",)):
            return is_question
        if action == "mark":
            return self.requests.can_mark
        for_calls = action == "panel" and parameters[0] in _PANELS_FOR_CALLS
        return not (is_question and (for_calls or parameters == ("allowed",)))


def question_hint(card: Card, picked: int | None) -> str:
    """The keys of a question that takes an answer now."""
    if picked is not None:
        return f"Enter sends {picked + 1} · n decline"
    digits = {0: "", 1: "1 pick · "}.get(len(card.choices), f"1-{len(card.choices)} pick · ")
    return f"{digits}t write · n decline"
