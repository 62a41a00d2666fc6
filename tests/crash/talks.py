"""One conversation of the harness with cos: what it has sent, and what of it was acknowledged."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.crash.process import CosProcess, Shown

_QUIET_SECONDS = 0.12


@dataclass(slots=True)
class Talk:
    """Texts are told apart by ids of the harness."""

    profile: str
    marker: str
    find_session: Callable[[str], str | None]
    """Of a conversation whose beginning was not acknowledged: a person sees it in the list of sessions."""
    session: str | None = None
    sent: dict[str, str] = field(default_factory=dict)
    """Texts, in the order of sending."""
    modes: dict[str, str] = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)

    def say(self, cos: CosProcess, key: str, mode: str, words: str) -> None:
        self.sent[key], self.modes[key] = f"{self.marker} {words} {key}.", mode
        self._send(cos, key)

    def send_again(self, cos: CosProcess) -> None:
        """As a client does with what was not acknowledged."""
        for key in self.sent:
            if key not in self.accepted:
                self._send(cos, key)

    def look_for_session(self) -> str | None:
        self.session = self.session or self.find_session(self.marker)
        return self.session

    def note(self, shown: Shown) -> None:
        for key, said in shown.accepted.items():
            if key in self.sent:
                self.accepted.add(key)
                self.session = said["session"]

    def rests(self, cos: CosProcess) -> bool:
        """As far as can be told from what cos says: all is taken in, no turn runs, and it is quiet."""
        told = cos.shown.accepted.keys() | cos.shown.refused.keys() | self.accepted
        quiet = time.monotonic() - cos.last_said > _QUIET_SECONDS
        return not cos.is_alive or (quiet and not cos.shown.runs and self.sent.keys() <= told)

    def _send(self, cos: CosProcess, key: str) -> None:
        with suppress(OSError):  # Killed meanwhile.
            cos.send(
                id=key, text=self.sent[key], profile=self.profile, session=self.look_for_session(), mode=self.modes[key]
            )
