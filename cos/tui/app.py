"""`cos chat`: paints first, takes typing at once, and starts the core behind the first picture."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.theme import Theme
from textual.worker import Worker, WorkerState

from cos.agent import garbage
from cos.agent.errors import CosError
from cos.tui.light import LIGHT
from cos.tui.notices import take_away
from cos.tui.preferences import Preferences
from cos.tui.screens.first import FirstScreen
from cos.tui.timing import GATHER_SECONDS, Timing
from cos.tui.typed_ahead import TypedAheadApp
from cos.tui.widgets.status_line import Status

if TYPE_CHECKING:
    from uuid import UUID

    from textual.command import Provider

    from cos.tui.core_port import CorePort
    from cos.tui.screens.chat import ChatScreen
    from cos.tui.session_control import SessionControl
    from cos.tui.surface import AppSurface

log = logging.getLogger("cos.tui")

LOOK_SECONDS = 3.0
"""Between two looks at the files with the rules, and for garbage."""
_REST_SECONDS = 1.0
"""Who has not pressed anything for so long does not wait for an echo."""
ESSENTIAL = frozenset({"core", "feed"})
"""Groups of workers without which the app cannot go on."""

OpenCore = Callable[[Callable[[str], None]], Awaitable["CorePort"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How the app begins."""

    open_core: OpenCore
    """Starts the core; its argument takes progress lines from any thread."""
    session: str | None = None
    """The first characters of a session's id."""
    resume: bool = False
    """Open the newest session."""
    profile: str | None = None
    tags: tuple[str, ...] = ()
    """Of the session that the first message begins."""
    command: str = "cos chat"
    """What starts the app again, as it may be pasted into a shell."""
    timing: Timing = field(default_factory=Timing)
    preferences: Preferences = field(default_factory=Preferences)
    reduced_motion: bool = False
    """Known before the core is there to tell."""


def _slash_commands() -> type[Provider]:
    """Asked for when the palette opens."""
    module: Any = importlib.import_module("cos.tui.palette")
    found: type[Provider] = module.SlashCommands
    return found


