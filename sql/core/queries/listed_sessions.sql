-- name: listed_sessions
SELECT s.id, s.profile_id, s.source, s.title, s.tags, s.parent_session_id, s.forked_from_session_id, s.created_at,
       s.last_activity_at, s.archived_at, s.queue_paused, t.status AS turn_status,
       (SELECT count(*) FROM approvals a WHERE a.session_id = s.id AND a.status = 'pending') AS waiting,
       (SELECT count(*) FROM queued_messages q WHERE q.session_id = s.id) AS queued
FROM sessions s
LEFT JOIN LATERAL (
    SELECT status FROM turns WHERE session_id = s.id AND undone_at IS NULL ORDER BY ordinal DESC LIMIT 1
) t ON true
WHERE (s.archived_at IS NOT NULL) = %(archived)s
  AND (%(profile_id)s::text IS NULL OR s.profile_id = %(profile_id)s)
ORDER BY s.last_activity_at DESC, s.id DESC
LIMIT %(limit)s;
