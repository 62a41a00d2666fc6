"""Waiting messages stand in the order in which the model will read them."""

from __future__ import annotations

import pytest

from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.core.sessions import QueuedMessage
from cos.tui.queue_control import as_they_go, waits_for


def queued(sent: str) -> list[QueuedMessage]:
    return [
        QueuedMessage(id=new_id(), message=UserMessage(text=text), source="cli", mode=mode)  # type: ignore[arg-type]
        for mode, text in (one.split() for one in sent.split(", "))
    ]


@pytest.mark.parametrize(
    ("sent", "is_running", "shown"),
    [
        ("queue one, queue two", True, "one two"),
        ("queue one, steer two, queue three, steer four", True, "two four one three"),
        ("queue one, steer two", False, "one two"),
        ("queue one, now two, steer three", True, "two three one"),
        ("queue one, steer two, now three, steer four", True, "three four one two"),
        ("queue one, steer two, now three, steer four", False, "three four one two"),
    ],
)
def test_steers_stand_before_what_waits_for_its_own_turn(sent: str, is_running: bool, shown: str) -> None:
    stored = queued(sent)
    stored.sort(key=lambda it: (it.mode != "now", it.id))
    assert [it.text for it in as_they_go(stored, is_running=is_running)] == shown.split()


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("queue one", "for the running turn to end"),
        ("steer one", "for the next step of the running turn"),
        ("queue one, steer two, queue three", "1 for the next step, 2 for the running turn to end"),
        ("now one, steer two", "for the running turn to end"),
    ],
)
def test_what_steers_waits_for_the_next_step_and_what_has_its_own_turn_for_the_end(sent: str, words: str) -> None:
    assert waits_for(queued(sent)) == words
