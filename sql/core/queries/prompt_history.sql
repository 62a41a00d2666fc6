-- name: prompts
-- What people sent in a profile, newest first, before the message `before`. Messages that delegation or the loop wrote,
-- and those that a fork copied, are left out. Ids sort by creation.
SELECT m.id, m.body ->> 'text' AS text
FROM messages m
JOIN sessions s ON s.id = m.session_id
JOIN turns t ON t.id = m.turn_id
WHERE m.profile_id = %(profile_id)s AND m.role = 'user'
  AND COALESCE(m.body ->> 'origin', 'typed') IN ('typed', 'queued', 'steered')
  AND s.parent_session_id IS NULL AND t.copied_from_turn_id IS NULL
  AND (%(before)s::uuid IS NULL OR m.id < %(before)s)
ORDER BY m.id DESC
LIMIT %(limit)s;

-- name: search_prompts
-- As above, those that contain every one of the patterns.
SELECT m.id, m.body ->> 'text' AS text
FROM messages m
JOIN sessions s ON s.id = m.session_id
JOIN turns t ON t.id = m.turn_id
WHERE m.profile_id = %(profile_id)s AND m.role = 'user'
  AND m.search_text ILIKE ALL (%(patterns)s)
  AND COALESCE(m.body ->> 'origin', 'typed') IN ('typed', 'queued', 'steered')
  AND s.parent_session_id IS NULL AND t.copied_from_turn_id IS NULL
ORDER BY m.id DESC
LIMIT %(limit)s;
