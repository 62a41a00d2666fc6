"""What is on screen of one text while the attempts at it come and go."""

from __future__ import annotations


class Strand:
    """The text or the thinking of a reply: what is on screen, and how far the present attempt has repeated it."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._repeated = ""
        self._is_ahead = True
        """The attempt has repeated all that is shown (or nothing was): what comes next is new."""

    @property
    def shown(self) -> str:
        if len(self._shown) > 1:
            self._shown = ["".join(self._shown)]
        return self._shown[0] if self._shown else ""

    @property
    def of_attempt(self) -> str:
        return self.shown if self._is_ahead else self._repeated

    @property
    def attempt_has_begun(self) -> bool:
        """As `bool(of_attempt)`, at no cost."""
        return bool(self._shown if self._is_ahead else self._repeated)

    def begin_attempt(self) -> None:
        self._repeated = ""
        self._is_ahead = not self._shown

    def add(self, chunk: str) -> str | None:
        """What of `chunk` is new on screen, or None when the attempt differs from what is shown."""
        if self._is_ahead:
            if chunk:
                self._shown.append(chunk)
            return chunk
        self._repeated += chunk
        shown = self.shown
        if shown.startswith(self._repeated) and shown != self._repeated:
            return ""
        if not self._repeated.startswith(shown):
            return None
        self._show_only(self._repeated)
        return self._repeated[len(shown) :]

    def restart_with_attempt(self) -> str:
        """Forget what was shown before the attempt; return the attempt's text so far."""
        attempt = self.of_attempt
        self._show_only(attempt)
        return attempt

    def _show_only(self, text: str) -> None:
        self._shown, self._is_ahead = [text] if text else [], True
