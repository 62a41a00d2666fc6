"""A client of the dashboard as the protocol wants it: it applies frames to its state and notices every hole."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
UNSAID = ("ordinal", "cost_usd", "unpriced", "lost", "made_up_usd")
"""What a notification of a turn may leave open."""


@dataclass(slots=True)
class Watched:
    """What a client knows of one session."""

    seq: int | None = None
    turns: dict[str, Json] = field(default_factory=dict)
    messages: dict[str, Json] = field(default_factory=dict)
    streaming: dict[str, str] = field(default_factory=dict)
    """Text of messages that are not there yet."""
    streamed_in: dict[str, str] = field(default_factory=dict)
    """Their turns, by message."""
    outputs: dict[str, str] = field(default_factory=dict)
    tools: dict[str, Json] = field(default_factory=dict)
    queue: Json = field(default_factory=dict)
    holes: int = 0
    actions: list[str] = field(default_factory=list)

    @property
    def active(self) -> list[str]:
        return [key for key, turn in self.turns.items() if turn["completed_at"] is None]

    @property
    def texts(self) -> list[str]:
        """Of the model's messages that stand."""
        return [str(it["text"]) for it in self.messages.values() if it["role"] == "assistant" and it["active"]]

    def apply(self, frame: Json) -> None:
        action, payload = frame["action"], frame["payload"]
        self.actions.append(action)
        if action == "session.snapshot":
            self._begin(payload)
        elif self.seq is None or frame.get("first", frame["seq"]) != self.seq + 1:
            self.holes += 1
        self.seq = frame["seq"]
        self._update(action.removeprefix("session."), payload)

    def _update(self, what: str, payload: Json) -> None:
        match what:
            case "turn.started" | "turn.updated" | "turn.completed":
                self._put_turn(payload)
            case "message.added":
                self.messages[payload["id"]] = payload
                self.streaming.pop(payload["id"], None)
            case "message.delta" if payload["message_id"] not in self.messages:
                text = self.streaming.get(payload["message_id"], "")
                self.streaming[payload["message_id"]] = text + payload["text"]
                self.streamed_in[payload["message_id"]] = payload["turn_id"]
            case "tool.output":
                self.outputs[payload["call_id"]] = self.outputs.get(payload["call_id"], "") + payload["text"]
            case "tool.updated":
                self.tools[payload["call_id"]] = payload
            case "queue.changed":
                self.queue = payload
            case "cost.changed":
                self._put_costs(payload["turns"])
            case "rewound":
                self._rewind(set(payload["turn_ids"]))

    def _put_turn(self, turn: Json) -> None:
        """What a live turn does not know (its place, its cost) stays as it was; one that has ended never runs again."""
        before = self.turns.get(turn["id"], {})
        if not before.get("completed_at") or turn["completed_at"] is not None:
            unsaid = {name for name in UNSAID if turn[name] is None and name in before}
            self.turns[turn["id"]] = before | {name: value for name, value in turn.items() if name not in unsaid}

    def _put_costs(self, costs: Json) -> None:
        for turn_id in costs.keys() & self.turns.keys():
            self.turns[turn_id] |= costs[turn_id]

    def _rewind(self, gone: set[str]) -> None:
        self.turns = {key: turn for key, turn in self.turns.items() if key not in gone}
        self.messages = {key: it for key, it in self.messages.items() if it["turn_id"] not in gone}
        self.tools = {key: it for key, it in self.tools.items() if it["turn_id"] not in gone}
        self.streaming = {key: text for key, text in self.streaming.items() if self.streamed_in[key] not in gone}

    def _begin(self, snapshot: Json) -> None:
        self.turns = {turn["id"]: turn for turn in snapshot["turns"]}
        self.messages = {message["id"]: message for message in snapshot["messages"]}
        self.tools = {call["call_id"]: call for call in snapshot["tools"]}
        self.queue = snapshot["queue"]
        reply = snapshot["open_reply"]
        self.streaming = {reply["message_id"]: reply["text"]} if reply else {}
        self.streamed_in = {reply["message_id"]: snapshot["active_turn_id"]} if reply else {}
        self.outputs = {}


@dataclass(slots=True)
class Reader:
    """One client."""

    sessions: dict[str, Watched] = field(default_factory=dict)
    resyncs: list[str] = field(default_factory=list)
    answers: list[Json] = field(default_factory=list)
    notices: list[Json] = field(default_factory=list)
    """Those to everybody."""

    def take(self, text: str) -> Json:
        frame: Json = json.loads(text)
        if frame["type"] != "notification":
            self.answers.append(frame)
        elif frame["action"] == "session.resync_required":
            self.resyncs.append(frame["session_id"])
        elif "seq" in frame:
            self.sessions.setdefault(frame["session_id"], Watched()).apply(frame)
        else:
            self.notices.append(frame)
        return frame
