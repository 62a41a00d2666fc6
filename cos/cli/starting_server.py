"""The user's own database server while it comes up, on a thread, beside everything else that a start has to do.

Nothing heavy is imported here: on a machine without a database it is the first thing that begins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cos.core.embedded.folders import default_state_dir
from cos.core.embedded.server import EmbeddedPostgres
from cos.core.paths import Paths

if TYPE_CHECKING:
    from pathlib import Path

    from cos.core.embedded.connection import ConnectionTarget


class StartingServer:
    """Begins to attach as soon as it is made. Whoever makes it sees that `leave` is called, or that of `embedded`."""

    def __init__(self, state_dir: Path, *, bin_dir: Path | None = None, run_as: str | None = None) -> None:
        self._said = ""
        self._listener: Callable[[str], None] | None = None
        self._telling = threading.Lock()
        self.embedded = EmbeddedPostgres(state_dir, bin_dir=bin_dir, run_as=run_as, say=self._say)
        thread = ThreadPoolExecutor(1, thread_name_prefix="cos-server")
        self.attached: Future[ConnectionTarget] = thread.submit(self.embedded.attach)
        """Raises DatabaseError when the database cannot be used."""
        thread.shutdown(wait=False)

    def tell(self, listener: Callable[[str], None]) -> None:
        """Let `listener` have the progress lines, from any thread; the last of those that it missed comes at once."""
        with self._telling:
            self._listener = listener
            if self._said:
                listener(self._said)

    def leave(self) -> None:
        """Stop using the server, as soon as that can be; does nothing when that was done before."""
        self.embedded.leave()
        wait([self.attached])
        # The first came too early when the thread had not begun.
        self.embedded.leave()

    def _say(self, line: str) -> None:
        with self._telling:
            self._said = line
            if self._listener is not None:
                self._listener(line)


@contextmanager
def server_of_first_start(env: Mapping[str, str]) -> Iterator[StartingServer]:
    """The user's own server with the settings that hold without commonos.toml, left at the end of the block.

    Raises:
        FolderError: there is no place for cos on this machine.
    """
    server = StartingServer(default_state_dir(Paths.from_environment(env).data_dir))
    try:
        yield server
    finally:
        server.leave()
