"""The tool `write_file` on real files and folders."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cos.agent.identity import TurnInfo
from cos.agent.tools import CallDescription, ToolError, ToolOk
from cos.plugins.workspace import diffs
from cos.plugins.workspace.atomic import write_atomically
from cos.plugins.workspace.file_state import COMPARED_BYTES, DescribedStates, read_state
from cos.plugins.workspace.files import FileRefused
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.write_file import FileWriter
from tests.tool_context import RecordingContext, new_turn

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\x01" * 100


class Writing:
    """One session that writes into `workspace`."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.turn: TurnInfo = new_turn()
        self.writer = FileWriter(SessionFolders(), DescribedStates())

    async def write(self, path: str, content: str) -> dict[str, Any]:
        outcome = await self.writer.run({"path": path, "content": content}, self.turn, RecordingContext(self.workspace))
        data: dict[str, Any] = json.loads(outcome.content)
        assert isinstance(outcome, ToolError if "error" in data else ToolOk)
        return data

    def describe(self, path: str, content: str) -> CallDescription:
        return self.writer.describe({"path": path, "content": content}, self.turn, self.workspace)


@pytest.fixture
def writing(tmp_path: Path) -> Writing:
    (tmp_path / "proj").mkdir()
    (tmp_path / "proj-evil").mkdir()
    return Writing(tmp_path / "proj")


async def test_new_file_is_created_with_its_folders(writing: Writing) -> None:
    path = writing.workspace / "a" / "b" / "c.txt"
    assert await writing.write("a/b/c.txt", "zwölf\n") == {
        "bytes_written": 7, "dirs_created": True, "status": "created", "path": str(path),
    }  # fmt: skip
    assert path.read_bytes() == "zwölf\n".encode()
    assert os.listdir(path.parent) == ["c.txt"]


async def test_new_file_has_the_mode_that_the_umask_gives(writing: Writing) -> None:
    old = os.umask(0o027)
    try:
        await writing.write("a", "x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((writing.workspace / "a").stat().st_mode) == 0o640


async def test_replaced_file_keeps_its_mode(writing: Writing) -> None:
    path = writing.workspace / "run.sh"
    path.write_text("old")
    path.chmod(0o750)
    result = await writing.write("run.sh", "new")
    assert (result["status"], result["dirs_created"]) == ("replaced", False)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o750)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
