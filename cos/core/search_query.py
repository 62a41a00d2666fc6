"""What a person or a model types to find messages, as what the database is asked for. No text is an error.

Words all have to be there; `OR` between them means either side, `"a phrase"` the words in this order, `-word` or
`NOT word` that it is not there, `word*` words that begin so. An operator without what it needs is a word like others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cos.agent.text import storable

LONGEST: Final = 2_000
"""Characters that are looked at."""
MOST_TERMS: Final = 24
"""Terms that are looked for. What was typed behind them is left out."""
SEPARATOR: Final = "\x1f"
"""Between the texts of one alternative of `SearchQuery.titles`."""

_PIECES = re.compile(r'-?"[^"]*"|\S+')
_GLUE = re.compile(r"[!-/:-@\[-`{-~]+")
_ALONE = "\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\ua960-\ud7af\uf900-\ufaff"
"""Characters of scripts without spaces, as `searched_text` in sql/core/schema.sql has them."""
_EACH_ALONE = re.compile(f"([{_ALONE}])")
_OPERATORS: Final = frozenset({"OR", "AND", "NOT"})
_LONGEST_WORD: Final = 500
"""Characters. PostgreSQL refuses words of more than 2,046 bytes."""
_WILD = re.compile(r"([\\%_])")
_THREE_LETTERS = re.compile(rf"[^\W_{_ALONE}]{{3}}")


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    """Without quotes and operators."""
    words: tuple[str, ...]
    is_excluded: bool = False
    is_quoted: bool = False
    is_prefix: bool = False

    @property
    def tsquery(self) -> str:
        """The words in this order, whether they are wanted or not."""
        return f"'{' '.join(self.words)}'{':*' if self.is_prefix else ''}"

    @property
    def tsquery_of_words(self) -> str:
        return " & ".join(f"'{word}'{':*' if self.is_prefix else ''}" for word in self.words)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Alternatives of terms: one of them holds whole."""

    alternatives: tuple[tuple[_Term, ...], ...]
    left_out: int = 0
    """Terms behind the last one that is looked for."""

    @property
    def is_empty(self) -> bool:
        return not self.alternatives

    @property
    def has_prefix(self) -> bool:
        """Whether beginnings of words are looked for."""
        return any(term.is_prefix for terms in self.alternatives for term in _wanted(terms))

    @property
    def _worded(self) -> list[tuple[_Term, ...]]:
        """Alternatives with a word to look for; exclusions beside nothing but an emoji would hold nearly everywhere."""
        return [terms for terms in self.alternatives if any(term.words for term in _wanted(terms))]

    @property
    def whole(self) -> str:
        """In the language of `to_tsquery`; empty when no word is wanted."""
        return _either(
            " & ".join(f"{'!' if term.is_excluded else ''}{term.tsquery}" for term in terms if term.words)
            for terms in self._worded
        )

    @property
    def words(self) -> str:
        """The same without phrases and exclusions: what an index can answer alone, and never less than `whole`."""
        return _either(
            " & ".join(term.tsquery_of_words for term in _wanted(terms) if term.words) for terms in self.alternatives
        )

    @property
    def words_but_beginnings(self) -> str:
        """`words` without beginnings of words; empty when an alternative has nothing else."""
        wanted = [[term for term in _wanted(terms) if term.words and not term.is_prefix] for terms in self._worded]
        return _either(" & ".join(term.tsquery_of_words for term in terms) for terms in wanted) if all(wanted) else ""

    @property
    def titles(self) -> list[str]:
        """Patterns of ILIKE that every title with the words holds, one entry for each alternative with words."""
        return [
            SEPARATOR.join(pattern(word) for term in _wanted(terms) for word in term.words) for terms in self._worded
        ]

    @property
    def parts(self) -> list[str]:
        """Texts to look for within words, the longest first.

        None when the query says that it means whole words, or when there is nothing that the words do not find.
        """
        if len(self.alternatives) != 1:
            return []
        terms = _wanted(self.alternatives[0])
        plain = not any(term.is_quoted or term.is_prefix for term in terms)
        says_words = len(terms) < len(self.alternatives[0]) and self.words
        may_be_part = any(not term.words or has_trigram(term.text) for term in terms)
        is_looked_for = plain and may_be_part and not says_words
        return sorted((term.text for term in terms), key=len, reverse=True) if is_looked_for else []

    @property
    def unwanted(self) -> str:
        """What a message with the `parts` may not hold, in the language of `to_tsquery`; empty when that is nothing."""
        excluded = [term for terms in self.alternatives for term in terms if term.is_excluded and term.words]
        return " | ".join(term.tsquery for term in excluded)

    @property
    def marks(self) -> list[re.Pattern[str]]:
        """Where the terms are in a text, each term by one pattern."""
        return [_mark(term) for term in dict.fromkeys(term for terms in self.alternatives for term in _wanted(terms))]


