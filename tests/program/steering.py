"""Sends a message into a session from a process of its own: `python -m tests.program.steering MODE TEXT`."""

from __future__ import annotations

import asyncio
import os
import sys

from cos.agent.steering import DeliveryMode
from cos.cli.compose import StartRequest, open_core
from cos.core.effective import Flags
from cos.core.inbound import Inbound


async def main(mode: DeliveryMode, text: str) -> None:
    core = await open_core(StartRequest(env=os.environ, flags=Flags(), surface="test", say=lambda line: None))
    try:
        session_id = await core.sessions.latest(None)
        await core.dispatcher.dispatch(
            Inbound(text=text, profile_id=core.profile.id, source="cli", session_id=session_id, mode=mode)
        )
    finally:
        await core.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))  # type: ignore[arg-type]  # a test knows the modes
