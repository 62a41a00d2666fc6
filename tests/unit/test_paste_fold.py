"""Marks for pastes and images: what they say, what is sent, what a draft keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from cos.agent.image_types import MOST_BYTES
from cos.core.attachments import Attachment, AttachmentError, image_at
from cos.tui.dropped_paths import image_paths
from cos.tui.paste_fold import CLOSE, OPEN, Folds, clean, is_long

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


@pytest.mark.parametrize(
    ("text", "folded"), [("x" * 2_000, False), ("x" * 2_001, True), ("x\n" * 15, False), ("x\n" * 15 + "x", True)]
)
def test_what_is_long(text: str, folded: bool) -> None:
    assert is_long(text) is folded


def test_a_mark_says_how_much_is_behind_it_and_is_sent_in_full() -> None:
    folds = Folds()
    first, second = folds.paste("line\n" * 1_300), folds.paste("x" * 3_000)
    assert first == f"{OPEN}paste 1: 6,500 characters, 1,300 lines{CLOSE}"
    assert second == f"{OPEN}paste 2: 3,000 characters, 1 line{CLOSE}"
    assert folds.opened(f"a {second} b") == f"a {'x' * 3_000} b"


def test_what_looks_like_a_mark_is_none() -> None:
    folds = Folds()
    mark = folds.paste("secret")
    typed = mark.replace(OPEN, "[").replace(CLOSE, "]")
    assert folds.opened(typed) == typed and folds.spans(typed) == []
    assert OPEN not in clean(mark)


def test_a_draft_comes_back_with_its_marks(tmp_path: Path) -> None:
    folds = Folds()
    image = Attachment(path=tmp_path / "shot.png", media_type="image/png", size=28)
    text = f"see {folds.image(image)} and {folds.paste('long' * 999)}."
    again = Folds()
    back = again.unpacked(folds.packed(text))
    assert back == text and again.opened(back) == folds.opened(text) == f"see [image 1: shot.png] and {'long' * 999}."
    assert [fold.attachment for fold in again.inside(back)] == [image, None]


def test_a_draft_of_plain_text_is_that_text() -> None:
    assert Folds().packed("plain\n[paste 1: 2 characters, 1 line]") == "plain\n[paste 1: 2 characters, 1 line]"


def test_a_torn_draft_is_still_text() -> None:
    assert Folds().unpacked(f"a{OPEN}i{{torn{CLOSE}b{OPEN}") == "ai{tornb\ufffd"


def test_images_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    kinds = {
        "image/png": PNG, "image/jpeg": b"\xff\xd8\xff\xe0", "image/gif": b"GIF89a",
        "image/webp": b"RIFF0000WEBPVP8 ",
    }  # fmt: skip
    for media_type, head in kinds.items():
        (tmp_path / "any.png").write_bytes(head)
        found = image_at(tmp_path / "any.png")
        assert found is not None and (found.media_type, found.size) == (media_type, len(head))
    (tmp_path / "not.png").write_text("<svg/>")
    assert image_at(tmp_path / "not.png") is None and image_at(tmp_path / "gone.png") is None


def test_an_image_that_is_too_large_is_refused_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "big.png").write_bytes(PNG + b"0" * MOST_BYTES)
    with pytest.raises(AttachmentError, match=r"'big.png' has 5.0 MB, and an image may have 5 MB"):
        image_at(tmp_path / "big.png")


@pytest.mark.parametrize(
    ("pasted", "paths"),
    [
        ("/tmp/shot.png", ["/tmp/shot.png"]),
        ("'/tmp/my shot.PNG' ", ["/tmp/my shot.PNG"]),
        (r"/tmp/my\ shot.png", ["/tmp/my shot.png"]),
        ("/tmp/my shot.png\n", ["/tmp/my shot.png"]),
        ("file:///tmp/my%20shot.webp\r\n", ["/tmp/my shot.webp"]),
        ("'/a.png' '/b.jpeg'", ["/a.png", "/b.jpeg"]),
        ("/a.png /b.gif", ["/a.png", "/b.gif"]),
        ("file:///a.png\nfile:///b.png", ["/a.png", "/b.png"]),
        ("file://elsewhere/a.png", []),
        ("look at /tmp/shot.png", []),
        ("/tmp/notes.txt", []),
        ("shot.png", []),
        ("'/tmp/unended.png", []),
        ("", []),
    ],
)
def test_dropped_paths_as_terminals_write_them(pasted: str, paths: list[str]) -> None:
    assert image_paths(pasted) == [Path(path) for path in paths]
