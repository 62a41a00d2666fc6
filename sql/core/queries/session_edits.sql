-- name: rename_session
UPDATE sessions SET title = %(title)s WHERE id = %(id)s RETURNING profile_id;

-- name: session_tags
SELECT tags FROM sessions WHERE id = %(id)s FOR UPDATE;

-- name: tag_session
UPDATE sessions SET tags = %(tags)s WHERE id = %(id)s RETURNING profile_id;

-- name: see_session
-- Changes a row only when there is news, so that two readers never wake each other in turns.
UPDATE sessions SET seen_at = clock_timestamp()
WHERE id = %(id)s
  AND EXISTS (SELECT 1 FROM turns t
              WHERE t.session_id = sessions.id AND t.completed_at > COALESCE(sessions.seen_at, '-infinity'))
RETURNING profile_id;

-- name: family
-- The sessions with all their child sessions, and who runs a turn in them.
WITH RECURSIVE family AS (
    SELECT id FROM sessions WHERE id = ANY(%(ids)s)
    UNION
    SELECT s.id FROM sessions s JOIN family f ON s.parent_session_id = f.id
)
SELECT s.id, s.profile_id, s.title, s.parent_session_id, t.owner_boot_id
FROM family f JOIN sessions s ON s.id = f.id
LEFT JOIN turns t ON t.session_id = s.id AND t.completed_at IS NULL
ORDER BY s.id;

-- name: lock_sessions
-- No turn can begin in them and no child session can be added until the transaction ends.
SELECT id FROM sessions WHERE id = ANY(%(ids)s) ORDER BY id FOR UPDATE;

-- name: archive_sessions
UPDATE sessions SET archived_at = CASE WHEN %(archived)s THEN COALESCE(archived_at, clock_timestamp()) END
WHERE id = ANY(%(ids)s);

-- name: count_content
SELECT s.id, (SELECT count(*) FROM turns t WHERE t.session_id = s.id) AS turns,
       (SELECT count(*) FROM messages m WHERE m.session_id = s.id) AS messages
FROM sessions s WHERE s.id = ANY(%(ids)s);

-- name: count_forks
SELECT count(*) AS forks FROM sessions
WHERE forked_from_session_id = ANY(%(ids)s) AND NOT id = ANY(%(ids)s);

-- name: delete_sessions
-- Everything that belongs to them goes by their foreign keys.
DELETE FROM sessions WHERE id = ANY(%(ids)s);

-- name: turn_numbered
SELECT id FROM turns WHERE session_id = %(session_id)s AND ordinal = %(ordinal)s AND undone_at IS NULL;

-- name: turns_in_order
SELECT id, completed_at IS NOT NULL AS has_ended FROM turns
WHERE session_id = %(session_id)s AND undone_at IS NULL ORDER BY ordinal;

-- name: turns_from
SELECT count(*) AS count FROM turns
WHERE session_id = %(session_id)s AND undone_at IS NULL
  AND ordinal >= (SELECT ordinal FROM turns
                  WHERE id = %(turn_id)s AND session_id = %(session_id)s AND undone_at IS NULL);

-- name: typed_in_turns
SELECT body::text AS body FROM messages WHERE turn_id = ANY(%(turns)s) AND role = 'user' ORDER BY ordinal;

-- name: undo_turns
UPDATE turns SET undone_at = clock_timestamp() WHERE id = ANY(%(turns)s);

-- name: undo_messages
-- No call id of a model holds the sign: the model, which no longer sees the old id, may use it again.
UPDATE messages SET active = false, call_id = call_id || '~' || turn_id WHERE turn_id = ANY(%(turns)s);

-- name: take_out_again
-- What a summary in these turns had taken the place of.
UPDATE messages m SET active = true, put_away_by = NULL
FROM turns t
WHERE t.id = m.turn_id AND t.undone_at IS NULL AND m.session_id = %(session_id)s
  AND m.put_away_by IN (SELECT s.id FROM messages s WHERE s.turn_id = ANY(%(turns)s));

-- name: undo_calls
UPDATE tool_calls SET call_id = call_id || '~' || turn_id WHERE turn_id = ANY(%(turns)s);

