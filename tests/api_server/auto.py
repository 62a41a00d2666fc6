"""Answers that follow from words in the last user message: for trying cos by hand without a model.

two tools · 529 · drop · slow · approve · think · error · silence; everything else gets a Markdown answer.
"""

from __future__ import annotations

from typing import Any

from tests.api_server.script import (
    Reply,
    Step,
    drop,
    error_event,
    http_error,
    open_text,
    reply,
    silence,
    text,
    thinking,
    tool,
)
from tests.api_server.server import RecordedRequest

ANSWER = """# A scripted answer

You said: *{said}*

| Column | Value |
|--------|------:|
| one    |     1 |

```python
print("hello")
```

- no model was asked
- this is `tests.api_server`
"""


class AutoAnswer:
    """An `answer` for ApiServer. Words that break something break it once per conversation text, then it works."""

    def __init__(self) -> None:
        self._broken: set[tuple[str, str]] = set()

    def __call__(self, request: RecordedRequest) -> Reply:
        last = request.messages[-1]["content"]
        blocks = [{"type": "text", "text": last}] if isinstance(last, str) else last
        said = " ".join(block["text"] for block in blocks if block["type"] == "text")
        results = [str(block["content"]) for block in blocks if block["type"] == "tool_result"]
        if results and not said:
            return reply(text("The tools answered:\n\n" + "\n".join(f"```\n{result}\n```" for result in results)))
        return self._failure(said) or _answer(said, request.body.get("tools") or [])

    def _failure(self, said: str) -> Reply | None:
        failures = {
            "529": http_error(529, "overloaded_error", "Overloaded", headers={"retry-after": "2"}),
            "drop": reply(open_text("First I will"), drop()),
            "error": reply(open_text("First I will"), error_event()),
            "silence": reply(open_text("First I will"), silence()),
        }
        for word, failure in failures.items():
            if word in said and (word, said) not in self._broken:
                self._broken.add((word, said))
                return failure
        return None


def _answer(said: str, tools: list[dict[str, Any]]) -> Reply:
    names = [tool["name"] for tool in tools]
    if "two tools" in said and names:
        second = names[1] if len(names) > 1 else names[0]
        return reply(text("Both at once."), _call(names[0]), _call(second))
    if "approve" in said and "terminal" in names:
        return reply(text("I ask first."), _call("terminal"))
    steps: list[Step] = [text(ANSWER.format(said=said), pieces=40)]
    if "slow" in said:
        steps = [text(ANSWER.format(said=said) * 5, pieces=300, seconds_per_piece=0.05)]
    if "think" in said:
        steps.insert(0, thinking("The user wants to see thinking. " * 10, pieces=20))
    return reply(*steps)


def _call(name: str) -> Step:
    args = {"terminal": {"command": "echo hello && ls"}, "read_file": {"path": "README.md"}}
    return tool(name, args.get(name, {}))
