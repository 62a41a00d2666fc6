"""One skill: the text of its SKILL.md, taken apart and checked.

    ---
    name: official-letter
    description: What it is for, and when to use it.
    ---
    The instructions, in Markdown.

The front matter is YAML of plain values; tags that would build Python objects are errors. Keys that are not listed
here are kept by other programs and ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import yaml

from cos.agent.text import storable, visible
from cos.core.config_errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME: Final = "SKILL.md"
MOST_CHARACTERS: Final = 100_000
"""Of a SKILL.md, as in Hermes."""
MOST_DESCRIPTION: Final = 1_024
_MOST_FRONT_MATTER: Final = 8_000
_MOST_BRACKETS: Final = 200
"""The time that the parser takes grows with the square of how deeply they are nested."""
_FENCE: Final = "---"
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_NAME_RULE: Final = "it takes a-z, 0-9, _ and -, begins with a letter and has at most 64 characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill that can be used."""

    name: str
    description: str
    """What it is for, on one line."""
    category: str | None
    """The folder between `skills` and its own."""
    folder: Path
    """Real path."""
    file: Path
    """Its SKILL.md as the user knows it."""
    body: str = field(repr=False)
    """The instructions, without the front matter."""


def is_plain(name: str) -> bool:
    """Whether the model may read `name` of a file or folder: one line, and nothing hidden in it."""
    return name == storable(visible(name)) and not any(character in name for character in "\n\t")


def parse_skill(text: str, file: Path, folder: Path, category: str | None) -> Skill:
    """The skill that the text of `file` describes; `folder` is the real path of its folder.

    Raises:
        ConfigError: it is none; the error names file and line.
    """
    lines = storable(text).replace("\r\n", "\n").split("\n")
    end = _end_of_front_matter(lines, file)
    entries = _entries("\n".join(lines[1:end]), file)
    name, line = _text(entries, "name", file)
    if not _NAME.fullmatch(name):
        raise ConfigError(f"is no name for a skill: {_NAME_RULE}", file=file, line=line, key="name", value=name[:80])
    description, line = _text(entries, "description", file)
    if len(description) > MOST_DESCRIPTION:
        problem = f"has {len(description):,} characters; at most {MOST_DESCRIPTION:,} fit"
        raise ConfigError(problem, file=file, line=line, key="description")
    body = "\n".join(lines[end + 1 :]).strip()
    if not body:
        raise ConfigError("there are no instructions below the front matter", file=file, line=end + 1)
    return Skill(name=name, description=description, category=category, folder=folder, file=file, body=body)


def _end_of_front_matter(lines: list[str], file: Path) -> int:
    """The index of the line that closes it."""
    if not lines or lines[0].rstrip() != _FENCE:
        raise ConfigError(f"must begin with a line {_FENCE}, then name and description", file=file, line=1)
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            return index
    raise ConfigError(f"the front matter that begins here is not closed by a line {_FENCE}", file=file, line=1)


def _entries(text: str, file: Path) -> dict[str, tuple[str | None, int]]:
    """The plain values of the front matter (None: no plain value) with their lines in the file."""
    if len(text) > _MOST_FRONT_MATTER:
        problem = f"the front matter has {len(text):,} characters; at most {_MOST_FRONT_MATTER:,} are read"
        raise ConfigError(problem, file=file, line=1)
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise ConfigError(f"the front matter has more than {_MOST_BRACKETS} brackets", file=file, line=1)
    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        problem = f"the front matter holds a hidden character, U+{error.character:04X}: remove it"
        raise ConfigError(problem, file=file, line=text.count("\n", 0, error.position) + 2) from error
    try:
        node = loader.get_single_node()
        if node is not None:
            loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, file) from error
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
        # What a tag such as !!bool makes of a word that is none ends in any of these.
        raise ConfigError(f"the front matter is no valid YAML: {error}", file=file, line=2) from error
    finally:
        loader.dispose()
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError("the front matter must hold lines such as `name: my-skill`", file=file, line=2)
    return {key.value: (_plain(value), key.start_mark.line + 2) for key, value in node.value}


def _plain(node: yaml.Node) -> str | None:
    is_plain = isinstance(node, yaml.ScalarNode) and not node.tag.endswith((":null", ":binary"))
    return " ".join(node.value.split()) if is_plain else None


def _syntax_error(error: yaml.MarkedYAMLError, file: Path) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    problem = f"the front matter is no valid YAML: {error.problem or error.context}"
    if error.problem and "mapping values" in error.problem:
        problem += '. A text with a colon in it goes into quotes: description: "Use when: asked"'
    elif error.problem and "'\\t'" in error.problem:
        problem += ". Indent with blanks, not with tabs"
    return ConfigError(problem, file=file, line=mark.line + 2 if mark else 2)


def _text(entries: dict[str, tuple[str | None, int]], key: str, file: Path) -> tuple[str, int]:
    """The text of `key` and its line."""
    if key not in entries:
        raise ConfigError(f"the front matter has no {key}: add a line `{key}: …`", file=file, line=1)
    value, line = entries[key]
    if not value:
        raise ConfigError("must be a text", file=file, line=line, key=key)
    return value, line
