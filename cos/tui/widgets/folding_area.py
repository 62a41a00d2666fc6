"""A text area in which long pastes and images stand as one mark each, which cursor and deletion take as one unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.document._document import Selection
from textual.widgets.text_area import Edit

from cos.tui.paste_fold import CLOSE, OPEN, Folds, clean, is_long
from cos.tui.widgets.resting_cursor import RestingCursor

if TYPE_CHECKING:
    from textual.widgets.text_area import EditResult, Location

    from cos.core.attachments import Attachment
    from cos.tui.paste_fold import Fold

SHOWN_CHARACTERS = 100_000
"""A longer text is never unfolded: to break it into lines would hold up the screen."""
_CONTROLS = (*range(9), *range(10, 32), *range(127, 160))
# A control character has no width and must not reach the terminal.
_SHOWN = {ord(OPEN): "[", ord(CLOSE): "]"} | dict.fromkeys(_CONTROLS, "\u200b")


class FoldingArea(RestingCursor):
    """`text` holds the marks; `full_text` is what they stand for."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"folding-area--mark"}
    DEFAULT_CSS = """
    FoldingArea > .folding-area--mark { color: $text-accent; text-style: bold; }
    """

    def __init__(self, *, placeholder: str, id: str | None = None) -> None:
        self.folds = Folds()
        super().__init__(
            id=id, soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False, tab_behavior="focus",
            placeholder=placeholder,
        )  # fmt: skip

    @property
    def full_text(self) -> str:
        """What is sent."""
        return self.folds.opened(self.text)

    @property
    def packed(self) -> str:
        """What a draft keeps; the argument of `unpack`."""
        return self.folds.packed(self.text)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The images, in the order of their marks, each once."""
        found = [fold.attachment for fold in self.folds.inside(self.text) if fold.attachment is not None]
        return tuple(dict.fromkeys(found))

    @property
    def selected_text(self) -> str:
        """What is copied: the text behind a mark, not the mark."""
        return self.folds.opened(super().selected_text)

    def load(self, text: str) -> None:
        """Replace what is written, cursor at the end. A very long text is folded: it could not be edited."""
        text = clean(text)
        self.folds.clear()
        self._show(self.folds.paste(text) if len(text) > SHOWN_CHARACTERS else text)

    def unpack(self, body: str) -> None:
        """Replace what is written by a draft."""
        if OPEN not in body:
            self.load(body)
            return
        self.folds.clear()
        self._show(self.folds.unpacked(body))

    def replace_all(self, text: str, *, with_images: bool = False) -> None:
        """Replace what is written in a way that undo takes back. `with_images`: their labels are the images again."""
        text = clean(text)
        for fold in self.folds.inside(self.text) if with_images else ():
            if fold.attachment is not None:
                text = text.replace(fold.text, fold.mark, 1)
        if len(text) > SHOWN_CHARACTERS:
            text = self.folds.paste(text)
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)

    def insert_paste(self, text: str) -> None:
        """Put a paste where the cursor is, folded when it is long; the same once more unfolds it."""
        text = clean(text)
        if not is_long(text):
            self._replace_via_keyboard(text, *self.selection)
            return
        known = [fold for fold in self.folds.inside(self.text) if fold.attachment is None and fold.text == text]
        if known:
            self._unfold(known[-1])
            return
        self._replace_via_keyboard(self.folds.paste(text), *self.selection)

    def insert_image(self, attachment: Attachment) -> None:
        self._replace_via_keyboard(f"{self.folds.image(attachment)} ", *self.selection)

    def action_unfold(self) -> None:
        """Show the paste that the cursor is at, else the last one, as text."""
        row, column = self.cursor_location
        line = self.document[row]
        touched = [line[start:end] for start, end in self.folds.spans(line) if start <= column <= end]
        folds = [self.folds[mark] for mark in touched] or self.folds.inside(self.text)
        pastes = [fold for fold in folds if fold.attachment is None]
        if pastes:
            self._unfold(pastes[-1])

    def action_cut(self) -> None:
        """To the clipboard goes what marks stand for."""
        if self.selection.is_empty:
            super().action_cut()
            return
        self.app.copy_to_clipboard(self.selected_text)
        self._delete_via_keyboard(*self.selection)

    def edit(self, edit: Edit) -> EditResult:
        """No edit takes a part of a mark: it takes the whole mark."""
        if self.folds:
            top = self._outside(edit.top, to_end=False)
            bottom = self._outside(edit.bottom, to_end=True)
            if (top, bottom) != (edit.top, edit.bottom):
                edit = Edit(edit.text, top, bottom, edit.maintain_selection_offset)
        return super().edit(edit)

    def validate_selection(self, selection: Selection) -> Selection:
        """The cursor never stands within a mark: it goes on in the direction that it came from."""
        if not self.folds:
            return selection
        before = self.selection
        start = self._outside(selection.start, to_end=before.start < selection.start)
        end = self._outside(selection.end, to_end=before.end < selection.end)
        return Selection(start, end)

    def get_line(self, line_index: int) -> Text:
        line = self.document.get_line(line_index)
        text = Text(line.translate(_SHOWN), end="", no_wrap=True)
        for start, end in self.folds.spans(line):
            text.stylize(self.get_component_rich_style("folding-area--mark", partial=True), start, end)
        return text

    def _show(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    def _outside(self, location: Location, *, to_end: bool) -> Location:
        """The location, or one end of the mark that it lies within."""
        row, column = location
        if row < self.document.line_count:
            for start, end in self.folds.spans(self.document[row]):
                if start < column < end:
                    return row, end if to_end else start
        return location

    def _unfold(self, fold: Fold) -> None:
        """Put the text in the place of its mark, cursor at its end."""
        if len(fold.text) > SHOWN_CHARACTERS:
            self.app.notify("This is too long to be shown here. ^G opens it in your editor.", markup=False)
            return
        for row in range(self.document.line_count):
            column = self.document[row].rfind(fold.mark)
            if column >= 0:
                self._replace_via_keyboard(fold.text, (row, column), (row, column + len(fold.mark)))
                return
