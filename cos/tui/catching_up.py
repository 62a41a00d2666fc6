"""Reads again what may have been missed: events that came too fast, or all of the time the database was away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.agent.errors import CosError

if TYPE_CHECKING:
    from textual.worker import Worker

    from cos.core.postgres.pulse import Pulse
    from cos.tui.conversations import Conversations
    from cos.tui.session_control import SessionControl


class CatchingUp:
    """Of one screen."""

    def __init__(self, control: SessionControl, conversations: Conversations, pulse: Pulse) -> None:
        self._control = control
        self._conversations = conversations
        self._pulse = pulse
        pulse.watchers.append(self._pulse_changed)

    @property
    def trouble(self) -> str:
        """What the status line says while nothing can be stored. Else empty."""
        return self._pulse.words

    async def missed_events(self, *, of_others: bool) -> None:
        """Read again what is on screen, whatever place that is; if only `of_others`, what runs here is known."""
        if of_others:
            await self._back()
            return
        self._conversations.forget()
        self._control.screen.sessions.lines.activities.forget()
        await self._read()
        await self._control.show_open()
        self._control.draw()

    def _pulse_changed(self) -> None:
        control = self._control
        if not self._pulse.trouble:
            control.trouble = ""
            _: Worker[None] = control.screen.app.run_worker(self._back, group="feed", exit_on_error=False)
        control.draw()

    async def _back(self) -> None:
        """Conversations whose turn runs here know more than the tables, and stay."""
        control = self._control
        self._conversations.forget_resting(keep={control.peeking.session_id})
        try:
            await self._read()
            if control.current is not None and not self._conversations.of(control.current).is_loaded:
                await control.show_open()
        except CosError as error:
            control.say_trouble(str(error))

    async def _read(self) -> None:
        await self._control.monitor.reload()
        await self._control.answering.refresh()
