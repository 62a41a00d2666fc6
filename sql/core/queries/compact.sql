-- name: unanswered_active_calls
SELECT c.call_id FROM tool_calls c JOIN messages m ON m.id = c.message_id
WHERE m.session_id = %(session_id)s AND m.active
  AND NOT EXISTS (SELECT 1 FROM messages r WHERE r.session_id = c.session_id AND r.call_id = c.call_id)
LIMIT 1;

-- name: put_away
-- Kept and shown, never sent to a model again. Nobody has counted yet what takes its place.
WITH emptied AS (UPDATE sessions SET context = NULL WHERE id = %(session_id)s)
UPDATE messages SET active = false, put_away_by = %(summary_id)s WHERE session_id = %(session_id)s AND active;
