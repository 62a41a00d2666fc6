"""The panes of the main screen by name."""

from __future__ import annotations

from cos.tui.screens.pane_widths import ResizableScreen
from cos.tui.transcript.view import Transcript
from cos.tui.widgets.approvals_pane import ApprovalsPane
from cos.tui.widgets.composer import Composer
from cos.tui.widgets.cost_pane import CostPane
from cos.tui.widgets.queue_strip import QueueStrip
from cos.tui.widgets.sessions_pane import SessionsPane
from cos.tui.widgets.status_line import StatusLine


class PanesScreen(ResizableScreen):
    """Each is there from the first layout on."""

    @property
    def sessions(self) -> SessionsPane:
        return self.query_one(SessionsPane)

    @property
    def conversation(self) -> Transcript:
        return self.query_one(Transcript)

    @property
    def queue(self) -> QueueStrip:
        return self.query_one(QueueStrip)

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    @property
    def approvals(self) -> ApprovalsPane:
        return self.query_one(ApprovalsPane)

    @property
    def cost(self) -> CostPane:
        return self.query_one(CostPane)

    @property
    def status_line(self) -> StatusLine:
        return self.query_one(StatusLine)
