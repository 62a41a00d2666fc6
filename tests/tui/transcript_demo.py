"""A varied conversation in the transcript view. Run it: `python -m tests.tui.transcript_demo`."""

from __future__ import annotations

from typing import Any

from textual.app import App, ComposeResult

from cos.tui.light import LIGHT
from cos.tui.transcript import (
    AssistantText,
    CallState,
    Diff,
    Entry,
    Notice,
    Thinking,
    ToolCall,
    Transcript,
    TurnHeader,
    UserMessage,
)

ANSWER = """\
# What was wrong

The tokenizer counted a **tab as one column**, so every caret after a tab pointed *too far left*. The parser itself is
fine; see `Cursor.advance` and the [notes on columns](https://example.org/columns).

1. `advance` now rounds up to the next tab stop.
2. The caret line is built from the same table:
   - wide characters count two,
   - combining marks count none.
3. ~~The old helper~~ is gone.

```python
def advance(column: int, character: str) -> int:
    \"\"\"The column after `character`.\"\"\"
    if character == "\\t":
        return column + 8 - column % 8  # the next tab stop
    return column + cell_width(character)
```

> A tab stop is a *position*, not a width.

| Case | Before | After |
|:-----|-------:|------:|
| `a\\tb` | 2 | 9 |
| 漢字 and 👩‍👩‍👧‍👦 | 3 | 6 |

---

All 214 tests pass.
"""

DIFF = """\
--- a/src/lexer/cursor.py
+++ b/src/lexer/cursor.py
@@ -41,6 +41,8 @@ class Cursor:
     def advance(self, character: str) -> None:
-        self.column += 1
+        if character == "\\t":
+            self.column += TAB - self.column % TAB
+        else:
+            self.column += cell_width(character)
"""


QUESTION = "The carets under syntax errors are off when a line has tabs.\nPlease find out why, and fix it."


def call(key: str, name: str, title: str, state: CallState, **more: Any) -> ToolCall:
    return ToolCall(key=key, name=name, title=title, state=state, **more)


def conversation() -> list[Entry]:
    """One entry of every kind, most states of a call."""
    failed = call("c3", "terminal", "pytest tests/lexer -q", "failed", duration_seconds=12.4, result="exit code 1")
    failed.change(detail="$ pytest tests/lexer -q")
    failed.append_output(
        "\n".join(f"tests/lexer/test_{n:03}.py ....F" for n in range(120)) + "\n1 failed, 119 passed\n"
    )
    return [
        TurnHeader(key="h1", turn_key="t1", text="14:02 · 1m 12s · 3 calls · $0.04"),
        UserMessage(key="u1", turn_key="t1", text=QUESTION),
        Thinking(key="k1", turn_key="t1", text="A tab is one character but up to eight cells. " * 12),
        call("c1", "read_file", "src/lexer/cursor.py", "ok", duration_seconds=0.08, result="…"),
        call("c2", "search_files", "expandtabs in src", "ok", duration_seconds=0.31, result="3 matches"),
        failed,
        Diff(key="d1", turn_key="t1", title="src/lexer/cursor.py", diff=DIFF),
        AssistantText(key="a1", turn_key="t1", text=ANSWER),
        TurnHeader(key="h2", turn_key="t2", text="14:05 · running for 42s · waiting 31s for you"),
        UserMessage(key="u2", turn_key="t2", text="Good. Publish it."),
        call("c4", "terminal", "git push origin main", "waiting", detail="$ git push origin main"),
        call("c5", "terminal", "rm -rf build", "denied", detail="$ rm -rf build", note="by you: keep the wheels"),
        call("c6", "terminal", "make docs", "running", detail="$ make docs", duration_seconds=42),
        Notice(key="n1", level="warning", text="The model is overloaded. Trying again in 4 seconds (attempt 2 of 5)."),
    ]


class TranscriptDemo(App[None]):
    def __init__(self, entries: list[Entry] | None = None) -> None:
        super().__init__()
        self.register_theme(LIGHT)
        self.entries = conversation() if entries is None else entries

    def compose(self) -> ComposeResult:
        yield Transcript(id="transcript")

    def on_mount(self) -> None:
        view = self.query_one(Transcript)
        view.set_entries(self.entries)
        view.focus()


if __name__ == "__main__":
    TranscriptDemo().run()
