"""`skill_view` and `skills_list`: how the model reads the user's skills. Names and argument keys are Hermes'."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from cos.agent.tools import CallDescription, Json, Tool, ToolContext, ToolError, ToolOk, ToolOutcome
from cos.core.errors import SkillError
from cos.core.skills.commands import skill_lines
from cos.core.skills.files import read_linked
from cos.core.skills.folder import SkillSet
from cos.core.skills.shelf import VIEW, whole_text

if TYPE_CHECKING:
    from pathlib import Path

    from cos.agent.identity import TurnInfo
    from cos.core.skills.shelf import SkillShelf

LIST: Final = "skills_list"
_VIEW_TEXT: Final = """\
Read a skill: instructions that the user keeps for a certain task. Without `file_path` you get its instructions and \
the names of its files; with it, one of these files."""
_LIST_TEXT: Final = """\
List the user's skills as they are now, with what each is for. Skills that were there when this session began are \
listed in the system prompt already."""
_VIEW_SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "description": "The skill's name."},
        "file_path": {"type": "string", "minLength": 1, "description": "A file of the skill, as the skill lists it."},
    },
    "required": ["name"],
}
_LIST_SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {"category": {"type": "string", "description": "Only the skills of this category."}},
}


def skill_tools(shelf: SkillShelf) -> list[Tool]:
    async def view(args: Json, turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        try:
            skill = await shelf.find(turn.profile_id, args["name"])
            path = args.get("file_path")
            read = asyncio.to_thread(read_linked, skill, path) if path else asyncio.to_thread(whole_text, skill)
            return ToolOk(content=await read)
        except SkillError as error:
            return ToolError(content=f"Nothing was read: {error}")

    async def list_all(args: Json, turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        found, category = await shelf.read(turn.profile_id), args.get("category")
        if category:
            fitting = {name: skill for name, skill in found.skills.items() if skill.category == category}
            found = SkillSet(fitting, found.broken)
        return ToolOk(content="\n".join(skill_lines(found)) or "There are no skills.")

    return [
        Tool(
            name=VIEW, title="Read skill", description=_VIEW_TEXT, schema=_VIEW_SCHEMA, run=view, origin="core",
            risk="read", parallel=True, describe=_describe_view,
        ),
        Tool(
            name=LIST, title="List skills", description=_LIST_TEXT, schema=_LIST_SCHEMA, run=list_all, origin="core",
            risk="read", parallel=True, describe=_describe_list,
        ),
    ]  # fmt: skip


def _describe_view(args: Json, turn: TurnInfo, workspace: Path) -> CallDescription:
    path = args.get("file_path")
    return CallDescription(title=f"{args['name']}: {path}" if path else str(args["name"]), kind="read")


def _describe_list(args: Json, turn: TurnInfo, workspace: Path) -> CallDescription:
    return CallDescription(title=str(args.get("category") or "all skills"), kind="read")
