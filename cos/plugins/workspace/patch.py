"""The tool `patch`: one exact piece of a text file replaced by another; everything around it stays byte for byte."""

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
from cos.plugins.workspace.diffs import RESULT_LINES, Diff, diff_of
from cos.plugins.workspace.encodings import EncodedText, as_latin1
from cos.plugins.workspace.file_state import COMPARED_BYTES, DescribedStates, FileState, find
from cos.plugins.workspace.files import FileRefused, missing
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.paths import PathRefused, quoted, real_path, shown
from cos.plugins.workspace.replacing import MAX_PLACES, Replacement, Span, line_number, near_lines

if TYPE_CHECKING:
    from cos.agent.identity import TurnInfo

_LISTED_LINES = 20

DESCRIPTION = """\
Replace one piece of a text file in the workspace. `old_string` is matched exactly and must occur once (or give \
`replace_all`): copy it from `read_file` without the line numbers and take enough lines around the change. Line ends, \
encoding and mode of the file are kept; `\\n` also matches the line ends of a Windows file. Returns JSON with \
`success` and the `diff`."""

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, inside the workspace."},
        "old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file."},
        "new_string": {"type": "string", "description": "What to put in its place; empty to delete it."},
        "replace_all": {"type": "boolean", "description": "Replace every occurrence; false when not given."},
        "mode": {"type": "string", "enum": ["replace"], "description": "The only mode; need not be given."},
    },
    "required": ["path", "old_string", "new_string"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """A change that is ready to be written."""

    state: FileState
    data: bytes
    diff: Diff
    count: int


@dataclass(frozen=True, slots=True)
class FilePatcher:
    """Edits files for the model."""

    folders: SessionFolders
    described: DescribedStates

    def tool(self, origin: str) -> Tool:
        return Tool(
            name="patch", title="Edit", description=DESCRIPTION, schema=SCHEMA, origin=origin, risk="write",
            run=self.run, describe=self.describe,
        )  # fmt: skip

    def describe(self, args: Json, turn: TurnInfo, workspace: Path) -> CallDescription:
        path = quoted(str(args.get("path", ""))).strip("'")
        cwd = self.folders.planned(turn, workspace, None)
        try:
            edit = self._prepared(args, turn, workspace)
        except (PathRefused, FileRefused) as refusal:
            return CallDescription(
                title=path, kind="edit", locations=(path,), cwd=cwd, refusal=str(refusal)
            )  # fmt: skip
        self.described.remember(turn, edit.state, args)
        return CallDescription(
            title=f"{path} (+{edit.diff.added} -{edit.diff.removed})", kind="edit", locations=(path,), cwd=cwd,
            diff=edit.diff.text(), detail=args["new_string"] if edit.diff.is_cut else "",
        )  # fmt: skip

    async def run(self, args: Json, turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        try:
            return ToolOk(content=_json(await uninterrupted(asyncio.to_thread(self._patch, args, turn, ctx.workspace))))
        except PathRefused as refusal:
            return ToolError(content=_json({"success": False, "error": str(refusal)}))
        except FileRefused as refusal:
            return ToolError(content=_json({"success": False, "error": str(refusal), **refusal.fields}))

    def _patch(self, args: Json, turn: TurnInfo, workspace: Path) -> Json:
        self.described.check(turn, find(args, turn, workspace, self.folders), args)
        edit = self._prepared(args, turn, workspace)
        self.described.check(turn, edit.state, args)
        write_atomically(edit.state, edit.data, workspace)
        self.described.written(turn, edit.state, edit.data)
        return {
            "success": True, "diff": edit.diff.text(RESULT_LINES), "files_modified": [shown(edit.state.path)],
            "replacements": edit.count,
        }  # fmt: skip

    def _prepared(self, args: Json, turn: TurnInfo, workspace: Path) -> _Edit:
        old, new = args["old_string"], args["new_string"]
        _check_strings(old, new)
        state = find(args, turn, workspace, self.folders)
        if state.stat is None:
            raise missing(state.path, state.written, real_path(workspace))
        if state.data is None:
            raise FileRefused(
                f"{quoted(state.written)} is larger than {COMPARED_BYTES:,} bytes, which `patch` does not edit; use "
                "`terminal` with a stream editor."
            )
        source, replacement, places = _found(state.text(), state.data, old, new)
        _check_places(places, source.text, state.written, old, replace_all=args.get("replace_all", False))
        text = replacement.applied(places)
        return _Edit(
            state=state, data=_encoded(source, text, state.written), count=len(places),
            diff=diff_of(source.text, text, shown(Path(state.written))),
        )  # fmt: skip


def _json(fields: Json) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _check_strings(old: str, new: str) -> None:
    if not old:
        raise FileRefused("`old_string` is empty; give the text to replace, or use `write_file` for a new file.")
    if old == new:
        raise FileRefused("`old_string` and `new_string` are the same, so nothing would change; give the new text.")
    for name, text in (("old_string", old), ("new_string", new)):
        if storable(text) != text:
            raise FileRefused(f"`{name}` holds a NUL or another character that is no valid text; write it without.")


def _found(
    text: EncodedText, data: bytes, old: str, new: str
) -> tuple[EncodedText, Replacement, list[Span]]:  # fmt: skip
    """Where `old` is. Lines that are no UTF-8 are shown to the model as Latin-1, so they are looked for as such too."""
    replacement = Replacement(text.text, old, new)
    places = replacement.places()
    latin1 = None if places else as_latin1(data)
    if latin1 is not None:
        other = Replacement(latin1.text, old, new)
        if found := other.places():
            return latin1, other, found
    return text, replacement, places


def _check_places(
    places: list[Span], text: str, written: str, old: str, *, replace_all: bool
) -> None:  # fmt: skip
    if not places:
        near = near_lines(text, old)
        fields: dict[str, object] = {"similar_lines": [storable(f"{number}|{line}") for number, line in near]}
        hint = " The nearest lines are in `similar_lines`." if near else ""
        raise FileRefused(
            f"`old_string` does not occur in {quoted(written)}; it must match exactly, spaces included.{hint} "
            "Read the file again and copy the text from there.",
            **(fields if near else {}),
        )
    if len(places) > MAX_PLACES:
        raise FileRefused(
            f"`old_string` occurs more than {MAX_PLACES:,} times in {quoted(written)}; "
            "use `terminal` with a stream editor."
        )
    if len(places) > 1 and not replace_all:
        numbers = [line_number(text, place.start) for place in places[:_LISTED_LINES]]
        more = ", …" if len(places) > _LISTED_LINES else ""
        raise FileRefused(
            f"`old_string` occurs {len(places)} times in {quoted(written)} (lines "
            f"{', '.join(map(str, numbers))}{more}); add lines around the one you mean, or give `replace_all`.",
            occurrences=len(places), lines=numbers,
        )  # fmt: skip


def _encoded(source: EncodedText, text: str, written: str) -> bytes:
    if text == source.text:
        raise FileRefused(f"{quoted(written)} would not change: the text is there already with the file's line ends.")
    try:
        return source.to_bytes(text)
    except UnicodeEncodeError as error:
        character = text[error.start]
        raise FileRefused(
            f"{quoted(written)} is {source.name}, which has no character {character!r} (U+{ord(character):04X}); "
            "leave it out, or convert the file to UTF-8 first."
        ) from error
