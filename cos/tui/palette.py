"""The command palette: every slash command, and what else the app can do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from cos.tui.transcript.lines import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cos.core.commands import Command
    from cos.tui.app import CosApp


class SlashCommands(Provider):
    """Finds a command by its name or by what it does."""

    async def discover(self) -> Hits:
        for shown, command, begin in self._shown():
            yield DiscoveryHit(Content(shown), begin, help=_not_markup(command.summary))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for shown, command, begin in self._shown():
            score = max(matcher.match(shown), matcher.match(command.summary))
            if score > 0:
                yield Hit(score, matcher.highlight(_not_markup(shown)), begin, help=_not_markup(command.summary))

    def _shown(self) -> Iterator[tuple[str, Command, Callable[[], None]]]:
        surface = cast("CosApp", self.app).surface
        if surface is None:
            return
        for command in surface.known():
            yield f"/{command.name} {command.arguments}".rstrip(), command, partial(surface.begin, command)


def _not_markup(text: str) -> str:
    """For a place where Textual reads markup: plugins and skills bring texts of their own."""
    return harmless(text).replace("[", "\\[")