def parse_search(text: str) -> SearchQuery:
    """Whatever was typed, as a query; an empty one when it holds nothing that could be found."""
    pieces = _PIECES.findall(storable(text)[:LONGEST])
    alternatives: list[list[_Term]] = [[]]
    at = 0
    while at < len(pieces):
        if alternatives[-1] and pieces[at] in _OPERATORS - {"NOT"} and _begins_term(pieces, at + 1):
            if pieces[at] != "AND":
                alternatives.append([])
            at += 1
        is_not = pieces[at] == "NOT" and at + 1 < len(pieces) and pieces[at + 1] not in _OPERATORS
        at += is_not
        term = _term(pieces[at], is_excluded=is_not)
        if term is not None:
            alternatives[-1].append(term)
        at += 1
    return _limited([_sensible(terms) for terms in alternatives if terms])


def pattern(text: str) -> str:
    """What ILIKE finds `text` with."""
    return "%" + _WILD.sub(r"\\\1", text) + "%"


def has_trigram(text: str) -> bool:
    """Whether an index of trigrams is of use for `text`: three letters in a row, of a script with spaces."""
    return _THREE_LETTERS.search(text) is not None


def _begins_term(pieces: Sequence[str], at: int) -> bool:
    if at < len(pieces) and pieces[at] == "NOT":
        at += 1
    return at < len(pieces) and pieces[at] not in _OPERATORS and _term(pieces[at]) is not None


def _term(piece: str, *, is_excluded: bool = False) -> _Term | None:
    """None when nothing is in it that could be looked for."""
    if piece.startswith("-") and not piece.startswith("--") and len(piece) > 1:
        is_excluded, piece = True, piece[1:]
    is_quoted = len(piece) > 1 and piece.startswith('"') and piece.endswith('"')
    bare = piece.strip('"') if is_quoted or '"' in piece else piece
    is_prefix = not is_quoted and bare.endswith("*") and len(bare) > 2
    bare = " ".join(bare.rstrip("*").split()) if is_prefix else " ".join(bare.split())
    words = words_of(bare)
    if not words and not any(ord(character) > 0x7F for character in bare):
        return None
    return _Term(bare, words, is_excluded, is_quoted, is_prefix)


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text as the database tells them apart."""
    spaced = _EACH_ALONE.sub(r" \1 ", _GLUE.sub(" ", text))
    return tuple(word for word in spaced.split() if len(word) <= _LONGEST_WORD and any(map(str.isalnum, word)))


def _wanted(terms: Iterable[_Term]) -> list[_Term]:
    return [term for term in terms if not term.is_excluded]


def _sensible(terms: list[_Term]) -> tuple[_Term, ...]:
    """With nothing but exclusions the signs were not meant as such."""
    if _wanted(terms):
        return tuple(terms)
    return tuple(_Term(term.text, term.words) for term in terms)


def _limited(alternatives: list[tuple[_Term, ...]]) -> SearchQuery:
    kept: list[tuple[_Term, ...]] = []
    room = MOST_TERMS
    for terms in alternatives:
        if room and _wanted(terms[:room]):
            kept.append(terms[:room])
            room -= len(terms[:room])
    total = sum(map(len, alternatives))
    return SearchQuery(tuple(kept), left_out=total - sum(map(len, kept)))


def _either(alternatives: Iterable[str]) -> str:
    return " | ".join(f"({alternative})" for alternative in alternatives if alternative)


def _mark(term: _Term) -> re.Pattern[str]:
    pieces = [_whole_word(word, term.is_prefix) for word in term.words] or [re.escape(term.text)]
    return re.compile(r"[\W_]{0,4}".join(pieces), re.IGNORECASE)


def _whole_word(word: str, is_prefix: bool) -> str:
    if not word.isascii():
        return re.escape(word)
    return rf"(?<![0-9A-Za-z]){re.escape(word)}{'' if is_prefix else '(?![0-9A-Za-z])'}"
