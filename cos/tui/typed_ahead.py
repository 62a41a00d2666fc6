"""What is typed before there is a screen, or while one takes over from another, goes to where it was meant."""

from __future__ import annotations

from time import monotonic

from textual import events

from cos.tui.leaving import LeavingApp


class TypedAheadApp(LeavingApp):
    """Holds keys and pastes from the start, until `let_in`."""

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self.pressed_at = 0.0
        """When something was last typed or moved (time.monotonic())."""
        self._held: list[events.Event] | None = []
        """None: everything goes on at once."""

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent):
            self.pressed_at = monotonic()
        if self._held is not None and isinstance(event, events.Key | events.Paste):
            self._held.append(event)
        else:
            await super().on_event(event)

    def hold(self) -> None:
        self._held = []

    async def let_in(self) -> None:
        """Hand on what was held, and what comes meanwhile, in its order."""
        while self._held:
            await super().on_event(self._held.pop(0))
        self._held = None