class CosApp(TypedAheadApp):
    """Owns the screens, the keys that work everywhere, the core's start and its end."""

    TITLE = "cos"
    CSS_PATH = "screens/main.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar = {_slash_commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help"),
        Binding("ctrl+n", "new_session", "New"),
        # A text area takes these for itself.
        Binding("f6", "next_profile", "Profile", priority=True, show=False),
        Binding("f7", "cost", "Cost", priority=True, show=False),
    ]

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening.command)
        self.register_theme(LIGHT)
        self._opening = opening
        self.surface: AppSurface | None = None
        """None until the core is there."""
        self._warned: Sequence[str] = ()

    def get_default_screen(self) -> FirstScreen:
        self.first_screen = FirstScreen(self._opening.timing, self._opening.preferences)
        return self.first_screen

    def get_key_display(self, binding: Binding) -> str:
        """As keyboards are labelled: F2, Esc, ^N."""
        shown = super().get_key_display(binding)
        if len(shown) == 1:
            return shown
        return shown.upper() if shown[0] in "f^" and len(shown) <= 3 else shown.capitalize()

    def on_mount(self) -> None:
        self.leave_on_signals()
        preferences = self._opening.preferences
        if preferences.theme in self.available_themes:
            self.theme = preferences.theme
        self.theme_changed_signal.subscribe(self, self._remember_theme)
        self.call_after_refresh(self._begin)

    async def _begin(self) -> None:
        self.first_screen.set_focus(self.first_screen.composer)
        await self.let_in()
        self._open()

    def _remember_theme(self, theme: Theme) -> None:
        self.ground.remember(theme=theme.name)

    def watch_title(self, title: str) -> None:
        """Name the terminal's window. Only ever `cos` and a number: nothing foreign gets there."""
        if self._driver is not None:
            self._driver.write(f"\x1b]0;{title}\x07")

    @work(group="core", exit_on_error=False)
    async def _open(self) -> None:
        """Start the core and show what it holds."""
        loop = asyncio.get_running_loop()

        def say(line: str) -> None:
            loop.call_soon_threadsafe(self._progress, line)

        core, parts = await asyncio.gather(self._opening.open_core(say), self._show_main())
        if self.is_leaving:
            await core.close()
            return
        self.core = core
        if core.reduced_motion and not self._opening.reduced_motion:
            self._calm()
        control: SessionControl = parts["session_control"].SessionControl(core, self.main)
        self.surface = parts["surface"].AppSurface(self, core, control)
        self._pump(core, control)
        control.place.tags = self._opening.tags
        await control.begin(await self._first_session(core))
        self.main.connect(control, self.surface)
        self.ticker = self.set_interval(1.0, control.tick)
        findings = await core.findings()
        self._warn(await core.broken_rules())
        for sentence in findings:
            if sentence not in self._warned:
                self.warn(sentence)
        self.set_interval(LOOK_SECONDS, self._look_around)
        await core.providers[control.place.profile_id].prepare()

    async def _look_around(self) -> None:
        garbage.collect_if_due(somebody_types=monotonic() - self.pressed_at < _REST_SECONDS)
        if self.core is not None:
            self._warn(await self.core.broken_rules())

    def _warn(self, findings: Sequence[str]) -> None:
        """Show those that were not among the last ones, and no longer those that have ended."""
        for sentence in findings:
            if sentence not in self._warned:
                self.warn(sentence)
        for sentence in self._warned:
            if sentence not in findings:
                take_away(self, sentence)
        self._warned = findings

    async def _show_main(self) -> dict[str, Any]:
        """Put the main screen over the first picture. Keys typed meanwhile go to where they were meant.

        Returns the modules that connect it with the core.
        """
        module: Any = await asyncio.to_thread(importlib.import_module, "cos.tui.screens.chat")
        main: ChatScreen = module.ChatScreen(self._opening.timing, self._opening.preferences)
        self.hold()
        await self.push_screen(main)
        # What the first composer was given before, such as a paste, it takes in to the end.
        is_done = asyncio.Event()
        self.first_screen.composer.call_later(is_done.set)
        await is_done.wait()
        self.main_screen = main
        main.take_over(self.first_screen)
        main.set_focus(main.composer)
        await self.let_in()
        if self._opening.reduced_motion:
            self._calm()
        parts = ("session_control", "surface")
        return {name: await asyncio.to_thread(importlib.import_module, f"cos.tui.{name}") for name in parts}

    def _calm(self) -> None:
        motion: Any = importlib.import_module("cos.tui.motion")
        motion.calm(self.main)

    async def _first_session(self, core: CorePort) -> UUID | None:
        choose: Any = await asyncio.to_thread(importlib.import_module, "cos.core.choose_session")
        chosen: UUID | None = await choose.chosen_session(
            core.sessions, self._opening.session, resume=self._opening.resume, profile_id=self._opening.profile
        )
        return chosen

    @work(group="feed", exit_on_error=False)
    async def _pump(self, core: CorePort, control: SessionControl) -> None:
        """Everything that happens, until the app ends."""
        with core.feed.subscribe() as events:
            async for live in events.gathered(GATHER_SECONDS):
                await control.feed.take(live)

    @on(Worker.StateChanged)
    def _worker_failed(self, event: Worker.StateChanged) -> None:
        """A failure ends in a sentence: on screen when the app can go on, else after it has closed."""
        error = event.worker.error
        if event.state is not WorkerState.ERROR or error is None or not self.screen_stack:
            return
        if not isinstance(error, CosError):
            log.error("worker %s failed", event.worker.name, exc_info=error)
        sentence = str(error) if isinstance(error, CosError) else f"internal error: {error!r}; see the log"
        is_fatal = self.control is None or not isinstance(error, CosError)
        if event.worker.group in ESSENTIAL and is_fatal:
            self.failure = sentence
            self.leave_now()
        else:
            self.notify(sentence, severity="error", markup=False)

    def _progress(self, line: str) -> None:
        self.ground.status_line.status = Status(note=line)

    def action_help(self) -> None:
        module: Any = importlib.import_module("cos.tui.screens.help")
        self.push_screen(module.Help(self.surface.known() if self.surface else []))

    def action_cost(self) -> None:
        """Open the full-screen view of what everything cost, or close it."""
        why_not = self.surface.show_cost() if self.surface is not None else "The core is still starting."
        if why_not:
            self.notify(why_not, severity="warning", markup=False)

    def action_new_session(self) -> None:
        if self.control is not None:
            self.control.new()
            self.main.close_panes()

    def action_next_profile(self) -> None:
        """Let the next new session use the profile after this one; those that have no key come last."""
        control = self.control
        if control is not None and self.core is not None:
            choice: Any = importlib.import_module("cos.tui.profile_choice")
            control.new(choice.next_profile(self.core.providers, control.place.profile_id))
            self.main.close_panes()
