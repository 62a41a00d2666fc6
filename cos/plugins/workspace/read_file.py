"""The tool `read_file`: a range of lines of a text file, numbered, bounded by bytes and read by streaming."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.tools import CallDescription, Json, Tool, ToolContext, ToolError, ToolOk, ToolOutcome
from cos.plugins.workspace.binary import SAMPLE_BYTES, describe, is_binary, kind_of
from cos.plugins.workspace.files import FileRefused, check_kind, failure, missing, open_regular
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.lines import LinePage, ReadingStopped, encoding_of, read_page
from cos.plugins.workspace.paths import PathRefused, quoted, real_path, resolve

if TYPE_CHECKING:
    from cos.agent.identity import TurnInfo

DEFAULT_LIMIT_LINES = 500
MAX_LIMIT_LINES = 2_000

DESCRIPTION = """\
Read a text file in the workspace. Returns JSON whose `content` has one `NUMBER|text` line for each line of the file. \
Use `offset` and `limit` to read a long file in pieces; at most 50,000 bytes are returned at once and very long lines \
are cut. A relative path starts at the working folder that `terminal` shows as `cwd`."""

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, inside the workspace."},
        "offset": {"type": "integer", "minimum": 1, "description": "First line to read; 1 when not given."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LIMIT_LINES,
            "description": f"How many lines to read; {DEFAULT_LIMIT_LINES} when not given.",
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads files for the model."""

    folders: SessionFolders

    def tool(self, origin: str) -> Tool:
        return Tool(
            name="read_file", title="Read", description=DESCRIPTION, schema=SCHEMA, origin=origin, risk="read",
            parallel=True, run=self.run, describe=self.describe,
        )  # fmt: skip

    def describe(self, args: Json, turn: TurnInfo, workspace: Path) -> CallDescription:
        path = quoted(str(args.get("path", ""))).strip("'")
        first, limit = args.get("offset", 1), args.get("limit", DEFAULT_LIMIT_LINES)
        lines = f" (lines {first} to {first + limit - 1})" if "offset" in args or "limit" in args else ""
        cwd = self.folders.planned(turn, workspace, None)
        return CallDescription(title=path + lines, kind="read", locations=(path,), cwd=cwd)

    async def run(self, args: Json, turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        workspace = real_path(ctx.workspace)
        folder, _ = self.folders.current(turn, workspace)
        first, limit = args.get("offset", 1), args.get("limit", DEFAULT_LIMIT_LINES)
        stop = threading.Event()
        try:
            path = resolve(args["path"], workspace=workspace, folder=folder)
            content = await asyncio.to_thread(_read, path, args["path"], workspace, first, limit, stop)
        except PathRefused as refusal:
            return ToolError(content=_json({"error": str(refusal)}))
        except FileRefused as refusal:
            return ToolError(content=_json({"error": str(refusal), **refusal.fields}))
        finally:
            stop.set()
        return ToolOk(content=_json(content))


def _json(fields: Json) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _read(path: Path, written: str, workspace: Path, first: int, limit: int, stop: threading.Event) -> Json:
    try:
        check_kind(path)
        with open_regular(path, written) as file:
            size = os.fstat(file.fileno()).st_size
            sample = file.read(SAMPLE_BYTES)
            encoding, note = encoding_of(sample)
            if kind_of(sample) or (encoding == "utf-8" and is_binary(sample)):
                raise FileRefused(
                    f"{quoted(written)} is no text file ({describe(sample, size)}), so its content is not shown.",
                    is_binary=True, file_size=size,
                )  # fmt: skip
            page = read_page(file, encoding, first=first, limit=limit, stop=stop)
    except FileNotFoundError:
        raise missing(path, written, workspace) from None
    except ReadingStopped:
        raise FileRefused(f"Reading {quoted(written)} was cancelled.") from None
    except OSError as error:
        raise FileRefused(failure(error, written, "read")) from error
    return _page_fields(page, written, size, first, note)


def _page_fields(page: LinePage, written: str, size: int, first: int, note: str | None) -> Json:
    if first > 1 and not page.lines:
        raise FileRefused(
            f"{quoted(written)} has {page.total_lines} lines; `offset` {first} is past its end.",
            total_lines=page.total_lines, file_size=size,
        )  # fmt: skip
    content = "\n".join(f"{number}|{line}" for number, line in enumerate(page.lines, first))
    fields: Json = {"content": content, "total_lines": page.total_lines, "file_size": size, "truncated": page.has_more}
    hints = [note]
    if page.odd_lines:
        hints.append(f"Lines that are not valid UTF-8 and are shown as Latin-1: {page.odd_lines}.")
    if not page.lines:
        hints.append("The file is empty.")
    if page.has_more:
        hints.append(f"More lines follow: go on with `offset` {first + len(page.lines)}.")
    if any(hints):
        fields["hint"] = " ".join(filter(None, hints))
    return fields
