"""`cos approvals`: what waits for an answer, in any process on the database, and the answer to it."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from cos.agent.errors import CosError
from cos.agent.records import ApprovalAnswer
from cos.agent.text import exact, visible
from cos.cli.opening import StartRequest, close_database, open_database
from cos.core.answer_words import decided
from cos.core.config import load_config
from cos.core.effective import Flags
from cos.core.paths import Paths
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.grants import Grants
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.schema import apply_core_schema
from cos.core.postgres.sweep import sweep_orphans
from cos.core.profiles import load_profiles
from cos.core.questions import meant_answer, numbered
from cos.core.rule_json import rule_object, rule_words
from cos.core.rule_keeper import RuleKeeper
from cos.plugins.bill.budgets import written_amount

if TYPE_CHECKING:
    from cos.core.postgres.approvals import PendingApproval
    from cos.core.postgres.grants import Grant
    from cos.core.rules import Rule

ANSWERED, LOST = 0, 1
ASKED_BY_COS = "cos"
"""The tool of a question that no tool asks: that of a spent budget."""
SHORT_ID = 8
"""Characters at the end of an id that the list shows: the beginnings of ids of one moment are alike."""


def run(options: argparse.Namespace) -> int:
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    async with _opened() as (approvals, keeper):
        if options.action == "grants":
            print(_granted(await keeper.grants.live(), as_json=options.json))
            return ANSWERED
        if options.action == "revoke":
            return await _revoke(keeper.grants, options.id)
        pending = await approvals.pending()
        if options.action == "list":
            print(_listed(pending, as_json=options.json))
            return ANSWERED
        try:
            chosen = _named(pending, options.id, "pending request")
        except CosError:
            if said := await approvals.ended(options.id.strip().lower()):
                print(f"cos: {visible(_already(*said))}", file=sys.stderr)
                return LOST
            raise
        return await _answer(approvals, keeper, chosen, options)


async def _answer(
    approvals: Approvals, keeper: RuleKeeper, chosen: PendingApproval, options: argparse.Namespace
) -> int:
    rules: tuple[Rule, ...] = ()
    if options.action == "deny":
        answer = ApprovalAnswer(decision="denied", reason=options.reason, answered_by="cli")
    elif options.action == "answer":
        answer = _words(chosen, options.text)
    elif chosen.kind == "question":
        raise CosError(
            "that is a question; answer it with `cos approvals answer`, or decline with `cos approvals deny`"
        )
    else:
        answer = ApprovalAnswer(decision="allowed", scope=options.scope, answered_by="cli")
        proposals = keeper.proposals(chosen) if options.scope != "once" else ()
        if options.scope != "once" and not proposals:
            raise CosError(
                "no rule can say safely what would be allowed for longer; leave --scope out to allow it once"
            )
        rules = proposals[0].rules if proposals else ()
    counted = await approvals.answer(chosen.id, answer)
    if counted != answer:
        print(f"cos: {visible(_already(counted))}", file=sys.stderr)
        return LOST
    warning = await keeper.keep(chosen, answer, rules)
    print(f"{counted.decision}: {chosen.tool} {visible(chosen.title)}")
    if counted.answer is not None:
        print(f"  {visible(counted.answer)}")
    for rule in rules if warning is None else ():
        print(f"{'for this session' if options.scope == 'session' else 'always'}: {visible(rule_words(rule))}")
    if warning:
        print(f"cos: {visible(warning)}", file=sys.stderr)
    return ANSWERED


def _already(counted: ApprovalAnswer, at: datetime | None = None) -> str:
    """`already denied by you (app), at 14:02:11`."""
    return f"already {decided(counted)}{f', at {at.astimezone():%Y-%m-%d %H:%M:%S}' if at else ''}"


def _words(chosen: PendingApproval, text: str) -> ApprovalAnswer:
    if chosen.kind != "question":
        raise CosError("that is a call, not a question; use `cos approvals approve` or `cos approvals deny`")
    words = meant_answer(text, chosen.choices)
    if not words:
        raise CosError("the answer is empty; `cos approvals deny` declines to answer")
    if chosen.tool == ASKED_BY_COS and words not in chosen.choices and written_amount(words) is None:
        raise CosError(f"{words!r} is no amount of dollars and none of the choices; the question still waits")
    return ApprovalAnswer(decision="answered", answer=words, answered_by="cli")


async def _revoke(grants: Grants, text: str) -> int:
    chosen = _named(await grants.live(), text, "grant")
    if not await grants.revoke(chosen.id):
        print("cos: it had ended before", file=sys.stderr)
        return LOST
    print(f"revoked: {visible(rule_words(chosen.rule))}")
    return ANSWERED


@asynccontextmanager
async def _opened() -> AsyncIterator[tuple[Approvals, RuleKeeper]]:
    paths = Paths.from_environment(os.environ)
    config, profiles = load_config(paths), load_profiles(paths)
    request = StartRequest(env=os.environ, flags=Flags(), surface="cli", say=_progress)
    database, embedded = await open_database(config, request)
    try:
        await apply_core_schema(database)
        # What a process that died has left asks for nothing any more.
        await sweep_orphans(database, PostgresJournal(database))
        # Rules of whole tools name where the tool comes from; the list of plugins is not loaded for that.
        yield Approvals(database), RuleKeeper(profiles, {}, Grants(database))
    finally:
        await close_database(database, embedded)


def _progress(line: str) -> None:
    print(f"cos: {visible(line)}", file=sys.stderr, flush=True)


Named = TypeVar("Named", "PendingApproval", "Grant")


def _named(items: Sequence[Named], text: str, kind: str) -> Named:
    """The one whose id begins or ends with `text`.

    Raises:
        CosError: none does, or more than one.
    """
    wanted = text.strip().lower()
    found = [item for item in items if str(item.id).startswith(wanted) or str(item.id).endswith(wanted)]
    if not wanted or not found:
        raise CosError(f"no {kind} has an id that begins or ends with {text!r}; list them first")
    if len(found) > 1:
        raise CosError(f"more than one {kind} has an id that begins or ends with {text!r}; give more of it")
    return found[0]


def _granted(grants: Sequence[Grant], *, as_json: bool) -> str:
    if as_json:
        return json.dumps([_object(grant) | {"rule": rule_object(grant.rule)} for grant in grants], ensure_ascii=False)
    if not grants:
        return "No session has a grant. Rules for always stand in the profile's config.toml."
    return "\n".join(_grant_line(grant) for grant in grants)


def _grant_line(grant: Grant) -> str:
    used = f"used {grant.uses} time{'' if grant.uses == 1 else 's'}" if grant.uses else "not used yet"
    session = grant.session_title or grant.root_session_id
    words = f"{str(grant.id)[-SHORT_ID:]}  {rule_words(grant.rule)}  ({used}; session {session}, by {grant.granted_by})"
    return visible(words).replace("\n", " ")


def _listed(pending: list[PendingApproval], *, as_json: bool) -> str:
    if as_json:
        return json.dumps([_object(item) for item in pending], ensure_ascii=False)
    if not pending:
        return "Nothing waits for an answer."
    return "\n\n".join(_card(item) for item in pending)


def _card(item: PendingApproval) -> str:
    """The exact and whole text of what would run or of the question, and whose it is."""
    is_question = item.kind == "question"
    why = item.reason if is_question else f"{item.risk}: {item.reason}"
    head = f"{str(item.id)[-SHORT_ID:]}  {item.tool}  {item.title}\n  {why}"
    works_for = f" ← {item.root_title or item.root_session_id}" if item.session_id != item.root_session_id else ""
    place = f"  session {item.session_title or item.session_id}{works_for} · profile {item.profile_id}"
    tags = f" · {' '.join(item.tags)}" if item.tags else ""
    folder = f"\n  in {item.cwd}" if item.cwd else ""
    since = f"\n  since {item.requested_at.astimezone():%H:%M:%S}, until {item.expires_at.astimezone():%H:%M:%S}"
    text = numbered(item.detail, item.choices) if is_question else item.diff or item.detail or item.title
    detail = "\n".join(f"    {line}" for line in exact(text).split("\n"))
    return f"{visible(head)}\n{visible(place + tags + folder)}{since}\n\n{detail}"


def _object(item: PendingApproval | Grant) -> dict[str, Any]:
    return {key: _plain(value) for key, value in asdict(item).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    return value.isoformat() if isinstance(value, datetime) else value
