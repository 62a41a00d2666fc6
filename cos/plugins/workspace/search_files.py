"""The tool `search_files`: lines by regular expression, or files by name, in a tree of any size, by ripgrep.

.gitignore is respected, hidden and binary files are left out, symbolic links are not followed.
"""

from __future__ import annotations

import asyncio
import json
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.records import ToolCallStatus
from cos.agent.text import storable
from cos.agent.tools import CallDescription, Json, Tool, ToolContext, ToolError, ToolOk, ToolOutcome
from cos.plugins.workspace.file_state import check_is_text
from cos.plugins.workspace.files import FileRefused, failure, missing
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.globs import Glob
from cos.plugins.workspace.matches import MatchPage
from cos.plugins.workspace.paths import PathRefused, quoted, real_path, resolve, shown
from cos.plugins.workspace.ripgrep import Ripgrep, Run, SearchFailed
from cos.plugins.workspace.search_names import NamePage, counts_of

if TYPE_CHECKING:
    from cos.agent.identity import TurnInfo

DEFAULT_LIMIT = 50
MAX_LIMIT = 1_000
MAX_CONTEXT = 20

DESCRIPTION = """\
Search the workspace. With `target` content (the default), `pattern` is a regular expression (Rust syntax, without \
look-around) that is matched line by line; results come in path order. With `target` files, `pattern` is a glob for \
names such as '*.py' or 'src/**/*.md'; the newest files come first. Hidden and binary files, files in .gitignore and \
files over 200 MB are left out; symbolic links are not followed. Returns JSON with `total_count` and `truncated`."""

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Regular expression, or a glob for the names of files."},
        "target": {
            "type": "string",
            "enum": ["content", "files"],
            "description": "What to search; content by default.",
        },
        "path": {"type": "string", "description": "Folder or file to search; the working folder when not given."},
        "file_glob": {"type": "string", "description": "Search the contents of files that fit only, such as '*.py'."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LIMIT,
            "description": f"How many results to return; {DEFAULT_LIMIT} when not given.",
        },
        "offset": {"type": "integer", "minimum": 0, "description": "How many results to skip; 0 when not given."},
        "output_mode": {
            "type": "string",
            "enum": ["content", "files_only", "count"],
            "description": "Matching lines (default), only the files' paths, or how many lines match in each file.",
        },
        "context": {
            "type": "integer",
            "minimum": 0,
            "maximum": MAX_CONTEXT,
            "description": "Lines to show before and after each matching line; 0 when not given.",
        },
        "hidden": {"type": "boolean", "description": "Also search files and folders whose names start with a dot."},
    },
    "required": ["pattern"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """A call whose arguments have been checked."""

    pattern: str
    is_names: bool
    glob: Glob | None
    hidden: bool
    root: Path
    is_file: bool
    base: str
    """What stands before the paths of the results."""
    mode: str
    limit: int
    offset: int
    context: int
    options: tuple[str, ...]

    def wants(self, path: str) -> bool:
        """Whether a path below `root` is a result. ripgrep's file types bring hidden files back."""
        if self.glob is None:
            return True
        return self.glob.matches(path) and (self.hidden or self.is_file or not path.rsplit("/", 1)[-1].startswith("."))

    @property
    def arguments(self) -> list[str]:
        where = ["--", f"./{self.root.name}" if self.is_file else "./"]
        if self.is_names:
            return [*self.options, "--files", "--null", *where]
        how = ["--json", f"--context={self.context}"] if self.mode == "content" else ["--count", "--null"]
        return [*self.options, *how, "--with-filename", "--crlf", "--sort=path", f"--regexp={self.pattern}", *where]


@dataclass(frozen=True, slots=True)
class FileSearcher:
    """Searches files for the model."""

    folders: SessionFolders
    ripgrep: Ripgrep

    def tool(self, origin: str) -> Tool:
        return Tool(
            name="search_files", title="Search", description=DESCRIPTION, schema=SCHEMA, origin=origin, risk="read",
            parallel=True, run=self.run, describe=self.describe,
        )  # fmt: skip

    def describe(self, args: Json, turn: TurnInfo, workspace: Path) -> CallDescription:
        pattern = quoted(str(args.get("pattern", ""))).strip("'")
        path = quoted(str(args.get("path", "."))).strip("'")
        what = "files " if args.get("target") == "files" else ""
        only = f" ({quoted(args['file_glob'])[1:-1]})" if "file_glob" in args else ""
        cwd = self.folders.planned(turn, workspace, None)
        return CallDescription(title=f"{what}{pattern} in {path}{only}", kind="search", locations=(path,), cwd=cwd)

    async def run(self, args: Json, turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        workspace = real_path(ctx.workspace)
        folder, _ = self.folders.current(turn, workspace)
        try:
            search = await asyncio.to_thread(_checked, args, workspace, folder)
            run, fields = await self._searched(search, workspace)
        except (PathRefused, SearchFailed) as refusal:
            return ToolError(content=_json({"error": str(refusal)}))
        except FileRefused as refusal:
            return ToolError(content=_json({"error": str(refusal), **refusal.fields}))
        if run.error and run.exit_code:
            return ToolError(content=_json({"error": _failure(run.error)}))
        if run.stopped and not fields["total_count"]:
            error = f"Nothing was found before the search was stopped, because {run.stopped}. Search a smaller folder."
            return ToolError(content=_json({"error": error}), status=ToolCallStatus.TIMED_OUT)
        return ToolOk(content=_json(_with_notes(fields, run, search)))

    async def _searched(self, search: _Search, workspace: Path) -> tuple[Run, Json]:
        folder = search.root.parent if search.is_file else search.root
        matches = MatchPage(
            offset=search.offset, limit=search.limit, context=search.context, wants=search.wants,
            base=search.base,
        )  # fmt: skip
        is_lines = not search.is_names and search.mode == "content"
        output = bytearray()

        def keep(data: bytes) -> bool:
            output.extend(data)
            return True

        run = await self.ripgrep.run(
            search.arguments, folder=folder, workspace=workspace, receive=matches.receive if is_lines else keep
        )
        if is_lines:
            matches.finish()
            end = matches.offset + matches.shown
            return run, {"total_count": matches.total, "matches": matches.entries, "truncated": matches.total > end}
        page = NamePage(offset=search.offset, limit=search.limit, base=search.base)
        if search.is_names:
            found = await asyncio.to_thread(page.newest, bytes(output), search.wants, folder)
        else:
            found = page.counted(counts_of(bytes(output), search.wants), only_files=search.mode == "files_only")
        return run, found


def _checked(args: Json, workspace: Path, folder: Path) -> _Search:
    pattern, is_names = args["pattern"], args.get("target") == "files"
    if not pattern or storable(pattern) != pattern:
        raise SearchFailed("`pattern` is empty or holds a NUL; give a regular expression, or a glob for names.")
    written = args.get("path", ".")
    root = resolve(written, workspace=workspace, folder=folder)
    try:
        mode = root.stat().st_mode
    except FileNotFoundError:
        raise missing(root, written, workspace) from None
    except OSError as error:
        raise FileRefused(failure(error, written, "read")) from error
    if stat.S_ISREG(mode):
        check_is_text(root, written)
    elif not stat.S_ISDIR(mode):
        raise FileRefused(f"{quoted(written)} is neither a folder nor a regular file; name one of these.")
    wanted = pattern if is_names else args.get("file_glob")
    glob = Glob.of(wanted) if wanted else None
    start = root if stat.S_ISDIR(mode) else root.parent
    is_below = start.is_relative_to(folder)
    relative = str(start.relative_to(folder)) if is_below else str(start)
    hidden = args.get("hidden", False) or (glob is not None and glob.names_hidden)
    return _Search(
        pattern=pattern, is_names=is_names, glob=glob, hidden=hidden, root=root, is_file=stat.S_ISREG(mode),
        base="" if relative == "." else f"{relative}/", mode=args.get("output_mode", "content"),
        limit=args.get("limit", DEFAULT_LIMIT), offset=args.get("offset", 0), context=args.get("context", 0),
        options=(*_ignore_options(start, workspace), *_file_options(None if is_names else glob, hidden=hidden)),
    )  # fmt: skip


def _ignore_options(start: Path, workspace: Path) -> list[str]:
    if any((parent / ".git").exists() for parent in (start, *start.parents)):
        return []
    # Without a repository .gitignore counts too, but only that of the workspace: one in the user's home would not.
    options = ["--no-require-git", "--no-ignore-parent"]
    above = workspace / ".gitignore"
    return [*options, f"--ignore-file={above}"] if start != workspace and above.is_file() else options


def _file_options(glob: Glob | None, *, hidden: bool) -> list[str]:
    # `--glob` would bring ignored files back; a file type does not.
    options = ["--no-messages", "--max-filesize=200M"]
    if hidden:
        options += ["--hidden", "--glob=!.git"]
    if glob is not None and glob.name_pattern:
        options += [f"--type-add=wanted:{glob.name_pattern}", "--type=wanted"]
    return options


def _json(fields: Json) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _failure(error: str) -> str:
    """ripgrep's message without its advice about options that the model does not have."""
    text = error.split("\n\nConsider enabling", 1)[0].strip().removeprefix("rg: ")
    return f"The search failed: {storable(text)}\nCorrect the pattern; it is a regular expression for one line."


def _with_notes(fields: Json, run: Run, search: _Search) -> Json:
    if run.stopped:
        fields |= {"truncated": True, "total_count_is_lower_bound": True, "limit_reason": run.stopped}
    if run.exit_code > 1:
        fields["warning"] = "Some files or folders could not be read and were left out."
    lines: list[Json] = fields.get("matches", [])
    shown_count = len(fields.get("files") or fields.get("counts") or [line for line in lines if "context" not in line])
    if fields["truncated"] and shown_count:
        fields["hint"] = (
            f"More results follow: go on with `offset` {search.offset + shown_count}, or narrow the search."
        )
    elif search.offset and fields["total_count"]:
        fields["hint"] = f"`offset` {search.offset} is past the end."
    elif not fields["total_count"]:
        fields["hint"] = (
            f"Nothing found in {shown(search.root)}. Hidden files, binary files and those in .gitignore are left out."
        )
    return fields
