"""A scrolled text that knows whether its end was in view: what was not read to its end is not allowed."""

from __future__ import annotations

from textual.containers import VerticalScroll

LEAST_ROWS = 4
"""In fewer rows nobody reads anything."""


class ReadToEnd(VerticalScroll):
    """Knows whether the end of the text that was last begun was in view, and calls `end_seen` when it is."""

    was_read = False
    _texts = 0
    _is_laid_out = False
    """The screen has the text: only then does the end of the scroll say what was in view."""

    def begin(self, *, scroll: bool = True) -> None:
        """Another text, just updated, or another width, is to be laid out."""
        self._texts += 1
        self._is_laid_out = self.was_read = False
        if scroll:
            self.scroll_home(animate=False)
        self.call_after_refresh(self._note_laid_out, self._texts)

    def end_seen(self) -> None:
        """For the subclass."""

    def on_resize(self) -> None:
        self.begin(scroll=False)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._note_end()

    def _note_laid_out(self, text: int) -> None:
        if text == self._texts:
            self._is_laid_out = True
            self._note_end()

    def _note_end(self) -> None:
        if self._is_laid_out and self.is_on_screen and self.size.height >= LEAST_ROWS and self.is_vertical_scroll_end:
            self.was_read = True
            self.end_seen()
