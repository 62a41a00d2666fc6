"""Does what a key of the sessions pane asks for: open, peek, and the dialogs that change a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.tui import wording
from cos.tui.screens.session_delete import SessionDelete
from cos.tui.screens.session_tags import SessionTags
from cos.tui.screens.session_title import SessionTitle

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.sessions import SessionRow
    from cos.tui.session_control import SessionControl
    from cos.tui.session_editing import SessionEditing
    from cos.tui.widgets.session_lines import Action


class SessionActions:
    """One at a time."""

    def __init__(self, control: SessionControl, editing: SessionEditing) -> None:
        self.editing = editing
        self._control = control
        self._heading: UUID | None = None

    async def do(self, action: Action, session_id: UUID | None) -> None:
        """Do it; what cannot be done is said."""
        try:
            if action == "new":
                self._control.new()
                self._control.screen.close_panes()
                return
            row = self._control.monitor.row(session_id)
            if row is not None:
                await self._of_row(action, row)
        except CosError as error:
            self._say(str(error))

    async def go(self, step: int) -> None:
        """Open the session before or after the open one, as the list shows them."""
        monitor = self._control.monitor
        wanted = monitor.neighbour(self._heading or self._control.current, step)
        if wanted is None:
            return
        self._heading = wanted
        try:
            await self._control.open(wanted, in_passing=True)
            self._control.screen.sessions.lines.show(wanted)
        except CosError as error:
            self._say(str(error))
        finally:
            if self._heading == wanted:
                self._heading = None

    async def _of_row(self, action: Action, row: SessionRow) -> None:
        match action:
            case "open":
                self._control.screen.close_panes()
                await self._control.open(row.id)
            case "peek":
                if await self._control.peeking.peek(row):
                    self._control.screen.close_panes()
                    await self._control.open(row.id)
            case "expand":
                await self._control.monitor.expand(row.id)
            case "collapse":
                self._control.monitor.collapse(row.id)
            case _:
                await self._change(action, row, self.editing)
                self._control.monitor.touch(row.id)

    async def _change(self, action: Action, row: SessionRow, editing: SessionEditing) -> None:
        app, title = self._control.screen.app, wording.one_line(row.title or "untitled")
        match action:
            case "rename":
                await app.push_screen_wait(SessionTitle(row.title or "", lambda new: editing.rename(row.id, new)))
            case "tags":
                await app.push_screen_wait(SessionTags(title, row.tags, lambda tags: editing.set_tags(row.id, tags)))
            case "fork":
                fork = await editing.fork(row.id)
                await self._control.open(fork)
                self._control.screen.sessions.lines.show(fork)
                self._control.screen.close_panes()
            case "archive" | "unarchive":
                self._control.monitor.keep(row.id)
                await editing.archive(row.id, archived=not row.is_archived)
                done = "is back in the list" if row.is_archived else "is archived; a takes it back, A shows all such"
                self._control.screen.notify(f"{title} {done}.", markup=False)
            case "delete":
                doomed = await editing.what_goes([row.id])
                is_gone = await app.push_screen_wait(SessionDelete(doomed, lambda: editing.delete([row.id])))
                if is_gone and row.id == self._control.current:
                    self._control.new(row.profile_id)

    def _say(self, problem: str) -> None:
        self._control.screen.notify(problem, severity="warning", markup=False)
