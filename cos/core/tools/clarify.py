"""`clarify`: the model asks the user a question. Name, argument keys and result are Hermes'.

It changes nothing and needs no approval in any mode: it is itself what asks. A child agent does not have it, whoever
delegates leaves it out: the user talks to the parent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from cos.agent.records import ToolCallStatus
from cos.agent.tools import CallDescription, Json, Tool, ToolContext, ToolError, ToolOk, ToolOutcome
from cos.core.questions import numbered

if TYPE_CHECKING:
    from pathlib import Path

    from cos.agent.identity import TurnInfo
    from cos.agent.records import ApprovalAnswer

NAME: Final = "clarify"
MOST_CHOICES: Final = 4
_DESCRIPTION: Final = f"""Ask the user a question and wait for the answer. \
Use it when a decision is the user's and you cannot find the answer yourself: several reasonable ways with different \
outcomes, a missing fact, a preference. Do not use it to ask for permission to run a tool (the user is asked by cos \
itself) or for what you can look up. Offer up to {MOST_CHOICES} short choices, best first, when the likely answers are \
known; the user can always answer in other words, so no choice for "other" is needed. Without choices the question is \
open. The result is JSON with `user_response`, or an error when there is no answer."""
_SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "minLength": 1, "description": "The question, whole and understandable alone."},
        "choices": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": MOST_CHOICES,
            "description": "Possible answers, each a few words. Leave it out for an open question.",
        },
    },
    "required": ["question"],
}


def clarify_tool() -> Tool:
    return Tool(
        name=NAME,
        title="Ask",
        description=_DESCRIPTION,
        schema=_SCHEMA,
        run=_run,
        origin="core",
        risk="read",
        describe=_describe,
    )


def _describe(args: Json, turn: TurnInfo, workspace: Path) -> CallDescription:
    question = args["question"].strip()
    return CallDescription(
        title=question.split("\n")[0],
        kind="other",
        detail=numbered(question, _choices(args)),
        refusal=None if question else "the question is empty.",
    )


async def _run(args: Json, turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
    question, choices = args["question"].strip(), _choices(args)
    answer = await ctx.ask(question, choices)
    if answer.decision == "answered":
        told = {"question": question, "choices_offered": choices or None, "user_response": answer.answer}
        return ToolOk(content=json.dumps(told, ensure_ascii=False))
    status = ToolCallStatus.EXPIRED if answer.decision == "expired" else ToolCallStatus.DENIED
    return ToolError(content=_no_answer(answer), status=status)


def _choices(args: Json) -> list[str]:
    """Each on one line, without blank ones and repetitions: what is offered can be told apart."""
    return list(dict.fromkeys(" ".join(choice.split()) for choice in args.get("choices", []) if choice.strip()))


def _no_answer(answer: ApprovalAnswer) -> str:
    if answer.decision == "expired":
        return (
            "No answer: nobody answered in time. The user has not chosen anything. Do not ask the same again now; "
            "go on without the answer where that is safe, else stop and say what you need to know."
        )
    if answer.reason:
        return f"No answer was given. The reason, word for word: {answer.reason}"
    return "No answer: the user declined to answer. Do not ask the same again; do not take it for a choice."
