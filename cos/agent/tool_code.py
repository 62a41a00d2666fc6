"""What a tool says of a call before it runs. Tools are foreign code: one that fails is taken for the worst."""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING, Any

from cos.agent.arguments import schema_errors
from cos.agent.replies import args_text
from cos.agent.tools import CallDescription, ToolError

if TYPE_CHECKING:
    from cos.agent.records import Risk
    from cos.agent.tools import Tool
    from cos.agent.turn_state import CallState, TurnState

log = logging.getLogger("cos.agent")


def risk_of(tool: Tool, args: dict[str, Any]) -> Risk:
    try:
        return tool.risk_of(args)
    except Exception:
        log.exception("tool %s of %s could not say what it risks", tool.name, tool.origin)
        return "execute"


def describe(state: TurnState, call: CallState, tool: Tool | None) -> CallDescription:
    plain = CallDescription(title=call.call.name, detail=args_text(call.call.args))
    if tool is None or tool.describe is None or call.refusal or schema_errors(tool.schema, call.call.args):
        return plain
    try:
        return tool.describe(copy.deepcopy(call.call.args), state.turn, state.session.workspace)
    except Exception:
        log.exception("tool %s of %s could not describe a call", tool.name, tool.origin)
        return plain


def crashed(tool: Tool, error: BaseException) -> ToolError:
    log.error("tool %s of %s failed", tool.name, tool.origin, exc_info=error)
    return ToolError(content=f"The tool {tool.name} failed: {type(error).__name__}: {error}")
