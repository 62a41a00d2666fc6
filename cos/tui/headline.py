"""What the title line, the status line and the approval cards say, made from rows and settings of the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.core.fork_titles import marker_first
from cos.tui import wording
from cos.tui.widgets.approval_card import Card
from cos.tui.widgets.status_line import FULL, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.agent.records import ContextMeter
    from cos.core.postgres.approvals import PendingApproval
    from cos.core.profiles import Profile
    from cos.core.sessions import SessionRow
    from cos.tui.tally import Tally


def title_of(row: SessionRow | None, next_tags: Sequence[str] = ()) -> str:
    """The open session's title with its own tags. None = it has not begun, and will have `next_tags`."""
    title, tags = ("New session", next_tags) if row is None else (marker_first(row.title or "untitled"), row.tags)
    return wording.one_line("  ".join([title, *(f"#{tag}" for tag in tags)]))


def status_of(
    profile: Profile,
    row: SessionRow | None,
    tally: Tally,
    note: str,
    *,
    next_tags: Sequence[str],
    cost: str,
    is_db_up: bool,
) -> Status:
    """The status line of a session, or of one that has not begun (`row` None) and will have `next_tags`.

    Of the context the newest model call that was seen here tells; without one the stored meter of `row` counts.
    """
    session_id = row.id if row else None
    usage, newest = tally.usage(session_id), tally.newest_call(session_id)
    tags = {str(tag) for tag in profile.settings.tags} | set(row.tags if row else next_tags)
    has_begun = row is not None and row.turn_status is not None
    meter = newest.meter if newest else row.context if row else None
    return Status(
        profile=profile.id,
        tags=tuple(sorted(tags)),
        model=(row.model if row else None)
        or (newest.model if newest else None)
        or (meter.model if meter else None)
        or profile.settings.model
        or profile.settings.provider,
        context=_context(meter) if has_begun else "",
        context_percent=meter.percent if meter else None,
        used=wording.usage(usage) if has_begun else "",
        cost=cost,
        database="db ok" if is_db_up else "db ✗",
        note=note,
    )


def _context(meter: ContextMeter | None) -> str:
    percent = ""
    if meter is not None and meter.percent is not None:
        percent = f" ({meter.percent}%{' !' if meter.percent >= FULL else ''})"
    return f"ctx {wording.tokens(meter.used if meter else None)}{percent}"


def approval_card(pending: PendingApproval) -> Card:
    is_child = pending.session_id != pending.root_session_id
    return Card(
        id=pending.id,
        session_id=pending.session_id,
        turn_id=pending.turn_id,
        session_title=pending.session_title or "untitled",
        root_title=pending.root_title or "untitled" if is_child else None,
        profile_id=pending.profile_id,
        tags=pending.tags,
        tool=pending.tool,
        title=pending.title,
        detail=pending.detail or ("" if pending.diff else pending.title),
        diff=pending.diff,
        reason=pending.reason,
        risk=pending.risk,
        cwd=pending.cwd,
        requested_at=pending.requested_at,
        expires_at=pending.expires_at,
        kind=pending.kind,
        choices=pending.choices,
    )
