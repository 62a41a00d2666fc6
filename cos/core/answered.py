"""What came of the newest slash commands: one that comes again, its sender having heard nothing, runs only once.

Only this process knows; a message to a model is known by its row, whichever process takes it in.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from cos.agent.cancellation import uninterrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable
    from typing import Any

    from cos.core.commands import CommandAnswer

LIMIT: Final = 500


class AnsweredCommands:
    """By session and the id that the sender gave."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, asyncio.Future[CommandAnswer | None]] = OrderedDict()

    async def once(
        self, key: Hashable, run: Callable[[], Coroutine[Any, Any, CommandAnswer | None]]
    ) -> CommandAnswer | None:
        """What `run` answers, or answered before, or will have answered when it is under way.

        What `run` raises is raised, and the next time it is run again.
        """
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = asyncio.ensure_future(run())
        try:
            return await uninterrupted(answer)
        finally:
            if answer.cancelled() or answer.exception() is not None:
                self._answers.pop(key, None)
            while len(self._answers) > LIMIT and next(iter(self._answers.values())).done():
                self._answers.popitem(last=False)
