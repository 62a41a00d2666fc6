-- name: save_draft
-- A session that was deleted meanwhile takes its draft along: no row, no error.
INSERT INTO drafts (profile_id, session_id, body)
SELECT %(profile_id)s, %(session_id)s::uuid, %(body)s
WHERE %(session_id)s::uuid IS NULL OR EXISTS (SELECT 1 FROM sessions s WHERE s.id = %(session_id)s::uuid)
ON CONFLICT (profile_id, session_id) DO UPDATE SET body = EXCLUDED.body, updated_at = clock_timestamp();

-- name: remove_draft
DELETE FROM drafts WHERE profile_id = %(profile_id)s AND session_id IS NOT DISTINCT FROM %(session_id)s::uuid;

-- name: draft
SELECT body FROM drafts WHERE profile_id = %(profile_id)s AND session_id IS NOT DISTINCT FROM %(session_id)s::uuid;

-- name: drafts_of_new_sessions
SELECT profile_id, body FROM drafts WHERE session_id IS NULL;
