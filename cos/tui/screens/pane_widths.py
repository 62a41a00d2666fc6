"""Side panes whose widths the user sets, by dragging their edge or with + and -; remembered for the next time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual.binding import Binding, BindingType

from cos.tui.preferences import NARROWEST, WIDEST, Preferences
from cos.tui.screens.sizing import NARROW_COLUMNS, SizedScreen

if TYPE_CHECKING:
    from textual import events

Side = Literal["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")
MIDDLE_COLUMNS = 40
"""What the conversation keeps at least."""


class ResizableScreen(SizedScreen):
    """Has `#left` and `#right` beside what is in the middle."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus", "widen(2)", "Wider", show=False),
        Binding("minus", "widen(-2)", "Narrower", show=False),
    ]
    """
    | Key | |
    | :- | :- |
    | plus, minus | Make the side pane with the focus wider or narrower. |
    """

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self._preferences = preferences
        self._dragged: Side | None = None

    def remember(self, **changes: Any) -> None:
        """Set preferences, for now and for the next start."""
        for name, value in changes.items():
            setattr(self._preferences, name, value)
        try:
            self._preferences.save()
        except OSError as error:
            self.notify(f"What the app looks like cannot be remembered: {error}", severity="warning", markup=False)

    def on_resize(self, event: events.Resize) -> None:
        for side in SIDES:
            self._apply(side, event.size.width)

    def action_widen(self, step: int) -> None:
        for side in SIDES:
            pane = self.query_one(f"#{side}")
            if self.focused in set(pane.query("*")) and self.size.width >= NARROW_COLUMNS:
                self._set(side, pane.size.width + step)
                self.remember()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """The edge towards the middle is two columns wide: the pane's own border and its neighbour's."""
        left, right = (self.query_one(f"#{side}").region for side in SIDES)
        if self.size.width < NARROW_COLUMNS or not left.y <= event.screen_y < left.bottom:
            return
        if event.screen_x in {left.right - 1, left.right}:
            self._dragged = "left"
        elif event.screen_x in {right.x - 1, right.x}:
            self._dragged = "right"
        if self._dragged is not None:
            self.capture_mouse()
            event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged == "left":
            self._set("left", event.screen_x + 1)
        elif self._dragged == "right":
            self._set("right", self.size.width - event.screen_x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragged is not None:
            self._dragged = None
            self.release_mouse()
            self.remember()

    def _set(self, side: Side, columns: int) -> None:
        setattr(self._preferences, side, max(NARROWEST, min(columns, WIDEST)))
        self._apply(side, self.size.width)

    def _apply(self, side: Side, width: int) -> None:
        """Give a pane its width beside the conversation; as an overlay it has that of the style sheet."""
        styles, wanted = self.query_one(f"#{side}").styles, getattr(self._preferences, side)
        if wanted is None or width < NARROW_COLUMNS:
            styles.clear_rule("width")
            return
        other = self.query_one(f"#{'right' if side == 'left' else 'left'}").size.width or NARROWEST
        styles.width = max(NARROWEST, min(wanted, width - other - MIDDLE_COLUMNS))
