"""A process that answers every pending request as soon as a line comes on stdin, and prints what counts as JSON."""

from __future__ import annotations

import asyncio
import json
import sys

from cos.agent.records import ApprovalAnswer
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.database import Database


async def main() -> None:
    database = await Database(sys.argv[1], size=4).open()
    approvals = Approvals(database)
    pending = await approvals.pending()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    answer = ApprovalAnswer(decision="denied", answered_by="there")
    told = await asyncio.gather(*(approvals.answer(item.id, answer) for item in pending))
    counted = {str(item.id): one.decision for item, one in zip(pending, told, strict=True)}
    print(json.dumps(counted), flush=True)
    await database.close()


if __name__ == "__main__":
    asyncio.run(main())
