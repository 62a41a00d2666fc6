"""What must never be found of a session, whatever happens when: a query, and why."""

from __future__ import annotations

NEVER = {
    """SELECT count(*) FROM turns WHERE session_id = %(id)s AND completed_at IS NULL HAVING count(*) > 1""":
        "two open turns",
    """SELECT a.id FROM turns a JOIN turns b ON a.session_id = b.session_id AND a.ordinal < b.ordinal
       WHERE a.session_id = %(id)s AND COALESCE(a.completed_at, 'infinity') > b.started_at""":
        "turns of a session overlap",
    """SELECT m.id FROM messages m LEFT JOIN turns t ON t.id = m.turn_id AND t.session_id = m.session_id
       WHERE m.session_id = %(id)s AND t.id IS NULL""":
        "a message without a turn of its session",
    """SELECT a.id FROM approvals a JOIN turns t ON t.id = a.turn_id
       WHERE a.session_id = %(id)s AND a.status = 'pending' AND t.completed_at IS NOT NULL""":
        "a pending request in a turn that has ended",
    """SELECT count(*) FROM messages WHERE session_id = %(id)s HAVING count(*) <> COALESCE(max(ordinal), 0)""":
        "holes among the messages",
    """SELECT count(*) FROM turns WHERE session_id = %(id)s HAVING count(*) <> COALESCE(max(ordinal), 0)""":
        "holes among the turns",
    """SELECT c.call_id FROM tool_calls c JOIN turns t ON t.id = c.turn_id
       WHERE c.session_id = %(id)s AND t.completed_at IS NOT NULL AND c.finished_at IS NULL""":
        "an unfinished call in a turn that has ended",
}  # fmt: skip