-- name: undo_approvals
UPDATE approvals SET call_id = call_id || '~' || turn_id WHERE turn_id = ANY(%(turns)s);

-- name: rewind_context
UPDATE sessions SET context = (SELECT t.context FROM turns t WHERE t.session_id = %(session_id)s AND t.undone_at IS NULL
                               ORDER BY t.ordinal DESC LIMIT 1)
WHERE id = %(session_id)s;

-- name: lock_fork_titles
SELECT pg_advisory_xact_lock(hashtextextended(%(profile_id)s::text || %(stem)s::text, 0));

-- name: fork_titles
SELECT title FROM sessions WHERE profile_id = %(profile_id)s AND starts_with(title, %(stem)s::text);

-- name: fork_session
INSERT INTO sessions (id, profile_id, source, title, tags, root_session_id, forked_from_session_id, cwd, options,
                      frozen_prompt, frozen_at, context, seen_at)
SELECT %(id)s::uuid, s.profile_id, (SELECT r.source FROM sessions r WHERE r.id = s.root_session_id), %(title)s::text,
       s.tags, %(id)s::uuid, s.id, s.cwd, s.options, s.frozen_prompt, s.frozen_at,
       CASE WHEN %(is_whole)s THEN s.context ELSE (SELECT t.context FROM turns t WHERE t.id = %(last_turn_id)s) END,
       clock_timestamp()
FROM sessions s WHERE s.id = %(from_id)s;

-- name: copy_turns
INSERT INTO turns (id, session_id, profile_id, ordinal, tags, status, owner_boot_id, started_at, completed_at,
                   last_activity_at, stop_reason, error, usage, context, copied_from_turn_id, waited_seconds)
SELECT n.new_id, %(session_id)s::uuid, t.profile_id, row_number() OVER (ORDER BY t.ordinal), t.tags, t.status,
       t.owner_boot_id, t.started_at, t.completed_at, t.last_activity_at, t.stop_reason, t.error, t.usage,
       t.context, COALESCE(t.copied_from_turn_id, t.id), n.waited
FROM unnest(%(turns)s::uuid[], %(new_turns)s::uuid[], %(waited)s::double precision[]) AS n (id, new_id, waited)
JOIN turns t ON t.id = n.id;

-- name: messages_in_order
SELECT id FROM messages WHERE turn_id = ANY(%(turns)s) ORDER BY ordinal;

-- name: copy_messages
INSERT INTO messages (id, session_id, turn_id, profile_id, ordinal, role, call_id, active, put_away_by, body,
                      search_text, created_at)
SELECT n.new_id, %(session_id)s::uuid, nt.new_id, m.profile_id, row_number() OVER (ORDER BY m.ordinal), m.role,
       m.call_id, m.active OR (m.put_away_by IS NOT NULL AND summary.id IS NULL), summary.new_id, m.body,
       m.search_text, m.created_at
FROM unnest(%(messages)s::uuid[], %(new_messages)s::uuid[]) AS n (id, new_id)
JOIN messages m ON m.id = n.id
LEFT JOIN unnest(%(messages)s::uuid[], %(new_messages)s::uuid[]) AS summary (id, new_id)
    ON summary.id = m.put_away_by
JOIN unnest(%(turns)s::uuid[], %(new_turns)s::uuid[]) AS nt (id, new_id) ON nt.id = m.turn_id;

-- name: copy_calls
INSERT INTO tool_calls (session_id, call_id, turn_id, profile_id, message_id, position, name, args, status, result,
                        is_error, risk, duration_ms, approval, created_at, finished_at)
SELECT %(session_id)s::uuid, c.call_id, nt.new_id, c.profile_id, n.new_id, c.position, c.name, c.args, c.status,
       c.result, c.is_error, c.risk, c.duration_ms, c.approval, c.created_at, c.finished_at
FROM tool_calls c
JOIN unnest(%(turns)s::uuid[], %(new_turns)s::uuid[]) AS nt (id, new_id) ON nt.id = c.turn_id
LEFT JOIN unnest(%(messages)s::uuid[], %(new_messages)s::uuid[]) AS n (id, new_id) ON n.id = c.message_id;
