-- name: export_session
SELECT s.id, s.profile_id, s.source, s.title, s.tags, s.parent_session_id, s.root_session_id, s.forked_from_session_id,
       s.cwd, s.created_at, s.last_activity_at, s.archived_at, s.frozen_prompt ->> 'model' AS model,
       (SELECT COALESCE(max(ordinal), 0) FROM messages m WHERE m.session_id = s.id) AS newest_ordinal
FROM sessions s WHERE s.id = %(id)s;

-- name: export_turns
-- Undone ones included; pages forward.
SELECT id, parent_turn_id, ordinal, tags, depth, status, started_at, completed_at, undone_at, copied_from_turn_id,
       stop_reason, error, usage
FROM turns
WHERE session_id = %(session_id)s AND ordinal > %(after)s AND (%(ids)s::uuid[] IS NULL OR id = ANY(%(ids)s))
ORDER BY ordinal LIMIT %(limit)s;

-- name: export_messages
-- Inactive ones included; pages forward.
SELECT id, turn_id, ordinal, active, body::text AS body, created_at
FROM messages
WHERE session_id = %(session_id)s AND ordinal > %(after)s AND ordinal <= %(until)s
ORDER BY ordinal LIMIT %(limit)s;

-- name: export_calls
SELECT message_id, call_id, name, args::text AS args, status, result, is_error, risk, duration_ms, approval, created_at,
       finished_at
FROM tool_calls
WHERE session_id = %(session_id)s AND turn_id = ANY(%(turn_ids)s) AND message_id = ANY(%(message_ids)s)
ORDER BY message_id, position;
