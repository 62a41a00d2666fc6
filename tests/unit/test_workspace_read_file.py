"""The tool `read_file` on real files of every kind, and the plugin's registration."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from cos.agent.tools import ToolError, ToolOk
from cos.core.plugin_api import PluginContext, Registrations
from cos.plugins.workspace import register
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.read_file import FileReader
from cos.plugins.workspace.terminal import Terminal
from tests.tool_context import RecordingContext, new_turn

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\x01" * 100


async def read(workspace: Path, path: str, **args: int) -> dict[str, Any]:
    reader = FileReader(SessionFolders())
    outcome = await reader.run({"path": path, **args}, new_turn(), RecordingContext(workspace))
    data: dict[str, Any] = json.loads(outcome.content)
    assert isinstance(outcome, ToolError if "error" in data else ToolOk)
    return data


async def test_lines_are_numbered(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("eins\r\nzw\u00f6lf\n\nend".encode())
    assert await read(tmp_path, "a.txt") == {
        "content": "1|eins\n2|zw\u00f6lf\n3|\n4|end", "total_lines": 4, "file_size": 17, "truncated": False,
    }  # fmt: skip


async def test_range_says_where_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 1001)))
    page = await read(tmp_path, "a.txt", offset=10, limit=2)
    assert (page["content"], page["total_lines"], page["truncated"]) == ("10|line 10\n11|line 11", 1000, True)
    assert page["hint"] == "More lines follow: go on with `offset` 12."
    assert (await read(tmp_path, "a.txt"))["content"].count("\n") == 499
    last = await read(tmp_path, "a.txt", offset=1000)
    assert (last["content"], last["truncated"]) == ("1000|line 1000", False)
    assert "has 1000 lines; `offset` 1001 is past" in (await read(tmp_path, "a.txt", offset=1001))["error"]


async def test_empty_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    assert await read(tmp_path, "a.txt") == {
        "content": "", "total_lines": 0, "file_size": 0, "truncated": False, "hint": "The file is empty.",
    }  # fmt: skip


async def test_huge_line_is_cut_with_the_amount(tmp_path: Path) -> None:
    """H-121"""
    (tmp_path / "a.json").write_text("é" * 500_000 + "\r\nnext\n")
    page = await read(tmp_path, "a.json")
    assert page["content"] == f"1|{'é' * 1000}… [998,000 more bytes in this line]\n2|next"


async def test_result_is_bounded_by_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(("x" * 999 + "\n") * 100)
    page = await read(tmp_path, "a.txt")
    assert len(page["content"]) <= 50_000
    assert page["hint"] == "More lines follow: go on with `offset` 50."


async def test_huge_file_is_read_only_as_far_as_wanted(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.write(b"one\n" * 5_000)
        file.truncate(1 << 40)  # a terabyte that takes no room: reading it all would never end
    page = await read(tmp_path, "big", limit=1)
    assert (page["content"], page["total_lines"], page["truncated"]) == ("1|one", None, True)


async def test_cancelled_reading_stops_its_thread(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.write(b"one\n" * 5_000)
        file.truncate(1 << 40)
    call = asyncio.ensure_future(read(tmp_path, "big", offset=1_000_000))
    await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.get_running_loop().shutdown_default_executor()


@pytest.mark.parametrize(
    ("data", "content", "hint"),
    [
        (b"\xef\xbb\xbfabc\n", "1|abc", "byte order mark, which is left out"),
        ("Stra\u00dfe\r\nb\n".encode("utf-16"), "1|Stra\u00dfe\n2|b", "UTF-16"),
        (b"\xfe\xff" + "漢\n字".encode("utf-16-be"), "1|漢\n2|字", "UTF-16"),
        (b"fine \xc3\xa9\nGr\xfc\xdfe\n", "1|fine é\n2|Grüße", "shown as Latin-1: 1."),
        (b"a\0b\n", "1|a\ufffdb", None),
        (b"keep \\u0000\n", "1|keep \\u0000", None),
    ],
)
async def test_encodings(tmp_path: Path, data: bytes, content: str, hint: str | None) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    page = await read(tmp_path, "a.txt")
    assert page["content"] == content
    assert hint in page["hint"] if hint else "hint" not in page


async def test_characters_across_reads_stay_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe" + ("漢" * 200_000 + "\nend\n").encode("utf-16-le"))
    (tmp_path / "b.txt").write_text(("x" * 62 + "漢\n") * 5_000)
    assert (await read(tmp_path, "a.txt"))[
        "content"
    ] == "1|" + "漢" * 666 + "… [598,000 more bytes in this line]\n2|end"
    page = await read(tmp_path, "b.txt", offset=3_900, limit=400)
    assert {line.partition("|")[2] for line in page["content"].splitlines()} == {"x" * 62 + "漢"}


async def test_binary_file_is_named_by_kind_and_size(tmp_path: Path) -> None:
    """H-121"""
    (tmp_path / "logo.png").write_bytes(PNG)
    (tmp_path / "data").write_bytes(bytes(range(256)))
    assert await read(tmp_path, "logo.png") == {
        "error": "'logo.png' is no text file (PNG image, 208 bytes), so its content is not shown.",
        "is_binary": True,
        "file_size": 208,
    }
    assert "binary data, 256 bytes" in (await read(tmp_path, "data"))["error"]


async def test_missing_file_names_near_matches(tmp_path: Path) -> None:
    (tmp_path / "README.md").touch()
    page = await read(tmp_path, "REDME.md")
    assert page["similar_files"] == [str(tmp_path / "README.md")]
    assert "no folder" in (await read(tmp_path, "nowhere/deep/x"))["error"]
    assert "List the folder" in (await read(tmp_path, "qqq"))["error"]


async def test_folder_is_listed(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").touch()
    assert "is a folder and holds: a.txt, sub/. Name" in (await read(tmp_path, "."))["error"]


async def test_pipes_sockets_and_loops_are_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "s"))
    assert "is a named pipe" in (await read(tmp_path, "fifo"))["error"]
    assert "is a socket" in (await read(tmp_path, "s"))["error"]
    assert "symbolic link" in (await read(tmp_path, "loop"))["error"]
    assert "longer than a name" in (await read(tmp_path, "x" * 300))["error"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_missing_permission_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch(mode=0)
    assert "No permission" in (await read(tmp_path, "a.txt"))["error"]


@pytest.mark.parametrize("path", ["../../x", "/etc/hosts", "~/x", "$HOME/x", "a/../../x", "", "a\0b", "a\nb"])
async def test_path_outside_is_refused(tmp_path: Path, path: str) -> None:
    """H-126"""
    assert (await read(tmp_path, path)).keys() == {"error"}


async def test_relative_path_starts_where_the_session_works(tmp_path: Path) -> None:
    folders, turn, ctx = SessionFolders(), new_turn(), RecordingContext(tmp_path)
    (tmp_path / "top.txt").write_text("top")
    await Terminal(folders, lambda: os.environ).run({"command": "mkdir sub; cd sub; echo hi > a.txt"}, turn, ctx)
    reader = FileReader(folders)
    assert json.loads((await reader.run({"path": "a.txt"}, turn, ctx)).content)["content"] == "1|hi"
    missed = json.loads((await reader.run({"path": "top.txt"}, turn, ctx)).content)
    assert missed["similar_files"][0] == str(tmp_path / "top.txt")


async def test_register_brings_the_tools_and_a_closer(tmp_path: Path) -> None:
    registrations = Registrations()
    register(PluginContext("workspace", {}, registrations))
    assert {tool.name: (tool.risk_of({}), tool.parallel) for tool in registrations.tools} == {
        "read_file": ("read", True), "write_file": ("write", False), "patch": ("write", False),
        "search_files": ("read", True), "terminal": ("execute", False),
    }  # fmt: skip
    describe = registrations.tools[0].describe
    assert describe is not None
    described = describe({"path": "a\nb", "offset": 5, "limit": 10}, new_turn(), tmp_path)
    assert (described.title, described.cwd) == ("a␊b (lines 5 to 14)", str(tmp_path))
    for close in registrations.closers:
        await close()
