"""Inline Markdown tokens as styled runs: emphasis, code, links, images and line breaks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.style import Style

from cos.tui.transcript.lines import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.tui.transcript.lines import Run
    from cos.tui.transcript.look import Look

_OPENABLE = re.compile(r"https?://[!-~]+$")
_EMPHASIS = {"strong_open": Style(bold=True), "em_open": Style(italic=True), "s_open": Style(strike=True)}


class Inline:
    """Walks the children of one inline token. A hard line break starts a new list of runs."""

    def __init__(self, look: Look, style: Style) -> None:
        self._look = look
        self._styles = [style]
        self._link: tuple[str, int] | None = None
        self.lines: list[list[Run]] = [[]]

    def walk(self, tokens: Sequence[Any]) -> list[list[Run]]:
        """`tokens` are markdown-it tokens; the result is one list of runs for each forced line."""
        for token in tokens:
            self._take(token)
        return self.lines

    def _take(self, token: Any) -> None:
        match token.type:
            case "code_inline":
                self._write(token.content, self._look.code)
            case "softbreak":
                self._write(" ")
            case "hardbreak":
                self.lines.append([])
            case "strong_open" | "em_open" | "s_open":
                self._push(_EMPHASIS[token.type])
            case "link_open":
                self._open_link(str(token.attrGet("href") or ""))
            case "link_close":
                self._close_link()
            case "strong_close" | "em_close" | "s_close":
                self._styles.pop()
            case "image":
                self._write(f"[image: {token.content or token.attrGet('src')}]", self._look.muted)
            case _:
                self._write(token.content)

    def _write(self, text: str, style: Style | None = None) -> None:
        text = clean(text).replace("\n", " ")
        if text:
            whole = self._styles[-1] if style is None else self._styles[-1] + style
            self.lines[-1].append((text, whole))

    def _push(self, style: Style) -> None:
        self._styles.append(self._styles[-1] + style)

    def _open_link(self, address: str) -> None:
        self._link = (address, len(self.lines[-1]))
        link = Style(link=address) if _OPENABLE.match(address) else Style.null()
        self._push(self._look.link + link)

    def _close_link(self) -> None:
        """A link shows where it leads unless its text already says so."""
        self._styles.pop()
        if self._link is None:
            return
        address, start = self._link
        self._link = None
        text = "".join(text for text, _ in self.lines[-1][start:])
        if address and address not in (text, f"mailto:{text}"):
            self._write(f" ({address})", self._look.muted)
