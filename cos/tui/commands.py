"""The slash commands that only a screen can carry out: going somewhere, looking different, leaving."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from cos.agent.errors import TagError
from cos.agent.tags import Tag
from cos.core.commands import Command, CommandAnswer, CommandCall
from cos.core.errors import CommandError
from cos.core.session_commands import changed_tags
from cos.tui.cost_tables import BUDGETS, FIXED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from cos.core.profiles import Profile
    from cos.tui.places import Place

ORIGIN = "the app"


class Surface(Protocol):
    """What the commands do to the app."""

    @property
    def available_themes(self) -> Mapping[str, object]: ...

    theme: str

    def action_help(self) -> None: ...

    def show_cost(self, by: str | None = None) -> str | None:
        """Open the cost view, or close it; a sentence when that cannot be."""
        ...

    def find_sessions(self, text: str) -> None:
        """Search in all conversations, beginning with `text`."""
        ...

    def go_to_pane(self, name: str) -> None: ...

    def show_archived(self) -> None: ...

    def go_new(self, profile_id: str | None) -> None: ...

    def leave(self) -> None:
        """Quit, unless something would be lost: then say what."""
        ...


class AppCommands:
    """Their list is `all`; each runs on the event loop of the app."""

    def __init__(
        self,
        surface: Surface,
        profiles: Mapping[str, Profile],
        place: Callable[[], Place],
        find_session: Callable[[str], Awaitable[UUID]],
        marked: Callable[[str], str],
    ) -> None:
        """`marked`: a profile's name with what it lacks."""
        self._surface = surface
        self._profiles = profiles
        self._place = place
        self._find_session = find_session
        self._marked = marked

    def all(self) -> Iterable[Command]:
        def made(name: str, arguments: str, summary: str, run: Callable[[str], Awaitable[CommandAnswer]]) -> Command:
            return Command(
                name=name,
                summary=summary,
                run=lambda call: run(call.argument),
                arguments=arguments,
                needs_session=False,
                only_open=True,
                origin=ORIGIN,
            )

        return [
            made("new", "[PROFILE]", "begin a new session", self._new),
            made("sessions", "", "go to the sessions", lambda _: self._pane("sessions")),
            made("search", "[TEXT]", "search in all conversations", self._search),
            made("archived", "", "the archived sessions", self._archived),
            made("resume", "ID", "open a session by its id, or how that begins", self._resume),
            made("profile", "[PROFILE]", "list the profiles, or begin a session with one", self._profile),
            made("approvals", "", "what waits for your answer", lambda _: self._pane("approvals")),
            made("cost", "[KEY]", "what it cost, by tag key, tag, profile, model, session, day", self._cost),
            made("theme", "[NAME]", "list the themes, or use one (light, dark …)", self._theme),
            made("help", "", "every key and command", self._help),
            made("quit", "", "leave", self._quit),
        ]

    async def _new(self, argument: str) -> CommandAnswer:
        self._surface.go_new(self._known_profile(argument) if argument else None)
        return CommandAnswer()

    async def _pane(self, name: str) -> CommandAnswer:
        self._surface.go_to_pane(name)
        return CommandAnswer()

    async def _search(self, argument: str) -> CommandAnswer:
        self._surface.find_sessions(argument)
        return CommandAnswer()

    async def _archived(self, argument: str) -> CommandAnswer:
        self._surface.show_archived()
        return CommandAnswer()

    async def _resume(self, argument: str) -> CommandAnswer:
        if not argument:
            raise CommandError("/resume takes the first characters of a session's id; F2 lists the sessions")
        return CommandAnswer(session_id=await self._find_session(argument))

    async def _profile(self, argument: str) -> CommandAnswer:
        if argument:
            return await self._new(argument)
        open_one = self._place().profile_id
        lines = [f"{'›' if name == open_one else ' '} {self._marked(name)}" for name in sorted(self._profiles)]
        return CommandAnswer(text="\n".join([*lines, "/profile NAME begins a session with another one."]))

    def _known_profile(self, name: str) -> str:
        if name not in self._profiles:
            raise CommandError(f"there is no profile {name!r}; there are {', '.join(sorted(self._profiles))}")
        return name

    async def _cost(self, argument: str) -> CommandAnswer:
        why_not = self._surface.show_cost(_grouping(argument) if argument else None)
        if why_not:
            raise CommandError(why_not)
        return CommandAnswer()

    async def _theme(self, argument: str) -> CommandAnswer:
        known = self._surface.available_themes
        wanted = {"light": "textual-light", "dark": "textual-dark"}.get(argument, argument)
        if wanted in known:
            self._surface.theme = wanted
            return CommandAnswer()
        names = f"{', '.join(sorted(known))}; now: {self._surface.theme}"
        if argument:
            raise CommandError(f"there is no theme {argument!r}; there are {names}")
        return CommandAnswer(text=f"Themes: {names}")

    async def _help(self, argument: str) -> CommandAnswer:
        self._surface.action_help()
        return CommandAnswer()

    async def _quit(self, argument: str) -> CommandAnswer:
        self._surface.leave()
        return CommandAnswer()


def _grouping(argument: str) -> str:
    """As the cost view names it."""
    if argument in (*FIXED, BUDGETS):
        return argument
    key = argument.removeprefix("tag:")
    try:
        Tag(f"{key}:x")
    except TagError:
        raise CommandError(
            f"cost cannot be shown by {argument!r}; write a tag key such as client, or {', '.join((*FIXED, BUDGETS))}"
        ) from None
    return f"tag:{key}"


def tag_command(core: Command, place: Callable[[], Place], changed: Callable[[], None]) -> Command:
    """`/tag` as the core has it; before a session's first message it changes the tags that the session begins with.

    `changed`: those are others now.
    """

    async def run(call: CommandCall) -> CommandAnswer:
        if call.session is not None:
            return await core.run(call)
        here = place()
        here.tags = tuple(map(str, changed_tags(here.tags, call.argument)))
        changed()
        return CommandAnswer(text=f"The session begins with {' '.join(here.tags) or 'no tags of its own'}.")

    return Command(
        name=core.name, summary=core.summary, run=run, arguments=core.arguments, needs_session=False, origin=core.origin
    )
