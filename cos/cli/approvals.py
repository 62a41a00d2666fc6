"""`cos approvals`: what waits for an answer, in any process on the database, and the answer to it."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cos.agent.errors import CosError
from cos.agent.records import ApprovalAnswer
from cos.agent.text import visible
from cos.cli.compose import StartRequest, close_database, open_database
from cos.core.config import load_config
from cos.core.effective import Flags
from cos.core.paths import Paths
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.schema import apply_core_schema

if TYPE_CHECKING:
    from cos.core.postgres.approvals import PendingApproval

ANSWERED, LOST = 0, 1
SHORT_ID = 8
"""Characters at the end of an id that the list shows: the beginnings of ids of one moment are alike."""


def run(options: argparse.Namespace) -> int:
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    async with _approvals() as approvals:
        pending = await approvals.pending()
        if options.action == "list":
            print(_listed(pending, as_json=options.json))
            return ANSWERED
        chosen = _named(pending, options.id)
        if options.action == "approve":
            answer = ApprovalAnswer(decision="allowed", answered_by="cli")
        else:
            answer = ApprovalAnswer(decision="denied", reason=options.reason, answered_by="cli")
        counted = await approvals.answer(chosen.id, answer)
        if counted != answer:
            by = f" by {counted.answered_by}" if counted.answered_by else ""
            print(f"cos: already answered: {counted.decision}{by}", file=sys.stderr)
            return LOST
        print(f"{counted.decision}: {chosen.tool} {visible(chosen.title)}")
        return ANSWERED


@asynccontextmanager
async def _approvals() -> AsyncIterator[Approvals]:
    config = load_config(Paths.from_environment(os.environ))
    request = StartRequest(env=os.environ, flags=Flags(), surface="cli", say=_progress)
    database, embedded = await open_database(config, request)
    try:
        await apply_core_schema(database)
        yield Approvals(database)
    finally:
        await close_database(database, embedded)


def _progress(line: str) -> None:
    print(f"cos: {visible(line)}", file=sys.stderr, flush=True)


def _named(pending: list[PendingApproval], text: str) -> PendingApproval:
    """The request whose id begins or ends with `text`.

    Raises:
        CosError: none does, or more than one.
    """
    wanted = text.strip().lower()
    found = [item for item in pending if str(item.id).startswith(wanted) or str(item.id).endswith(wanted)]
    if not wanted or not found:
        raise CosError(f"no pending request has an id that begins or ends with {text!r}; see cos approvals list")
    if len(found) > 1:
        raise CosError(f"{len(found)} pending requests have an id that begins or ends with {text!r}; give more of it")
    return found[0]


def _listed(pending: list[PendingApproval], *, as_json: bool) -> str:
    if as_json:
        return json.dumps([_object(item) for item in pending], ensure_ascii=False)
    if not pending:
        return "Nothing waits for an answer."
    return "\n\n".join(_card(item) for item in pending)


def _card(item: PendingApproval) -> str:
    """The exact and whole text of what would run, and whose it is."""
    head = f"{str(item.id)[-SHORT_ID:]}  {item.tool}  {item.risk}: {item.reason}"
    place = f"  session {item.session_title or item.session_id} · profile {item.profile_id}"
    tags = f" · {' '.join(item.tags)}" if item.tags else ""
    folder = f"\n  in {item.cwd}" if item.cwd else ""
    since = f"\n  since {item.requested_at.astimezone():%H:%M:%S}, until {item.expires_at.astimezone():%H:%M:%S}"
    detail = "\n".join(f"    {line}" for line in visible(item.detail or item.title).split("\n"))
    return f"{visible(head)}\n{visible(place + tags + folder)}{since}\n\n{detail}"


def _object(item: PendingApproval) -> dict[str, Any]:
    return {
        key: str(value) if key.endswith("id") else value.isoformat() if key.endswith("_at") else value
        for key, value in asdict(item).items()
    }
