"""Work in the background that fails is said, whoever began it."""

from __future__ import annotations

from textual.message_pump import MessagePump
from textual.worker import Worker, WorkerState


class TellsFailures(MessagePump):
    """Of a screen or widget with workers: the app says what failed in them.

    Textual tells only the node that began the work, and the message goes no further.
    """

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            self.app.post_message(Worker.StateChanged(event.worker, event.state))
