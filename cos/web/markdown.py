"""What a model writes, as HTML that a page may take in: no raw HTML, no script, nothing that loads from elsewhere."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import nh3
from markdown_it import MarkdownIt

LONGEST: Final = 50_000
"""Characters; a longer text is shown as it is, because a page is not to wait for its rendering."""
_TAGS: Final = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES: Final = {"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}}
# An image would tell its server who reads; `![x](url)` becomes a link behind an exclamation mark.
_PARSER: Final = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


@lru_cache(maxsize=256)
def safe_html(text: str) -> str | None:
    """`text` as sanitised HTML; None when it is too long."""
    if len(text) > LONGEST:
        return None
    return nh3.clean(
        _PARSER.render(text),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )
