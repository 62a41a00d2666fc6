"""What is typed into a search, as the database is asked for it; and the piece of a text that shows a hit."""

from __future__ import annotations

import pytest

from cos.agent.text import clusters
from cos.core.search_query import MOST_TERMS, parse_search, words_of
from cos.core.snippets import Snippet, snippet_of


@pytest.mark.parametrize(
    ("typed", "whole", "words"),
    [
        ("one two", "('one' & 'two')", "('one' & 'two')"),
        ("one AND two", "('one' & 'two')", "('one' & 'two')"),
        ("one OR two three", "('one') | ('two' & 'three')", "('one') | ('two' & 'three')"),
        ('"exact phrase" -not', "('exact phrase' & !'not')", "('exact' & 'phrase')"),
        ("one NOT two", "('one' & !'two')", "('one')"),
        ("a OR NOT b", "('a') | ('b')", "('a') | ('b')"),
        ("test-run", "('test run')", "('test' & 'run')"),
        ("dep* *", "('dep':*)", "('dep':*)"),
        ("部署 OR test-run", "('部 署') | ('test run')", "('部' & '署') | ('test' & 'run')"),
        ("deploy部署", "('deploy 部 署')", "('deploy' & '部' & '署')"),
        ("AND AND", "('AND' & 'AND')", "('AND' & 'AND')"),
        ("OR", "('OR')", "('OR')"),
        ("one OR", "('one' & 'OR')", "('one' & 'OR')"),
        ("NOT", "('NOT')", "('NOT')"),
        ("-only", "('only')", "('only')"),
        ('"unclosed', "('unclosed')", "('unclosed')"),
        ("a & | b", "('a' & 'b')", "('a' & 'b')"),
        ("it's --flag x->y \\ ' ''", "('it s' & 'flag' & 'x y')", "('it' & 's' & 'flag' & 'x' & 'y')"),
        ("() !!! &|:* \x00", "", ""),
        ("🎉 -foo", "", ""),
        ("🎉 -foo OR bar -x", "('bar' & !'x')", "('bar')"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_operators_are_operators_only_where_they_can_be_H_056(typed: str, whole: str, words: str) -> None:
    query = parse_search(typed)
    assert (query.whole, query.words) == (whole, words)


def test_a_query_of_10_kB_is_bounded_and_says_what_it_left_out_H_056() -> None:
    query = parse_search(" ".join(f"w{number}" for number in range(3_000)))
    assert len(query.alternatives[0]) == MOST_TERMS
    assert query.left_out > 0
    assert parse_search("x" * 10_000).is_empty


def test_parts_of_words_are_looked_for_only_where_words_do_not_say_it_all() -> None:
    assert parse_search("ploy scripts").parts == ["scripts", "ploy"]
    assert parse_search("🎉").parts == ["🎉"]
    assert (parse_search("🎉 -foo").parts, parse_search('🎉 -foo -"b c"').unwanted) == (["🎉"], "'foo' | 'b c'")
    for typed in ('"ploy"', "ploy*", "ploy -x", "ploy OR x", "部署", "ab"):
        assert parse_search(typed).parts == [], typed


def test_what_stands_beside_beginnings_of_words_can_lead_to_them() -> None:
    for typed, words in {"one two*": "('one')", "one* OR two": "", "a OR one two*": "('a') | ('one')"}.items():
        assert (parse_search(typed).has_prefix, parse_search(typed).words_but_beginnings) == (True, words)
    assert not parse_search("one -two*").has_prefix


def test_words_are_told_apart_as_the_database_does() -> None:
    assert words_of("src/loader_part.py <b>x@y.z</b> 스크립트를") == (
        "src", "loader", "part", "py", "b", "x", "y", "z", "b", "스", "크", "립", "트", "를",
    )  # fmt: skip


def cut(text: str, typed: str, length: int = 40) -> Snippet:
    return snippet_of(text, parse_search(typed).marks, length)


def test_a_snippet_shows_and_marks_what_was_looked_for() -> None:
    assert cut("Deploy\n  it now, then deploy again", "deploy now").marked == (
        ">>>Deploy<<< it >>>now<<<, then >>>deploy<<< again"
    )
    assert cut("the test run of a Test-Run", '"test run"').marked == "the >>>test run<<< of a >>>Test-Run<<<"
    assert cut("昨天的部署脚本报错问题", "部署脚本").marked == "昨天的>>>部署脚本<<<报错问题"
    assert cut("redeployed", "deploy").marked == "re>>>deploy<<<ed"
    assert cut("aa deploy a", "a deploy").marked == "aa >>>deploy<<< >>>a<<<"


def test_a_snippet_of_a_long_text_is_where_most_words_are() -> None:
    text = "one " + "x " * 300 + "one two " + "y " * 300
    shown = cut(text, "one two", 120)
    assert ">>>one<<< >>>two<<<" in shown.marked
    assert shown.text.startswith("…") and shown.text.endswith("…") and len(shown.text) <= 122
    assert cut("x " * 300, "nothing", 10).text == "x x x x x …"


def test_a_snippet_is_never_cut_within_a_visible_character_H_055() -> None:
    family, text = "👨\u200d👩\u200d👧", "é" + "👨\u200d👩\u200d👧" * 200
    for length in range(20, 40):
        shown = cut(f"{text} deploy {text}", "deploy", length).text.strip("…")
        assert set(clusters(shown)) <= {family, "é", " ", *"deploy"}, length
