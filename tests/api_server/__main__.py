"""`python -m tests.api_server --port N [--script FILE.json]`: the server for trials by hand, until Ctrl+C.

A script is a JSON list of replies for the first requests: [{"text": "Hello"}, {"thinking": "hm", "tool": "terminal",
"args": {"command": "ls"}}, {"status": 529, "type": "overloaded_error"}]. After it, answers follow from words.
"""

from __future__ import annotations

import argparse
import json
import threading
from pathlib import Path
from typing import Any

from tests.api_server.auto import AutoAnswer
from tests.api_server.script import Reply, Step, http_error, reply, text, thinking, tool
from tests.api_server.server import ApiServer


def scripted(entry: dict[str, Any]) -> Reply:
    """The reply that one entry of a script file describes."""
    if "status" in entry:
        return http_error(entry["status"], entry.get("type", "api_error"), entry.get("message", "scripted"))
    steps: list[Step] = []
    if "thinking" in entry:
        steps.append(thinking(entry["thinking"]))
    if "text" in entry:
        steps.append(text(entry["text"], pieces=20))
    if "tool" in entry:
        steps.append(tool(entry["tool"], entry.get("args", {})))
    return reply(*steps, stop=entry.get("stop"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.api_server", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    options = parser.parse_args()
    with ApiServer(port=options.port, key=None, answer=AutoAnswer()) as api:
        if options.script is not None:
            api.push(*map(scripted, json.loads(options.script.read_text())))
        print(f"Messages API at {api.url} (any key)", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
