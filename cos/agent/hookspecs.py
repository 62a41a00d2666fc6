"""The hooks: names, keyword arguments and meanings, as in Hermes Agent, plus `turn` (TurnInfo) on each.

Every argument named here is passed on every call; a callback that declares fewer receives only those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_IDS = ("turn", "session_id", "task_id", "turn_id")
_CALL = ("tool_name", "args", *_IDS, "tool_call_id", "api_request_id", "workspace", "cwd")
_ATTEMPT = (
    *_IDS, "api_request_id", "platform", "model", "provider", "base_url", "api_call_count", "message_count",
    "started_at", "attempt", "purpose", "parent_session_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HookSpec:
    """One hook: what it is for, and the arguments that are always passed."""

    meaning: str
    arguments: tuple[str, ...]


HOOKS: Final[dict[str, HookSpec]] = {
    "pre_gateway_dispatch": HookSpec(
        "Once for every inbound message. The first of {'action': 'skip' | 'rewrite' | 'allow'} decides.",
        ("event", "gateway", "session_store"),
    ),
    "post_gateway_admission": HookSpec(
        "Before the turn starts. The first {'action': 'handled', 'reply'?} takes the message and no turn runs.",
        ("session_key", "platform", "source", "message_id", "text"),
    ),
    "pre_llm_call": HookSpec(
        "Once per turn. Every string or {'context': str} is added to the model's copy of the user message.",
        (*_IDS, "user_message", "conversation_history", "is_first_turn", "model", "platform", "sender_id",
         "parent_session_id"),
    ),
    "post_llm_call": HookSpec(
        "Once per turn that ended with a reply.",
        (*_IDS, "user_message", "assistant_response", "conversation_history", "model", "platform"),
    ),
    "transform_llm_output": HookSpec(
        "Once per turn with a reply, before it is stored. The first non-empty string replaces it.",
        (*_IDS, "response_text", "model", "platform"),
    ),
    "pre_tool_call": HookSpec(
        "Once per call, before it runs. {'action': 'block' | 'approve' | 'modify'}; block beats approve beats modify.",
        _CALL,
    ),
    "post_tool_call": HookSpec(
        "After every call, also a blocked one.",
        (*_CALL, "result", "duration_ms", "status", "error_type", "error_message"),
    ),
    "transform_tool_result": HookSpec(
        "After post_tool_call. The first string replaces what the model receives.",
        (*_CALL, "result", "duration_ms", "status", "error_type", "error_message"),
    ),
    "pre_api_request": HookSpec(
        "Before each attempt of a model call. The first {'action': 'stop', 'message', 'stop_reason'} ends the turn as "
        "failed: nothing is sent. With 'question', 'choices' and 'answered' the user is asked first: "
        "`await answered(answer)` says whether to go on, and then the hook fires again. `attempt` counts from 1; "
        "`purpose` is turn or compaction.",
        _ATTEMPT,
    ),
    "post_api_request": HookSpec(
        "After an attempt that ended well.",
        (*_ATTEMPT, "ended_at", "api_duration", "first_token_seconds", "finish_reason", "response_model", "usage",
         "assistant_tool_call_count"),
    ),
    "api_request_error": HookSpec(
        "After an attempt that failed or was cancelled; `usage` is what was reported until then.",
        (*_ATTEMPT, "ended_at", "api_duration", "first_token_seconds", "status_code", "retry_count", "max_retries",
         "retryable", "reason", "error", "response_model", "usage"),
    ),
    "on_session_start": HookSpec("The first turn of a new session.", (*_IDS, "model", "platform")),
    "on_session_end": HookSpec(
        "The end of every turn, despite the name.",
        (*_IDS, "completed", "interrupted", "model", "platform", "reason"),
    ),
    "on_session_finalize": HookSpec("A session is over.", ("session_id", "platform", "reason")),
    "on_session_reset": HookSpec(
        "A new session replaced another one in a front end.",
        ("session_id", "platform", "reason", "old_session_id", "new_session_id"),
    ),
    "subagent_start": HookSpec(
        "A child agent is about to run.",
        ("turn", "parent_session_id", "parent_turn_id", "parent_subagent_id", "child_session_id", "child_subagent_id",
         "child_role", "child_goal"),
    ),
    "subagent_stop": HookSpec(
        "A child agent ended.",
        ("turn", "parent_session_id", "parent_turn_id", "child_session_id", "child_role", "child_summary",
         "child_status", "duration_ms"),
    ),
    "pre_approval_request": HookSpec(
        "Before a person is asked. Cannot answer.",
        ("turn", "command", "description", "pattern_key", "pattern_keys", "session_key", "surface", "turn_id",
         "tool_call_id"),
    ),
    "post_approval_response": HookSpec(
        "After the answer; `choice` is once, session, always, deny, timeout or cancelled.",
        ("turn", "command", "description", "pattern_key", "pattern_keys", "session_key", "surface", "turn_id",
         "tool_call_id", "choice"),
    ),
}  # fmt: skip

GUARDS: Final = frozenset({"pre_tool_call"})
"""Hooks in which a failing or hanging callback blocks instead of being passed over."""
