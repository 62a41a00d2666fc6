"""The hooks that frame a turn: its beginning, its final reply and its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cos.agent.hook_rules import first_string, joined_context
from cos.agent.messages import AssistantMessage, stored_form
from cos.agent.records import TurnStatus

if TYPE_CHECKING:
    from cos.agent.hooks import HookBus
    from cos.agent.turn_state import TurnState


async def fire_beginning(hooks: HookBus, state: TurnState) -> str | None:
    """Fire `on_session_start` on a first turn and `pre_llm_call` on each; return what to add to the prompt."""
    session, prompt = state.session, state.prompt
    assert prompt is not None
    if session.is_new:
        await hooks.fire("on_session_start", **_common(state))
    returns = await hooks.fire(
        "pre_llm_call",
        **_common(state),
        user_message=prompt.text,
        conversation_history=[message.model_dump() for message in state.history],
        is_first_turn=session.is_new,
        sender_id=None,
        parent_session_id=str(session.parent_session_id) if session.parent_session_id else None,
    )
    return joined_context(returns)


async def transformed(hooks: HookBus, state: TurnState, message: AssistantMessage) -> AssistantMessage:
    """The final reply as plugins want it. Blocks other than text stay as the provider sent them."""
    returns = await hooks.fire("transform_llm_output", **_common(state), response_text=message.text)
    replacement = first_string(returns, empty_counts=False)
    if replacement is None:
        return message
    kept = [block for block in message.blocks if block.get("type") != "text"]
    blocks = [*kept, {"type": "text", "text": replacement}] if kept else []
    stored = stored_form(message.model_copy(update={"text": replacement, "blocks": blocks}))
    assert isinstance(stored, AssistantMessage)
    return stored


async def fire_endings(hooks: HookBus, state: TurnState, status: TurnStatus) -> None:
    """Fire `post_llm_call` after a turn with a reply, and `on_session_end` after every turn."""
    if status is TurnStatus.COMPLETED and state.text and state.prompt:
        await hooks.fire(
            "post_llm_call",
            **_common(state),
            user_message=state.prompt.text,
            assistant_response=state.text,
            conversation_history=[message.model_dump() for message in state.history],
        )
    await hooks.fire(
        "on_session_end",
        **_common(state),
        completed=status is TurnStatus.COMPLETED,
        interrupted=status is TurnStatus.CANCELLED,
        reason=state.cancel.reason,
    )


def _common(state: TurnState) -> dict[str, Any]:
    return state.hook_ids() | {"model": state.session.prompt.model, "platform": state.session.platform}
