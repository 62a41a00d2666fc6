-- What must hold in the whole journal, one question to each statement: it finds what is not so. `id` is what is wrong
-- (a call id, a message, ...), `turn_id` its turn. Open turns are still being written: only their owners are looked at.

-- name: room_to_compare
-- Until the transaction ends: whole tables are compared, and that wants memory.
SELECT set_config('work_mem', '128MB', true);

-- name: calls_and_results
-- Every call has one result, among the messages directly after the one that made it; calls that were never made have
-- none. (A second result of one call cannot be stored.)
WITH calls AS (
    SELECT c.session_id, c.turn_id, c.call_id, m.ordinal, m.active, count(*) OVER (PARTITION BY m.id) AS of_message
    FROM tool_calls c JOIN messages m ON m.id = c.message_id
), results AS (
    SELECT session_id, turn_id, call_id, ordinal, active FROM messages WHERE role = 'tool_result'
)
SELECT CASE WHEN c.call_id IS NULL THEN 'result without call'
            WHEN r.call_id IS NULL THEN 'call without result'
            WHEN r.active <> c.active THEN 'call parted from its result'
            ELSE 'result not directly after its call' END AS kind,
       COALESCE(c.session_id, r.session_id) AS session_id, COALESCE(c.turn_id, r.turn_id) AS turn_id,
       COALESCE(c.call_id, r.call_id) AS id
FROM calls c FULL JOIN results r ON r.session_id = c.session_id AND r.call_id = c.call_id
JOIN turns t ON t.id = COALESCE(c.turn_id, r.turn_id)
WHERE t.completed_at IS NOT NULL
  AND (c.call_id IS NULL
       OR (r.call_id IS NULL AND c.active)
       OR r.active <> c.active
       OR r.ordinal NOT BETWEEN c.ordinal + 1 AND c.ordinal + c.of_message)
ORDER BY 2, 3, 4;

-- name: unknown_calls
-- What is sent to a model says that a tool was called, and no row tells of that call.
SELECT 'call that nobody recorded' AS kind, m.session_id, m.turn_id, call ->> 'id' AS id
FROM messages m
CROSS JOIN LATERAL json_array_elements(m.body -> 'tool_calls') AS call
LEFT JOIN tool_calls c ON c.session_id = m.session_id AND c.call_id = call ->> 'id'
WHERE m.role = 'assistant' AND m.active AND strpos(m.body::text, '"tool_calls"') > 0 AND c.call_id IS NULL
ORDER BY 2, 3, 4;

-- name: strayed_messages
SELECT 'message of a turn of another session' AS kind, m.session_id, m.turn_id, m.id::text AS id
FROM messages m JOIN turns t ON t.id = m.turn_id
WHERE t.session_id <> m.session_id ORDER BY m.session_id, m.ordinal;

-- name: holes
SELECT 'messages missing from the order' AS kind, session_id, NULL::uuid AS turn_id,
       count(*) || ' messages, numbered ' || min(ordinal) || ' to ' || max(ordinal) AS id
FROM messages GROUP BY session_id HAVING min(ordinal) <> 1 OR max(ordinal) <> count(*)
UNION ALL
SELECT 'turns missing from the order', session_id, NULL,
       count(*) || ' turns, numbered ' || min(ordinal) || ' to ' || max(ordinal)
FROM turns GROUP BY session_id HAVING min(ordinal) <> 1 OR max(ordinal) <> count(*)
ORDER BY 2, 1;

-- name: open_turns
SELECT 'more than one open turn' AS kind, session_id, NULL::uuid AS turn_id, count(*) || ' open turns' AS id
FROM turns WHERE completed_at IS NULL GROUP BY session_id HAVING count(*) > 1 ORDER BY session_id;

-- name: orphaned_open_turns
-- A process holds the advisory lock that the last 8 bytes of its boot id name, and its connections bear that id.
SELECT 'open turn whose process is gone' AS kind, t.session_id, t.id AS turn_id, t.id::text AS id
FROM turns t
WHERE t.completed_at IS NULL AND NOT EXISTS (
    SELECT FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (l.classid::bigint << 32) | l.objid::bigint
          = ('x' || right(replace(t.owner_boot_id::text, '-', ''), 16))::bit(64)::bigint)
  AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE starts_with(application_name, 'cos ' || t.owner_boot_id::text))
ORDER BY t.session_id, t.id;

-- name: seconds_to_return
-- When the server has just begun, living processes may still be on their way back to it.
SELECT GREATEST(0, %(seconds)s - extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()))::float8 AS seconds;

-- name: dead_approvals
SELECT 'request that waits in a closed turn' AS kind, a.session_id, a.turn_id, a.id::text AS id
FROM approvals a JOIN turns t ON t.id = a.turn_id
WHERE a.status = 'pending' AND t.completed_at IS NOT NULL ORDER BY a.session_id, a.id;

-- name: lost_in_queue
SELECT 'waiting message without its session' AS kind, q.session_id, NULL::uuid AS turn_id, q.id::text AS id
FROM queued_messages q LEFT JOIN sessions s ON s.id = q.session_id AND s.profile_id = q.profile_id
WHERE s.id IS NULL ORDER BY q.session_id, q.id;

-- name: missing_blobs
SELECT 'picture that is missing' AS kind, w.session_id, w.turn_id, part ->> 'blob' AS id
FROM (SELECT session_id, turn_id, body FROM messages
      WHERE role <> 'assistant' AND strpos(body::text, '"blob"') > 0
      UNION ALL
      SELECT session_id, NULL, body FROM queued_messages WHERE strpos(body::text, '"blob"') > 0) AS w
CROSS JOIN LATERAL json_array_elements(w.body -> 'parts') AS part
LEFT JOIN blobs b ON b.hash = part ->> 'blob'
WHERE part ->> 'blob' IS NOT NULL AND b.hash IS NULL ORDER BY 2, 3, 4;

-- name: expire_dead_approvals
UPDATE approvals a SET status = 'expired', answered_at = clock_timestamp(), answer_reason = 'the turn ended'
FROM turns t WHERE t.id = a.turn_id AND t.completed_at IS NOT NULL AND a.status = 'pending'
RETURNING a.session_id, a.turn_id, a.id::text AS id;

-- name: turns_to_answer
-- Closed turns with calls that have no result, in sessions where nothing was said after them: a result put there is in
-- its place. Of one session, or (NULL) of all.
SELECT DISTINCT t.id, t.session_id, t.profile_id, t.parent_turn_id, t.tags, t.depth
FROM tool_calls c JOIN messages m ON m.id = c.message_id JOIN turns t ON t.id = c.turn_id
WHERE t.completed_at IS NOT NULL AND t.undone_at IS NULL AND m.active
  AND (%(session_id)s::uuid IS NULL OR c.session_id = %(session_id)s)
  AND NOT EXISTS (SELECT FROM messages r WHERE r.session_id = c.session_id AND r.call_id = c.call_id)
  AND NOT EXISTS (SELECT FROM messages later
                  LEFT JOIN tool_calls o ON o.message_id = m.id AND o.call_id = later.call_id
                  WHERE later.session_id = m.session_id AND later.ordinal > m.ordinal AND o.call_id IS NULL)
  AND NOT EXISTS (SELECT FROM tool_calls e JOIN messages em ON em.id = e.message_id
                  LEFT JOIN messages r ON r.session_id = e.session_id AND r.call_id = e.call_id
                  WHERE e.turn_id = t.id AND em.id <> m.id AND em.active AND r.id IS NULL)
ORDER BY t.id;