async def test_replaced_file_keeps_its_owner(writing: Writing) -> None:
    path = writing.workspace / "a"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    await writing.write("a", "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


async def test_line_ends_and_byte_order_mark_are_written_as_given(writing: Writing) -> None:
    """H-124"""
    content = "\ufeffone\r\ntwo\rthree\nno end"
    assert "warning" not in await writing.write("a.txt", content)
    assert (writing.workspace / "a.txt").read_bytes() == content.encode()


async def test_lost_line_ends_and_encoding_are_told(writing: Writing) -> None:
    (writing.workspace / "a.txt").write_bytes("a\r\nb\r\n".encode("utf-16"))
    assert (await writing.write("a.txt", "a\nb\n"))["warning"] == (
        "The file was UTF-16 and is now UTF-8 without a byte order mark. Its line ends were CRLF and are now LF."
    )


@pytest.mark.parametrize(
    "path", ["../../x", "/etc/cos-test", "~/x", "$HOME/x", "a/../../x", "", "a\0b", "a\nb", "../proj-evil/x", "out/x"]
)
async def test_path_outside_is_refused(writing: Writing, path: str, tmp_path: Path) -> None:
    """H-126"""
    (writing.workspace / "out").symlink_to(tmp_path / "proj-evil")
    assert (await writing.write(path, "x")).keys() == {"error"}
    assert writing.describe(path, "x").refusal
    assert os.listdir(tmp_path / "proj-evil") == []


async def test_link_that_leads_out_is_refused_and_its_target_kept(writing: Writing, tmp_path: Path) -> None:
    """H-126"""
    (tmp_path / "secret").write_text("secret")
    (writing.workspace / "link").symlink_to(tmp_path / "secret")
    (writing.workspace / "new").symlink_to(tmp_path / "not-there")
    assert "outside the workspace" in (await writing.write("link", "x"))["error"]
    assert "outside the workspace" in (await writing.write("new", "x"))["error"]
    assert ((tmp_path / "secret").read_text(), (tmp_path / "not-there").exists()) == ("secret", False)


async def test_link_inside_stays_and_its_target_is_written(writing: Writing) -> None:
    (writing.workspace / "sub").mkdir()
    (writing.workspace / "sub" / "target").write_text("old")
    (writing.workspace / "link").symlink_to("sub/target")
    await writing.write("link", "new")
    assert (writing.workspace / "link").is_symlink()
    assert (writing.workspace / "sub" / "target").read_text() == "new"


async def test_pipe_folder_and_device_are_refused(writing: Writing) -> None:
    os.mkfifo(writing.workspace / "pipe")
    (writing.workspace / "folder").mkdir()
    (writing.workspace / "file").touch()
    assert "a named pipe" in (await writing.write("pipe", "x"))["error"]
    assert "is a folder" in (await writing.write("folder", "x"))["error"]
    assert "is a folder" in (await writing.write(".", "x"))["error"]
    assert "a part of its path is no folder" in (await writing.write("file/x", "x"))["error"]


async def test_binary_file_is_not_replaced(writing: Writing) -> None:
    """H-121"""
    path = writing.workspace / "a.png"
    path.write_bytes(PNG)
    result = await writing.write("a.png", "x")
    assert "PNG image, 208 bytes" in result["error"]
    assert result["is_binary"]
    with path.open("r+b") as file:
        file.truncate(COMPARED_BYTES + 1)
    assert (await writing.write("a.png", "x"))["is_binary"]


async def test_content_that_is_no_text_is_refused(writing: Writing) -> None:
    assert "NUL" in (await writing.write("a", "x\0y"))["error"]
    assert "NUL" in (await writing.write("a", "x\ud800"))["error"]
    assert not (writing.workspace / "a").exists()


async def test_write_protected_file_is_left_alone(writing: Writing) -> None:
    path = writing.workspace / "a"
    path.write_text("old")
    path.chmod(0o444)
    result = await writing.write("a", "new")
    if os.geteuid() == 0:
        assert (result["status"], stat.S_IMODE(path.stat().st_mode)) == ("replaced", 0o444)
    else:
        assert "write-protected" in result["error"]


async def test_new_file_is_described_with_its_whole_content(writing: Writing) -> None:
    described = writing.describe("a.txt", "one\r\ntwo")
    assert (described.title, described.kind) == ("a.txt (new, 2 lines)", "edit")
    assert (described.detail, described.locations) == ("one\r\ntwo", ("a.txt",))
    assert described.diff == "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+one␍\n+two\n\\ No newline at end of file\n"
    assert not (writing.workspace / "a.txt").exists()


async def test_replaced_file_is_described_by_its_diff(writing: Writing) -> None:
    (writing.workspace / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 21)))
    described = writing.describe("a.txt", "".join(f"{n}\n" for n in range(1, 21) if n != 10) + "21\n")
    assert (described.title, described.detail) == ("a.txt (+1 -1)", "")
    assert described.diff == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -7,7 +7,6 @@\n 7\n 8\n 9\n-10\n 11\n 12\n 13\n"
        "@@ -18,3 +17,4 @@\n 18\n 19\n 20\n+21\n"
    )


async def test_change_of_line_ends_is_seen_in_the_diff(writing: Writing) -> None:
    (writing.workspace / "a.txt").write_bytes(b"one\r\n")
    diff = writing.describe("a.txt", "one\n").diff
    assert diff is not None
    assert diff.endswith("-one␍\n+one\n")


async def test_long_diff_is_cut_with_the_amount_and_the_content_is_whole(writing: Writing) -> None:
    (writing.workspace / "a.txt").write_text("old\n" * 3_000)
    content = "".join(f"{n}\n" for n in range(3_000))
    described = writing.describe("a.txt", content)
    assert described.title == "a.txt (+3000 -3000)"
    assert described.diff is not None
    assert described.diff.endswith("\n[4,005 more lines of the diff are not shown]\n")
    assert described.detail == content


async def test_file_that_changed_since_it_was_shown_is_left_alone(writing: Writing) -> None:
    path = writing.workspace / "a.txt"
    writing.describe("a.txt", "mine")
    path.write_text("somebody else's")
    assert "has changed since this call was shown" in (await writing.write("a.txt", "mine"))["error"]
    assert path.read_text() == "somebody else's"
    writing.describe("a.txt", "mine")
    assert (await writing.write("a.txt", "mine"))["status"] == "replaced"


async def test_small_changes_all_over_a_long_file_are_shown_as_such(writing: Writing) -> None:
    lines = [f"line {n}\n" for n in range(10_000)]
    (writing.workspace / "a.txt").write_text("".join(lines))
    for index in (0, 4_999, 9_999):
        lines[index] = "new\n"
    described = writing.describe("a.txt", "".join(lines))
    assert (described.title, described.detail) == ("a.txt (+3 -3)", "")
    assert described.diff is not None
    assert "-line 4999\n+new\n" in described.diff


async def test_two_calls_of_one_step_that_were_shown_together_both_run(writing: Writing) -> None:
    writing.describe("a.txt", "first")
    writing.describe("a.txt", "second")
    await writing.write("a.txt", "first")
    assert (await writing.write("a.txt", "second"))["status"] == "replaced"


