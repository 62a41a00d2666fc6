"""The inside-the-workspace check, H-126."""

from __future__ import annotations

from pathlib import Path

import pytest

from cos.plugins.workspace.paths import PathRefused, is_inside, resolve


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "proj-evil").mkdir()
    (folder / "out").symlink_to(tmp_path / "proj-evil")
    (folder / "in").symlink_to(folder / "sub")
    (folder / "loop").symlink_to(folder / "loop")
    return folder


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", "x"),
        ("./", "."),
        ("sub/../x", "x"),
        ("in/x", "sub/x"),
        ("sub//x", "sub/x"),
        ("a$HOME", "a$HOME"),
        ("~x/../sub", None),
        ("..x", "..x"),
    ],
)
def test_inside_path_becomes_a_real_path(workspace: Path, text: str, expected: str | None) -> None:
    if expected is None:
        (workspace / "~x").mkdir()  # a name that really is there is plain text
        expected = "sub"
    assert resolve(text, workspace=workspace, folder=workspace) == workspace / expected


@pytest.mark.parametrize("text", ["a" * 300, "漢" * 100, "a" * 300 + "/b", "/".join(["sub"] * 2_000)])
def test_name_that_no_file_system_takes_is_refused(workspace: Path, text: str) -> None:
    with pytest.raises(PathRefused, match="longer than a name or a path may be"):
        resolve(text, workspace=workspace, folder=workspace)


def test_relative_path_starts_at_the_folder(workspace: Path) -> None:
    assert resolve("../x", workspace=workspace, folder=workspace / "sub") == workspace / "x"


def test_absolute_path_inside_is_fine_also_through_a_link_to_the_workspace(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(workspace)
    assert resolve(str(tmp_path / "link" / "x"), workspace=tmp_path / "link", folder=workspace) == workspace / "x"


@pytest.mark.parametrize(
    "text", ["../../x", "..", "/etc/hosts", "a/../../x", "../proj-evil/x", "out/x", "out", "sub/../../proj-evil", "/"]
)
def test_outside_path_is_refused_and_the_workspace_named(workspace: Path, text: str) -> None:
    with pytest.raises(PathRefused, match="outside the workspace") as caught:
        resolve(text, workspace=workspace, folder=workspace)
    assert f"the workspace is {workspace}: give a path inside it" in str(caught.value)


def test_sibling_with_the_same_beginning_is_outside(workspace: Path) -> None:
    assert not is_inside(Path(f"{workspace}-evil/x"), workspace)
    assert is_inside(workspace, workspace)


@pytest.mark.parametrize("text", ["~/x", "~", "~root/x", "$HOME/x", "${HOME}/x"])
def test_nothing_is_expanded(workspace: Path, text: str) -> None:
    with pytest.raises(PathRefused, match="is not expanded here"):
        resolve(text, workspace=workspace, folder=workspace)


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "is empty"), (" ", "is empty"), ("a\0b", "NUL"), ("a\nb", "line break"), ("a\ud800", "not valid text")],
)
def test_impossible_path_is_refused_with_a_sentence(workspace: Path, text: str, says: str) -> None:
    with pytest.raises(PathRefused, match=says) as caught:
        resolve(text, workspace=workspace, folder=workspace)
    assert str(caught.value).isprintable()


def test_long_path_does_not_flood_the_message(workspace: Path) -> None:
    with pytest.raises(PathRefused) as caught:
        resolve("../" + "x" * 100_000, workspace=workspace, folder=workspace)
    assert len(str(caught.value)) < 1_000
