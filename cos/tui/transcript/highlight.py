"""Fenced code as coloured lines. pygments is imported when the first code with a known language is drawn."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rich.style import Style

from cos.tui.transcript.lines import clean, clip

if TYPE_CHECKING:
    from cos.tui.transcript.lines import Run
    from cos.tui.transcript.look import Look

MOST_CHARACTERS = 20_000
"""Longer code is shown without colours: a lexer's time is not bounded by anything else."""
_LONGEST_LINE = 1_000
_JOINERS = "\u200d\ufe0f\ufe0e"

_ROLES = (
    ("Token.Comment", "comment"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Tag", "name"),
    ("Token.Name.Decorator", "name"),
    ("Token.Name.Builtin", "name"),
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Deleted", "removed"),
    ("Token.Generic.Heading", "hunk"),
    ("Token.Generic.Subheading", "hunk"),
)


def code_lines(code: str, info: str, look: Look) -> list[list[Run]]:
    """Each line of `code` as runs, coloured when the first word of `info` names a language that pygments knows."""
    lines = [clean(clip(line)) for line in code.split("\n")]
    lexer = _lexer(info.split(maxsplit=1)[0].strip("{}.,").lower()) if info.strip() else None
    text = "\n".join(lines)
    if lexer is None or len(text) > MOST_CHARACTERS or max(map(len, lines)) > _LONGEST_LINE:
        return [[(line, look.code_block)] for line in lines]
    found: list[list[Run]] = [[]]
    for kind, value in lexer.get_tokens(text):
        style = look.code_block + _style(str(kind), look)
        for number, piece in enumerate(value.split("\n")):
            if number:
                found.append([])
            if piece:
                _add(found[-1], piece, style)
    return found


def _add(runs: list[Run], piece: str, style: Style) -> None:
    """Append, but never begin a run inside an emoji: lexers know single characters only."""
    if runs and (piece[0] in _JOINERS or runs[-1][0][-1] == "\u200d"):
        text, before = runs[-1]
        runs[-1] = (text + piece, before)
    else:
        runs.append((piece, style))


def _style(kind: str, look: Look) -> Style:
    role = _role(kind)
    return Style.null() if role is None else getattr(look, role)


@lru_cache(maxsize=256)
def _role(kind: str) -> str | None:
    return next((role for prefix, role in _ROLES if kind.startswith(prefix)), None)


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    lexers = importlib.import_module("pygments.lexers")
    not_found = importlib.import_module("pygments.util").ClassNotFound
    try:
        return lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except not_found:
        return None