async def test_path_that_leads_elsewhere_than_shown_is_refused(writing: Writing) -> None:
    (writing.workspace / "link").symlink_to("first")
    writing.describe("link", "x")
    (writing.workspace / "link").unlink()
    (writing.workspace / "link").symlink_to("second")
    assert "leads to" in (await writing.write("link", "x"))["error"]
    assert os.listdir(writing.workspace) == ["link"]


def test_folder_that_became_a_link_after_the_check_is_not_followed(writing: Writing, tmp_path: Path) -> None:
    """H-126"""
    (writing.workspace / "sub").mkdir()
    state = read_state(writing.workspace / "sub" / "a.txt", "sub/a.txt")
    (writing.workspace / "sub").rmdir()
    (writing.workspace / "sub").symlink_to(tmp_path / "proj-evil")
    with pytest.raises(FileRefused):
        write_atomically(state, b"x", writing.workspace)
    assert os.listdir(tmp_path / "proj-evil") == []


def test_file_that_changes_while_it_is_written_is_left_alone(writing: Writing) -> None:
    path = writing.workspace / "a.txt"
    for before in (None, "old"):
        if before:
            path.write_text(before)
        state = read_state(path, "a.txt")
        path.write_text("somebody else's")
        with pytest.raises(FileRefused, match="changed while"):
            write_atomically(state, b"mine", writing.workspace)
        assert path.read_text() == "somebody else's"
        assert os.listdir(writing.workspace) == ["a.txt"]


async def test_cancelled_call_has_written_the_whole_file_or_nothing(writing: Writing) -> None:
    path = writing.workspace / "a.txt"
    path.write_text("old")
    call = asyncio.ensure_future(writing.write("a.txt", "new" * 1_000_000))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert path.read_text() in {"old", "new" * 1_000_000}
    assert os.listdir(writing.workspace) == ["a.txt"]


LINES = st.lists(st.sampled_from(["", "a", "b", "c", "- d", "@@ e", "\\ f"]), max_size=30).map("\n".join)


@given(old=LINES, new=LINES, window=st.sampled_from([1, 4, 1_000]), limit=st.sampled_from([4, 2_000]))
def test_diff_leads_from_old_to_new(old: str, new: str, window: int, limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # Small bounds stand for large texts; a diff that is cut cannot be applied.
        patch.setattr(diffs, "_WINDOW_LINES", window)
        patch.setattr(diffs, "SHOWN_LINES", limit)
        diff = diffs.diff_of(old, new, "a.txt")
    assume(len(diff.lines) == diff.total_lines)
    assert _applied(old, diff.lines[2:]) == new
    assert new == old or diff.added + diff.removed > 0


def _applied(old: str, diff: list[str]) -> str:
    """`old` with the hunks of `diff`: an independent, strict reading of the format."""
    lines, result, position = old.splitlines(keepends=True), [], 0
    for index, line in enumerate(diff):
        is_last = diff[index + 1 : index + 2] == ["\\ No newline at end of file"]
        text = line[1:] + "\n" * (not is_last)
        if line.startswith("@@ "):
            first, *length = line.split()[1][1:].split(",")
            start = int(first) - (length != ["0"])
            result += lines[position:start]
            position = start
        elif line[0] in "- ":
            assert lines[position] == text
            position += 1
            result += [text] * (line[0] == " ")
        elif line[0] == "+":
            result.append(text)
    return "".join(result + lines[position:])


NAMES = st.sampled_from(
    [".", "..", "", "a", "sub", "in", "out", "proj", "proj-evil", "~", "$HOME", "loop", "deep/..", "/", "a\0", "x y"]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(NAMES, min_size=1, max_size=6), is_absolute=st.booleans())
async def test_no_path_around_the_workspace_escapes(
    writing: Writing, tmp_path: Path, parts: list[str], is_absolute: bool
) -> None:
    """H-126: what is written lies where the system's own `realpath` says, and nothing else appears outside."""
    workspace = writing.workspace
    for name, target in (("out", tmp_path / "proj-evil"), ("in", workspace / "sub"), ("loop", workspace / "loop")):
        if not (workspace / name).is_symlink():
            (workspace / name).symlink_to(target)
    (workspace / "sub").mkdir(exist_ok=True)
    text = "/".join(parts)
    text = f"{tmp_path}/{text}" if is_absolute else text
    result = await writing.write(text, "x")
    if "error" not in result:
        real = os.path.realpath(workspace / text)
        assert result["path"] == real
        assert real.startswith(f"{os.path.realpath(workspace)}/")
    assert sorted(os.listdir(tmp_path)) == ["proj", "proj-evil"]
    assert os.listdir(tmp_path / "proj-evil") == []
