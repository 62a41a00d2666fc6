-- name: waiting
SELECT id, session_id, profile_id, body::text AS body FROM queued_messages WHERE id = %(id)s;

-- name: waiting_for_change
SELECT id, session_id, profile_id, body::text AS body FROM queued_messages WHERE id = %(id)s FOR UPDATE;

-- name: set_waiting_body
UPDATE queued_messages SET body = %(body)s WHERE id = %(id)s;

-- name: set_waiting_mode
UPDATE queued_messages SET mode = %(mode)s WHERE id = %(id)s;

-- name: remove_waiting
DELETE FROM queued_messages WHERE id = %(id)s;

-- name: turn_that_took
SELECT turn_id FROM messages WHERE id = %(id)s;

-- name: set_option
-- A value of null takes the option out.
UPDATE sessions
SET options = json_strip_nulls((options::jsonb || jsonb_build_object(%(name)s::text, %(value)s::text))::json)
WHERE id = %(session_id)s
RETURNING profile_id;

-- name: last_turn
SELECT t.id, t.profile_id, t.completed_at,
       (SELECT m.body::text FROM messages m
        WHERE m.turn_id = t.id AND m.role = 'user' ORDER BY m.ordinal LIMIT 1) AS body
FROM turns t WHERE t.session_id = %(session_id)s AND t.undone_at IS NULL ORDER BY t.ordinal DESC LIMIT 1;
