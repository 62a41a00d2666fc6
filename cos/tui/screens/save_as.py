"""Asks for the name of a new file and writes a text into it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from cos.core.whole_file import FileIsThereError, write_new
from cos.tui import wording
from cos.tui.failing_work import TellsFailures
from cos.tui.widgets.key_hints import KeyHints

if TYPE_CHECKING:
    from textual.app import ComposeResult


class SaveAs(TellsFailures, ModalScreen[Path | None]):
    """The result is the file that was written, which only its owner may read; None when the user went back.

    No file is ever replaced.
    """

    DEFAULT_CSS = """
    SaveAs { align: center middle; }
    SaveAs > Static { width: 80%; max-width: 100; padding: 0 1; background: $panel; }
    SaveAs > Input { width: 80%; max-width: 100; }
    SaveAs > #problem { color: $text-error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "Back", priority=True, key_display="Esc")]

    def __init__(self, text: str, what: str, folder: Path, name: str) -> None:
        super().__init__()
        self._text = text
        self._what = what
        self._suggested = folder / name

    def compose(self) -> ComposeResult:
        yield Static(f"Save {self._what} as a new file. Enter saves, Esc goes back.", markup=False)
        yield Input(str(self._suggested), id="path", select_on_focus=False)
        yield Static("", id="problem", markup=False)
        yield KeyHints()

    @on(Input.Submitted)
    @work(exclusive=True)
    async def _save(self, event: Input.Submitted) -> None:
        written = await asyncio.to_thread(self._write, event.value)
        if isinstance(written, Path):
            self.dismiss(written)
        else:
            self.query_one("#problem", Static).update(wording.one_line(written))

    def _write(self, name: str) -> Path | str:
        """The file, or what is wrong."""
        try:
            path = Path(self._suggested.parent, Path(name.strip()).expanduser())
            write_new(path, self._text if self._text.endswith("\n") else self._text + "\n")
        except FileIsThereError:
            return f"{path} exists already; give another name."
        except FileNotFoundError:
            return f"There is no folder {path.parent}; give another one."
        except (OSError, ValueError, RuntimeError) as error:
            return f"{name} could not be written: {getattr(error, 'strerror', None) or error}."
        return path

    def action_back(self) -> None:
        self.dismiss(None)
