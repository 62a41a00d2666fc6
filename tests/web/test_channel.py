"""The sequence of one session: what is held for those who come back, and how text is put together."""

from uuid import UUID

from cos.web.channel import HELD_BYTES, HELD_FRAMES, MOST_OUTPUT, Channel
from cos.web.counts import Counts
from cos.web.frames import Notice


def channel(seq: int = 0) -> Channel:
    return Channel(UUID(int=2), UUID(int=1), seq, Counts())


def told(text: str = "") -> Notice:
    return Notice(action="session.notice", payload={"text": text})


def seqs(made: Channel, after: int) -> list[int | None] | None:
    frames = made.frames_after(after)
    return None if frames is None else [frame.seq for frame in frames]


def test_frames_after_a_seq_are_sent_again_while_they_are_held() -> None:
    made = channel()
    for _ in range(3):
        made.tell(told())
    assert seqs(made, 1) == [2, 3]
    assert seqs(made, 3) == []
    assert seqs(made, 0) == [1, 2, 3]


def test_a_seq_of_another_time_is_not_answered_from_what_is_held() -> None:
    made = channel(seq=100)
    made.tell(told())
    assert seqs(made, 99) is None, "a channel before this one may have said more"
    assert seqs(made, 100) == [101]
    assert seqs(made, 102) is None


def test_only_so_many_frames_are_held() -> None:
    made = channel()
    for _ in range(HELD_FRAMES + 5):
        made.tell(told())
    assert seqs(made, 4) is None
    assert len(seqs(made, 5) or []) == HELD_FRAMES


def test_only_so_many_bytes_are_held() -> None:
    made = channel()
    for _ in range(20):
        made.tell(told("x" * (HELD_BYTES // 10)))
    held = [frame for frame in range(20) if seqs(made, frame) is not None]
    assert held == list(range(held[0], 20)) and 10 < held[0] < 20
    made.tell(told("x" * (HELD_BYTES + 1)))
    assert seqs(made, 20) is None and seqs(made, 21) == []


def test_text_is_put_together_until_it_is_flushed_and_comes_before_what_follows_it() -> None:
    made = channel()
    for piece in ("a", "b", "c"):
        made.grow("session.message.delta", "m", {"message_id": "m"}, piece)
    made.tell(told())
    frames = made.frames_after(0) or []
    assert [frame.notice.action for frame in frames] == ["session.message.delta", "session.notice"]
    assert frames[0].notice.payload["text"] == "abc"


def test_of_a_flood_of_output_the_newest_is_told_and_how_much_was_left_out() -> None:
    made = channel()
    for number in range(2_000):
        made.grow("session.tool.output", "c", {"call_id": "c"}, f"{number:06}" * 100)
    made.flush()
    payload = (made.frames_after(0) or [])[0].notice.payload
    assert len(payload["text"]) == MOST_OUTPUT
    assert payload["text"].endswith("001999" * 3)
    assert payload["omitted"] == 2_000 * 600 - MOST_OUTPUT
