"""The styles of the conversation view, one component class each, so that themes and users' CSS decide the colours."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from rich.style import Style

if TYPE_CHECKING:
    from textual.widget import Widget

_PREFIX = "transcript--"
_NULL = Style.null()
_BOLD, _UNDERLINE, _REVERSE = Style(bold=True), Style(underline=True), Style(reverse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Rich styles by role. All but `base` are partial: they are added to it. The defaults show no colour at all."""

    base: Style = _NULL
    """Foreground and background of the view itself."""
    muted: Style = _NULL
    rule: Style = _NULL
    """Lines, bars, rules: quieter than muted text."""
    cursor: Style = _NULL
    user: Style = _NULL
    heading: Style = _BOLD
    subheading: Style = _BOLD
    code: Style = _NULL
    """Inline code."""
    code_block: Style = _NULL
    link: Style = _UNDERLINE
    marker: Style = _NULL
    """Bullets and numbers of lists."""
    success: Style = _NULL
    warning: Style = _NULL
    error: Style = _NULL
    active: Style = _NULL
    """What is going on now."""
    added: Style = _NULL
    removed: Style = _NULL
    hunk: Style = _NULL
    keyword: Style = _NULL
    string: Style = _NULL
    number: Style = _NULL
    comment: Style = _NULL
    name: Style = _NULL
    """Functions, classes and tags in code."""
    hint: Style = _REVERSE
    match: Style = _UNDERLINE
    """What a search found."""
    match_here: Style = _REVERSE
    """The one of them that the search is at."""


COMPONENTS = {f"{_PREFIX}{field.name.replace('_', '-')}" for field in fields(Look) if field.name != "base"}

LOOK_CSS = """
    & .transcript--muted { color: $foreground 60%; }
    & .transcript--rule { color: $foreground 25%; }
    & .transcript--cursor { color: $accent; text-style: bold; }
    & .transcript--user { color: $primary; text-style: bold; }
    & .transcript--heading { color: $text-primary; text-style: bold; }
    & .transcript--subheading { color: $text-secondary; text-style: bold; }
    & .transcript--code { color: $text-accent; background: $foreground 7%; }
    & .transcript--code-block { background: $foreground 5%; }
    & .transcript--link { color: $text-primary; text-style: underline; }
    & .transcript--marker { color: $text-primary; }
    & .transcript--success { color: $text-success; }
    & .transcript--warning { color: $text-warning; }
    & .transcript--error { color: $text-error; text-style: bold; }
    & .transcript--active { color: $text-primary; text-style: bold; }
    & .transcript--added { color: $text-success; background: $success 12%; }
    & .transcript--removed { color: $text-error; background: $error 12%; }
    & .transcript--hunk { color: $text-secondary; }
    & .transcript--keyword { color: $text-primary; text-style: bold; }
    & .transcript--string { color: $text-success; }
    & .transcript--number { color: $text-warning; }
    & .transcript--comment { color: $foreground 55%; text-style: italic; }
    & .transcript--name { color: $text-accent; }
    & .transcript--match { background: $warning 30%; text-style: bold underline; }
    & .transcript--match-here { color: $warning; background: #000000; text-style: bold reverse; }
    & .transcript--hint { color: $primary; text-style: bold reverse; }
"""


def look_of(widget: Widget) -> Look:
    """The current styles of a widget that has the component classes `COMPONENTS`."""
    found = {"base": widget.rich_style}
    for field in fields(Look):
        if field.name == "base":
            continue
        styles = widget.get_component_styles(f"{_PREFIX}{field.name.replace('_', '-')}")
        whole = styles.rich_style
        found[field.name] = (
            Style(
                color=whole.color if styles.has_rule("color") else None,
                bgcolor=whole.bgcolor if styles.has_rule("background") else None,
            )
            + styles.text_style
        )
    return Look(**found)
