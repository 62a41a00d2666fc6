-- name: turns_page
-- Undone ones left out; those after an ordinal or (null) the newest. `had_output`: it said or called something; null
-- while it runs.
SELECT t.id, t.parent_turn_id, t.ordinal, t.tags, t.status, t.started_at, t.completed_at, t.stop_reason, t.error,
       t.usage,
       CASE WHEN t.completed_at IS NOT NULL THEN
           EXISTS (SELECT 1 FROM tool_calls c WHERE c.turn_id = t.id)
           OR EXISTS (SELECT 1 FROM messages m
                      WHERE m.turn_id = t.id AND m.role = 'assistant' AND m.body ->> 'text' ~ '\S')
       END AS had_output
FROM turns t
WHERE t.session_id = %(session_id)s AND t.undone_at IS NULL
  AND t.ordinal > COALESCE(%(after)s, (
      SELECT min(ordinal) - 1 FROM (
          SELECT ordinal FROM turns WHERE session_id = %(session_id)s AND undone_at IS NULL
          ORDER BY ordinal DESC LIMIT %(limit)s
      ) AS newest))
ORDER BY t.ordinal LIMIT %(limit)s;

-- name: undone_turns
SELECT id FROM turns WHERE session_id = %(session_id)s AND undone_at IS NOT NULL ORDER BY ordinal;

-- name: open_turn_of
SELECT id FROM turns WHERE session_id = %(session_id)s AND completed_at IS NULL;

-- name: messages_after
-- No join: see `transcript`.
SELECT m.id, m.turn_id, m.ordinal, m.active, m.body::text AS body, m.created_at
FROM messages m
WHERE m.session_id = %(session_id)s AND m.ordinal > %(after)s
  AND m.turn_id NOT IN (SELECT t.id FROM turns t WHERE t.session_id = %(session_id)s AND t.undone_at IS NOT NULL)
ORDER BY m.ordinal LIMIT %(limit)s;

-- name: calls_of_turns
-- What a call would do stands in the last request to allow it; one that nobody was asked about has none.
SELECT c.call_id, c.turn_id, c.name, c.args, c.status, c.result, c.is_error, c.risk, c.duration_ms, c.approval,
       a.title, a.diff
FROM tool_calls c
LEFT JOIN LATERAL (
    SELECT title, diff FROM approvals
    WHERE turn_id = c.turn_id AND call_id = c.call_id AND kind = 'tool_call' ORDER BY requested_at DESC, id DESC LIMIT 1
) a ON true
WHERE c.turn_id = ANY(%(ids)s) ORDER BY c.turn_id, c.created_at, c.position;

-- name: count_sessions
SELECT count(*) AS count FROM sessions;

-- name: count_turns
SELECT status, count(*) AS count FROM turns GROUP BY status;
