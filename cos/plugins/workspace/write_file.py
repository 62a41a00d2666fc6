"""The tool `write_file`: a text file's whole content, written at once or not at all."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.cancellation import uninterrupted
from cos.agent.text import storable
from cos.agent.tools import CallDescription, Json, Tool, ToolContext, ToolError, ToolOk, ToolOutcome
from cos.plugins.workspace.atomic import write_atomically
from cos.plugins.workspace.diffs import diff_of
from cos.plugins.workspace.encodings import ends_name, majority_end
from cos.plugins.workspace.file_state import DescribedStates, FileState, find
from cos.plugins.workspace.files import FileRefused
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.paths import PathRefused, quoted, shown

if TYPE_CHECKING:
    from cos.agent.identity import TurnInfo

DESCRIPTION = """\
Write a text file in the workspace, replacing its whole content; missing folders are created. Use `patch` to change a \
part of a file. The content is stored exactly as given, as UTF-8 with the line ends it has. Binary files are refused. \
Returns JSON with `bytes_written` and `status` (created or replaced)."""

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, inside the workspace."},
        "content": {"type": "string", "description": "The whole new content."},
    },
    "required": ["path", "content"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class FileWriter:
    """Writes files for the model."""

    folders: SessionFolders
    described: DescribedStates

    def tool(self, origin: str) -> Tool:
        return Tool(
            name="write_file", title="Write", description=DESCRIPTION, schema=SCHEMA, origin=origin, risk="write",
            run=self.run, describe=self.describe,
        )  # fmt: skip

    def describe(self, args: Json, turn: TurnInfo, workspace: Path) -> CallDescription:
        path, content = quoted(str(args.get("path", ""))).strip("'"), str(args.get("content", ""))
        cwd = self.folders.planned(turn, workspace, None)
        try:
            _check_content(content)
            state = find(args, turn, workspace, self.folders)
            old = _old_text(state)
        except (PathRefused, FileRefused) as refusal:
            return CallDescription(
                title=path, kind="edit", locations=(path,), cwd=cwd, refusal=str(refusal)
            )  # fmt: skip
        self.described.remember(turn, state, args)
        is_new = state.stat is None
        if old is None:
            return CallDescription(
                title=f"{path} (replaced, {_lines(content)})", kind="edit", detail=content, locations=(path,), cwd=cwd
            )  # fmt: skip
        diff = diff_of(old, content, path, is_new=is_new)
        changed = f"new, {_lines(content)}" if is_new else f"+{diff.added} -{diff.removed}"
        return CallDescription(
            title=f"{path} ({changed})", kind="edit", locations=(path,), cwd=cwd, diff=diff.text(),
            detail=content if is_new or diff.is_cut else "",
        )  # fmt: skip

    async def run(self, args: Json, turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        try:
            return ToolOk(content=_json(await uninterrupted(asyncio.to_thread(self._write, args, turn, ctx.workspace))))
        except PathRefused as refusal:
            return ToolError(content=_json({"error": str(refusal)}))
        except FileRefused as refusal:
            return ToolError(content=_json({"error": str(refusal), **refusal.fields}))

    def _write(self, args: Json, turn: TurnInfo, workspace: Path) -> Json:
        content: str = args["content"]
        _check_content(content)
        state = find(args, turn, workspace, self.folders)
        self.described.check(turn, state, args)
        state.check_text()
        warning = _warning(state, content)
        data = content.encode()
        has_created = write_atomically(state, data, workspace)
        self.described.written(turn, state, data)
        status = "created" if state.stat is None else "replaced"
        fields: Json = {
            "bytes_written": len(data), "dirs_created": has_created, "status": status, "path": shown(state.path),
        }  # fmt: skip
        return fields | ({"warning": warning} if warning else {})


def _json(fields: Json) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _lines(content: str) -> str:
    count = content.count("\n") + (not content.endswith("\n") and content != "")
    return "1 line" if count == 1 else f"{count:,} lines"


def _check_content(content: str) -> None:
    if storable(content) != content:
        raise FileRefused(
            "`content` holds a NUL or another character that is no valid text; write it without, or make a binary file "
            "with a command."
        )


def _old_text(state: FileState) -> str | None:
    """The text that is replaced, empty for no file; None when it is too large to be shown."""
    if state.stat is None:
        return ""
    state.check_text()
    return None if state.data is None else state.text().text


def _warning(state: FileState, content: str) -> str:
    """What else than the text becomes different."""
    if state.data is None:
        return ""
    old = state.text()
    changes = []
    if old.mark and not (old.encoding == "utf-8" and content.startswith("\ufeff")):
        changes.append(f"The file was {old.name} and is now UTF-8 without a byte order mark.")
    before, after = majority_end(old.text), majority_end(content)
    if before != after and before in old.text and after in content:
        changes.append(f"Its line ends were {ends_name(before)} and are now {ends_name(after)}.")
    return " ".join(changes)
