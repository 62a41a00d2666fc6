"""What slash commands and the palette do to the app, and what the app remembers of how it looks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cos.tui.commands import AppCommands, tag_command
from cos.tui.completion import CommandHint
from cos.tui.outgoing import Outgoing
from cos.tui.profile_choice import marked
from cos.tui.screens.cost import CostScreen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cos.core.commands import Command
    from cos.tui.app import CosApp
    from cos.tui.core_port import CorePort
    from cos.tui.session_control import SessionControl


class AppSurface:
    """Fits `cos.tui.commands.Surface`."""

    def __init__(self, app: CosApp, core: CorePort, control: SessionControl) -> None:
        self._app = app
        self._control = control
        self._commands = core.dispatcher.commands
        named = partial(marked, core.providers)
        self._commands.add(*AppCommands(self, core.profiles, lambda: control.place, core.sessions.find, named).all())
        self._commands.replace(tag_command(self._commands.find("tag"), lambda: control.place, control.draw))

    def known(self) -> Sequence[Command]:
        """Every command that may be typed here, by name."""
        return self._commands.all(self._control.place.profile_id)

    def commands(self) -> Sequence[CommandHint]:
        """The same, as the composer completes them."""
        return [CommandHint(name=it.name, arguments=it.arguments, summary=it.summary) for it in self.known()]

    def begin(self, command: Command) -> None:
        """Run a command that was picked from a list; one that takes arguments goes into the composer."""
        screen = self._app.main
        if command.arguments:
            screen.close_panes()
            if screen.composer.text:
                screen.notify(
                    f"/{command.name} belongs into an empty composer; send what is written, or clear it (^C).",
                    severity="warning",
                    markup=False,
                )
            else:
                screen.composer.unpack(f"/{command.name} ")
        else:
            text = f"/{command.name}"
            screen.send(Outgoing(text=text, draft=text))

    @property
    def available_themes(self) -> Mapping[str, object]:
        return self._app.available_themes

    @property
    def theme(self) -> str:
        return self._app.theme

    @theme.setter
    def theme(self, name: str) -> None:
        self._app.theme = name

    def action_help(self) -> None:
        self._app.action_help()

    def show_cost(self, by: str | None = None) -> str | None:
        """Open the cost view, or close it; a sentence when that cannot be. `by`: None = the configured tag key."""
        keeper = self._control.cost
        if keeper.bill is None:
            return 'CommonBill is not enabled. Put "bill" into plugins in commonos.toml and start cos again.'
        if isinstance(self._app.screen, CostScreen):
            self._app.screen.dismiss()
            return None
        if self._app.screen is not self._app.main:
            return "Close what lies on top (Esc), then press F7 again."
        self._app.push_screen(CostScreen(keeper.bill, keeper, self._control.current, by))
        return None

    def find_sessions(self, text: str) -> None:
        self._app.main.action_find_sessions(text)

    def go_to_pane(self, name: str) -> None:
        self._app.main.open_pane(name)

    def show_archived(self) -> None:
        self.go_to_pane("sessions")
        self._app.main.sessions.show_archived()

    def go_new(self, profile_id: str | None) -> None:
        self._control.new(profile_id)
        self._app.main.close_panes()

    def leave(self) -> None:
        self._app.leave_unless_needed()
