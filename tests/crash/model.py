"""The model of the crash matrix: an `answer` for the API server that talks, thinks and calls every kind of tool.

Its figures name the request: `input_tokens` of request n is 1,000 + n, or 850,000 + n where the meter is to make cos
compact. Every command leaves a mark of its own in a file, so that one that ran twice is seen.
"""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any

from tests.api_server import Reply, drop, http_error, open_text, redacted, reply, text, thinking, tool, usage

if TYPE_CHECKING:
    from tests.api_server import RecordedRequest
    from tests.api_server.script import Step

EFFECTS = "effects.log"
FINISH = "finish now"
"""A message with these words is answered at once, in words."""
SMALL, LARGE = 1_000, 850_000
ASKS_FOR_SUMMARY = "This conversation has become too long"
_MOST_STEPS = 3
_MARKER = re.compile(r"\[(?:talk|child) [0-9a-z-]+\]")


def marker_of(messages: list[dict[str, Any]]) -> str:
    """Which conversation it is: the harness and the model put a marker into the first message of each."""
    found = _MARKER.search(json.dumps(messages[0]))
    assert found, messages[0]
    return found.group()


class CrashModel:
    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __call__(self, request: RecordedRequest) -> Reply:
        chance = random.Random(self._seed * 1_000_003 + request.number)
        messages, body = request.messages, request.body
        said = " ".join(block["text"] for block in messages[-1]["content"] if block["type"] == "text")
        figures = usage(input=SMALL + request.number, output=10 + request.number)
        marker = marker_of(messages)
        if ASKS_FOR_SUMMARY in said:
            return reply(text(f"Summary of {marker}.", pieces=3, seconds_per_piece=0.005), usage=figures)
        if FINISH in said:
            return reply(text(f"Finished with request {request.number}."), usage=figures)
        if chance.random() < 0.06:
            return self._fault(chance, request.number)
        if chance.random() < 0.06:
            figures = usage(input=LARGE + request.number, output=10 + request.number)
        steps = self._words(chance, request.number)
        if _steps_since_words(messages) < _MOST_STEPS and chance.random() < 0.7:
            names = {each["name"] for each in body["tools"]}
            steps += self._calls(chance, request.number, can_delegate="delegate_task" in names)
        return reply(*steps, usage=figures)

    def _fault(self, chance: random.Random, number: int) -> Reply:
        if chance.random() < 0.5:
            return http_error(529, "overloaded_error", "Overloaded")
        return reply(open_text(f"Cut short in request {number}. "), drop(), usage=usage(input=SMALL + number, output=9))

    def _words(self, chance: random.Random, number: int) -> list[Step]:
        steps: list[Step] = []
        if chance.random() < 0.4:
            steps.append(thinking(f"Thoughts about request {number}. ", pieces=3))
        if chance.random() < 0.1:
            steps.append(redacted(f"opaque-{number}"))
        words = " ".join(f"w{number}.{place}" for place in range(chance.randrange(2, 40)))
        pause = chance.choice([0, 0.001, 0.004, 0.01])
        steps.append(text(words, pieces=chance.randrange(1, 30), seconds_per_piece=pause))
        return steps

    def _calls(self, chance: random.Random, number: int, *, can_delegate: bool) -> list[Step]:
        kinds = ["terminal", "terminal", "slow", "write", "read"] + ["delegate"] * can_delegate
        made: list[Step] = []
        for place in range(chance.choice([1, 1, 2, 3])):
            name = f"{number}-{place}"
            match chance.choice(kinds):
                case "terminal":
                    made.append(tool("terminal", {"command": f"echo mark-{name}. >> {EFFECTS}"}))
                case "slow":
                    made.append(tool("terminal", {"command": f"echo mark-{name}. >> {EFFECTS}; sleep 0.2"}))
                case "write":
                    made.append(tool("write_file", {"path": f"w{name}.txt", "content": f"content of {name}"}))
                case "read":
                    made.append(tool("read_file", {"path": "notes.txt"}))
                case _:
                    made.append(tool("delegate_task", {"goal": f"Do your part. [child {name}]"}))
        return made


def _steps_since_words(messages: list[dict[str, Any]]) -> int:
    """How often tools have answered since somebody said something."""
    count = 0
    for message in reversed(messages):
        if message["role"] == "user":
            if any(block["type"] == "text" for block in message["content"]):
                break
            count += 1
    return count
