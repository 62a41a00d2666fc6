"""Glob patterns for paths below a folder, with `/` between names: `*`, `?`, `[...]`, `{a,b}` and `**` for any depth."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cos.plugins.workspace.paths import PathRefused, quoted

_TOKEN = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[[!^]?\]?[^\]]*\]|\[|\{|\}|,|\\.|.", re.DOTALL)
_SIMPLE = {"**/": "(?:[^/]+/)*", "/**": "/.+", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern without `/` is for the name alone, at any depth. A leading `!` turns its meaning round."""

    pattern: str
    regex: re.Pattern[str]
    is_negated: bool = False

    @classmethod
    def of(cls, pattern: str) -> Glob:
        """
        Raises:
            PathRefused: `pattern` is empty or leaves a bracket open.
        """
        is_negated = pattern.startswith("!")
        bare = pattern.removeprefix("!")
        anchored = bare.removeprefix("./").lstrip("/")
        if not anchored:
            raise PathRefused("The glob is empty; give a pattern such as '*.py' or 'src/**/*.md'.")
        prefix = "" if "/" in bare else "(?:.*/)?"
        try:
            regex = re.compile(prefix + _translated(anchored), re.DOTALL)
        except (re.error, ValueError) as error:
            raise PathRefused(f"The glob {quoted(pattern)} is not valid ({error}); correct or simplify it.") from error
        return cls(bare, regex, is_negated)

    def matches(self, path: str) -> bool:
        """Whether `path`, relative to the folder that is searched, fits."""
        return (self.regex.fullmatch(path) is None) is self.is_negated

    @property
    def names_hidden(self) -> bool:
        """Whether the pattern itself asks for a name that starts with a dot."""
        return any(part.startswith(".") and part not in {".", ".."} for part in self.pattern.split("/"))

    @property
    def name_pattern(self) -> str | None:
        """A pattern that the name of every matching file fits, when there is a plain one."""
        name = self.pattern.rsplit("/", 1)[-1]
        return name if not self.is_negated and re.fullmatch(r"[\w.*?+~ -]+", name) and "**" not in name else None


def _translated(pattern: str) -> str:
    pieces, depth = [], 0
    for match in _TOKEN.finditer(pattern):
        token = match.group()
        if token in _SIMPLE:
            pieces.append(_SIMPLE[token])
        elif token == "{":
            pieces.append("(?:")
            depth += 1
        elif token in {"}", ","} and depth:
            pieces.append("|" if token == "," else ")")
            depth -= token == "}"
        elif token == "[":
            raise ValueError("a [ is not closed")
        elif token.startswith("["):
            pieces.append(_character_class(token))
        else:
            pieces.append(re.escape(token[-1]))
    if depth:
        raise ValueError("a { is not closed")
    return "".join(pieces)


def _character_class(token: str) -> str:
    body = token[1:-1]
    is_negated = body[:1] in {"!", "^"}
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", body[is_negated:])
    return f"(?!/)[{'^' * is_negated}{escaped}]"
