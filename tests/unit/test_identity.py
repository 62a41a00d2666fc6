"""Ids, tags, titles and turn identities, by the examples of the seed documents."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from cos.agent.errors import TagError
from cos.agent.identity import TurnInfo
from cos.agent.ids import new_id
from cos.agent.tags import Tag, merge_tags
from cos.agent.text import clusters, storable, title_of, visible

FAMILY = "👩‍👩‍👧‍👦"


@pytest.mark.parametrize("text", ["area:household", "client:acme", "project:Site-v2.1"])
def test_valid_tags_keep_their_text(text: str) -> None:
    tag = Tag(text)
    assert (tag, f"{tag.key}:{tag.value}") == (text, text)
    assert pickle.loads(pickle.dumps(tag)) == tag


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Area:x", "lower-case letters"),
        ("area:has space", "must not contain spaces"),
        ("a:b:c", "exactly one colon, not 2"),
        ("area", "exactly one colon, not 0"),
        (":x", "the key is empty"),
        ("area:", "the value is empty"),
        ("area:ü", "the value takes only"),
        ("area:x\n", "must not contain spaces"),
    ],
)
def test_a_bad_tag_is_refused_with_its_text_and_the_rule(text: str, rule: str) -> None:
    with pytest.raises(TagError) as raised:
        Tag(text)
    assert repr(text) in str(raised.value)
    assert rule in str(raised.value)


def test_turn_tags_are_the_union_sorted_without_duplicates() -> None:
    merged = merge_tags(["area:work", "team:core"], ["project:site", "area:work"])
    assert merged == ("area:work", "project:site", "team:core")
    with pytest.raises(TagError, match="Area:x"):
        merge_tags(["area:work"], ["Area:x"])


def test_a_child_turn_keeps_profile_and_tags_and_goes_one_deeper() -> None:
    parent = TurnInfo(profile_id="home", session_id=new_id(), turn_id=new_id(), tags=merge_tags(["client:acme"]))
    session = new_id()
    child = parent.child(session)
    assert (child.profile_id, child.tags, child.session_id) == ("home", parent.tags, session)
    assert (child.parent_turn_id, child.depth) == (parent.turn_id, 1)
    assert child.turn_id not in {parent.turn_id, session}
    assert child.child(new_id()).depth == 2


def test_ids_sort_by_creation_within_a_millisecond() -> None:
    ids = [new_id() for _ in range(20_000)]
    assert ids == sorted(ids)
    assert {id_.version for id_ in ids} == {7}


def test_ids_of_several_threads_are_distinct_and_in_order_for_each() -> None:
    with ThreadPoolExecutor(4) as pool:
        batches = list(pool.map(lambda _: [new_id() for _ in range(5_000)], range(4)))
    assert all(batch == sorted(batch) for batch in batches)
    assert len({id_ for batch in batches for id_ in batch}) == 20_000


def test_a_title_is_the_first_60_characters() -> None:
    assert title_of("x" * 61) == "x" * 60
    assert title_of("x" * 60) == "x" * 60


def test_a_title_is_cut_between_whole_visible_characters() -> None:
    """H-053."""
    text = "漢" * 44 + FAMILY + " fix"
    assert title_of(text) == text
    assert title_of("漢" * 59 + FAMILY + " fix") == "漢" * 59 + FAMILY
    assert title_of("e\u0301" * 70) == "e\u0301" * 60


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\n\n  line one\nline two", "line one line two"),
        ("🔑", "🔑"),
        ("w" * 5_000, "w" * 60),
        ("", None),
        (" \n\t ", None),
        ("\u200b\u202e\u200d", None),
        ("\x1b[31mred\x1b[0m \x07bell", "red bell"),
        ("nul\x00 gone", "nul gone"),
        ("half \ud83d emoji", "half \ufffd emoji"),
    ],
)
def test_a_title_is_one_line_without_control_characters(text: str, title: str | None) -> None:
    """H-053."""
    assert title_of(text) == title


def test_flags_skin_tones_and_variations_are_one_character_each() -> None:
    assert clusters("🇩🇪🇫🇷") == ["🇩🇪", "🇫🇷"]
    assert clusters("👍🏽a❤️") == ["👍🏽", "a", "❤️"]


def test_only_what_no_database_accepts_is_replaced() -> None:
    assert storable("a\x00b\ud800c") == "a\ufffdb\ufffdc"
    text = "keep \\u0000 and 🔑 \x1b as typed"
    assert storable(text) == text


def test_nothing_invisible_reaches_a_terminal() -> None:
    assert visible("plain") == "plain"
    assert visible("a\x1b[2Jb\x7f\u202ec\x9bd") == "a␛[2Jb␡⟨U+202E⟩c⟨U+009B⟩d"
    assert visible("\x1b[1;31mred\x1b[0m\r\nnext\ttab") == "red\nnext\ttab"
