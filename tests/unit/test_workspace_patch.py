"""The tool `patch`: one piece of text replaced, everything else byte for byte as it was."""

from __future__ import annotations

import codecs
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cos.agent.identity import TurnInfo
from cos.agent.tools import CallDescription, ToolError, ToolOk
from cos.plugins.workspace.encodings import as_latin1, decoded
from cos.plugins.workspace.file_state import COMPARED_BYTES, DescribedStates
from cos.plugins.workspace.folders import SessionFolders
from cos.plugins.workspace.patch import FilePatcher
from cos.plugins.workspace.replacing import MAX_PLACES, Replacement
from tests.tool_context import RecordingContext, new_turn


class Patching:
    """One session that edits the file `a.txt`."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.file = workspace / "a.txt"
        self.turn: TurnInfo = new_turn()
        self.patcher = FilePatcher(SessionFolders(), DescribedStates())

    async def patch(self, old: str, new: str, *, path: str = "a.txt", **more: Any) -> dict[str, Any]:
        args = {"path": path, "old_string": old, "new_string": new, **more}
        outcome = await self.patcher.run(args, self.turn, RecordingContext(self.workspace))
        data: dict[str, Any] = json.loads(outcome.content)
        assert isinstance(outcome, ToolOk if data["success"] else ToolError)
        assert ("error" in data) is not data["success"]
        return data

    def describe(self, old: str, new: str, *, path: str = "a.txt") -> CallDescription:
        args = {"path": path, "old_string": old, "new_string": new}
        return self.patcher.describe(args, self.turn, self.workspace)


@pytest.fixture
def patching(tmp_path: Path) -> Patching:
    (tmp_path / "proj").mkdir()
    return Patching(tmp_path / "proj")


async def test_one_place_is_replaced_and_the_diff_returned(patching: Patching) -> None:
    patching.file.write_text("one\ntwo\nthree\n")
    patching.file.chmod(0o640)
    assert await patching.patch("two", "2") == {
        "success": True, "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        "files_modified": [str(patching.file)], "replacements": 1,
    }  # fmt: skip
    assert patching.file.read_text() == "one\n2\nthree\n"
    assert stat.S_IMODE(patching.file.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\r\ntwo\r\nthree\r\n", "one\ntwo", "one\n2", b"one\r\n2\r\nthree\r\n"),
        (b"one\r\ntwo\r\nthree\r\n", "two\n", "2\n2.5\n", b"one\r\n2\r\n2.5\r\nthree\r\n"),
        (b"one\r\ntwo\nthree\r\nfour\r\n", "one\ntwo\nthree", "one\n2\n3\nnew", b"one\r\n2\n3\r\nnew\r\nfour\r\n"),
        (b"one\ntwo\r\nthree\nfour\n", "one\ntwo\nthree", "one\nnew\ntwo\nthree", b"one\nnew\ntwo\r\nthree\nfour\n"),
        (b"one\r\ntwo\nthree\n", "one", "one\nnew", b"one\r\nnew\r\ntwo\nthree\n"),
        (b"one\r\ntwo", "two", "two\nthree", b"one\r\ntwo\r\nthree"),
        (b"one\ntwo", "two", "2", b"one\n2"),
        (b"one\ntwo\n", "two\n", "two", b"one\ntwo"),
        (b"50%\r100%\ndone\r\nx\n", "done\nx", "DONE\nx", b"50%\r100%\nDONE\r\nx\n"),
        (b"50%\r100%\n", "50%\r100%", "all\nok", b"all\nok\n"),
        (b"one\rtwo\rthree", "one\ntwo", "1\n2\nnew", b"1\r2\rnew\rthree"),
        (b"one\r\ntwo\r\n", "one\r\n", "one\n", b"one\ntwo\r\n"),
        (b"one\r\ntwo\r\n", "\ntwo", "", b"one\r\n"),
    ],
)
async def test_line_ends_are_kept(patching: Patching, before: bytes, old: str, new: str, after: bytes) -> None:
    """H-124"""
    patching.file.write_bytes(before)
    assert (await patching.patch(old, new))["success"]
    assert patching.file.read_bytes() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (codecs.BOM_UTF8 + b"\xc3\xa9\r\nb", codecs.BOM_UTF8 + b"\xe2\x82\xac\r\nb"),
        (codecs.BOM_UTF16_LE + "é\r\nb".encode("utf-16-le"), codecs.BOM_UTF16_LE + "€\r\nb".encode("utf-16-le")),
        (codecs.BOM_UTF16_BE + "é\r\nb".encode("utf-16-be"), codecs.BOM_UTF16_BE + "€\r\nb".encode("utf-16-be")),
        (codecs.BOM_UTF32_LE + "é\nb".encode("utf-32-le"), codecs.BOM_UTF32_LE + "€\nb".encode("utf-32-le")),
        (b"\xc3\xa9\nlatin \xe9\xff\n", b"\xe2\x82\xac\nlatin \xe9\xff\n"),
    ],
)
async def test_encoding_is_kept(patching: Patching, before: bytes, after: bytes) -> None:
    """H-124"""
    patching.file.write_bytes(before)
    assert (await patching.patch("é", "€"))["success"]
    assert patching.file.read_bytes() == after


async def test_latin1_line_is_edited_as_it_is_shown(patching: Patching) -> None:
    patching.file.write_bytes(b"caf\xe9\nna\xefve\n")
    assert (await patching.patch("café", "thé"))["success"]
    assert patching.file.read_bytes() == b"th\xe9\nna\xefve\n"
    assert "has no character '€' (U+20AC)" in (await patching.patch("thé", "5 €"))["error"]
    assert patching.file.read_bytes() == b"th\xe9\nna\xefve\n"


async def test_no_match_names_the_nearest_lines(patching: Patching) -> None:
    patching.file.write_text("def loads(x):\n    return 1\n\ndef dumps(x):\n")
    result = await patching.patch("  return 1\n  pass", "x")
    assert "does not occur in 'a.txt'" in result["error"]
    assert result["similar_lines"] == ["2|    return 1"]
    assert (await patching.patch("def load(x):", "x"))["similar_lines"] == ["1|def loads(x):", "4|def dumps(x):"]
    assert "similar_lines" not in await patching.patch("§§§", "x")


async def test_no_match_in_a_big_file_is_found_out_in_bounded_time(patching: Patching) -> None:
    patching.file.write_text("".join(f"value_{n} = {n * 7919}\n" for n in range(300_000)))
    assert (await patching.patch("value_299999 =  1", "x"))["success"] is False


async def test_several_matches_need_more_context_or_replace_all(patching: Patching) -> None:
    patching.file.write_text("x\na\r\nx\nx\n")
    result = await patching.patch("x", "y")
    assert "occurs 3 times in 'a.txt' (lines 1, 3, 4)" in result["error"]
    assert (result["occurrences"], result["lines"]) == (3, [1, 3, 4])
    assert (await patching.patch("x", "y", replace_all=True))["replacements"] == 3
    assert patching.file.read_bytes() == b"y\na\r\ny\ny\n"


async def test_pointless_or_impossible_strings_are_refused(patching: Patching) -> None:
    patching.file.write_text("x\n")
    assert "`old_string` is empty" in (await patching.patch("", "y"))["error"]
    assert "are the same" in (await patching.patch("x", "x"))["error"]
    assert "`new_string` holds a NUL" in (await patching.patch("x", "y\0"))["error"]
    assert patching.file.read_text() == "x\n"
    patching.file.write_bytes(b"x\r\ny\r\n")
    assert "would not change" in (await patching.patch("x\ny", "x\r\ny"))["error"]
    patching.file.write_text("x" * (MAX_PLACES + 1))
    assert "more than 100,000 times" in (await patching.patch("x", "y", replace_all=True))["error"]


async def test_missing_binary_and_large_files_are_refused(patching: Patching) -> None:
    """H-121"""
    patching.file.write_bytes(b"\x89PNG\r\n\x1a\nIHDR")
    assert "PNG image" in (await patching.patch("IHDR", "y"))["error"]
    missed = await patching.patch("x", "y", path="b.txt")
    assert missed["similar_files"] == [str(patching.file)]
    patching.file.write_bytes(b"x\n" * (COMPARED_BYTES // 2 + 1))
    assert "larger than 5,000,000 bytes" in (await patching.patch("x", "y"))["error"]


@pytest.mark.parametrize("path", ["../../x", "/etc/hosts", "~/x", "$HOME/x", "a/../../x", "", "a\0b", "a\nb", "out"])
async def test_path_outside_is_refused(patching: Patching, path: str, tmp_path: Path) -> None:
    """H-126"""
    (tmp_path / "secret").write_text("x")
    (patching.workspace / "out").symlink_to(tmp_path / "secret")
    assert (await patching.patch("x", "y", path=path)).keys() == {"success", "error"}
    assert (tmp_path / "secret").read_text() == "x"


async def test_description_shows_the_diff_and_changes_nothing(patching: Patching) -> None:
    patching.file.write_bytes(b"one\r\ntwo\r\n")
    described = patching.describe("one\ntwo", "one\n2\n3")
    assert (described.title, described.kind, described.locations) == ("a.txt (+2 -1)", "edit", ("a.txt",))
    assert described.diff == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n"
    assert patching.file.read_bytes() == b"one\r\ntwo\r\n"
    assert "`old_string` does not occur" in (patching.describe("four", "4").refusal or "")


async def test_file_that_changed_since_it_was_shown_is_left_alone(patching: Patching) -> None:
    patching.file.write_text("one\ntwo\n")
    patching.describe("two", "2")
    patching.file.write_text("ONE\ntwo\n")
    assert "has changed since this call was shown" in (await patching.patch("two", "2"))["error"]
    assert patching.file.read_text() == "ONE\ntwo\n"


async def test_two_edits_of_one_step_that_were_shown_together_both_run(patching: Patching) -> None:
    patching.file.write_text("one\ntwo\n")
    patching.describe("one", "1")
    patching.describe("two", "2")
    assert (await patching.patch("one", "1"))["success"]
    assert (await patching.patch("two", "2"))["success"]
    assert patching.file.read_text() == "1\n2\n"


PIECES = st.lists(
    st.sampled_from(["a", "b", "é", "😀", "\n", "\r\n", "\r", " ", "\u2028", "\x0c"]), max_size=12
).map("".join)  # fmt: skip
CODECS = st.sampled_from(
    [
        (b"", "utf-8"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF32_LE, "utf-32-le"),
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(head=PIECES, tail=PIECES, new=PIECES, codec=CODECS)
async def test_bytes_outside_of_the_replaced_part_are_untouched(
    patching: Patching, head: str, tail: str, new: str, codec: tuple[bytes, str]
) -> None:
    """H-124"""
    mark, encoding = codec
    before, after = mark + head.encode(encoding), tail.encode(encoding)
    patching.file.write_bytes(before + "<one>\n<two>".encode(encoding) + after)
    result = await patching.patch("<one>\n<two>", new)
    written = patching.file.read_bytes()
    assert result["success"]
    assert written.startswith(before)
    assert written.endswith(after)
    middle = written[len(before) : len(written) - len(after)].decode(encoding)
    assert middle.replace("\r\n", "\n").replace("\r", "") == new.replace("\r\n", "\n").replace("\r", "")


@given(
    data=st.binary(max_size=40), mark=st.sampled_from([b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
)
def test_any_bytes_survive_decoding(data: bytes, mark: bytes) -> None:
    assume(not (mark + data).startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)))
    text = decoded(mark + data)
    assert text.to_bytes(text.text) == mark + data
    latin1 = as_latin1(mark + data)
    assert latin1 is None or latin1.to_bytes(latin1.text) == mark + data


LINES = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=6)
ENDS = st.lists(st.sampled_from(["\n", "\r\n"]), min_size=14, max_size=14)


@given(lines=LINES, ends=ENDS, index=st.integers(0, 5))
def test_a_changed_line_leaves_every_line_end_where_it_was(lines: list[str], ends: list[str], index: int) -> None:
    """H-124"""
    index %= len(lines)
    text = "".join(line + end for line, end in zip(["<", *lines, ">"], ends, strict=False))
    changed = [*lines[:index], "new", *lines[index + 1 :]]
    edit = Replacement(text, "<\n" + "\n".join(lines) + "\n>", "<\n" + "\n".join(changed) + "\n>")
    expected = "".join(line + end for line, end in zip(["<", *changed, ">"], ends, strict=False))
    assert edit.applied(edit.places()) == expected
