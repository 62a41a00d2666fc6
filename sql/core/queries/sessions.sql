-- name: session
SELECT id, profile_id, source, title, tags, parent_session_id, root_session_id, cwd, frozen_prompt::text AS frozen_prompt,
       created_at, last_activity_at, queue_paused, context, options->>'model' AS model,
       EXISTS (SELECT 1 FROM turns t WHERE t.session_id = sessions.id) AS has_turns
FROM sessions WHERE id = %(id)s;

-- name: sessions_by_id_prefix
SELECT id, title FROM sessions WHERE id::text LIKE %(prefix)s ORDER BY last_activity_at DESC, id DESC LIMIT %(limit)s;

-- name: latest_session
SELECT id FROM sessions
WHERE (%(profile_id)s::text IS NULL OR profile_id = %(profile_id)s)
  AND archived_at IS NULL AND parent_session_id IS NULL
ORDER BY last_activity_at DESC, id DESC LIMIT 1;

-- name: set_title
UPDATE sessions SET title = %(title)s WHERE id = %(id)s;

-- name: freeze_prompt
-- Flushed with the turn that begins with it: until then nobody has seen it.
UPDATE sessions SET frozen_prompt = %(frozen_prompt)s, frozen_at = clock_timestamp(), cwd = COALESCE(cwd, %(cwd)s)
WHERE id = %(id)s AND frozen_prompt IS NULL
RETURNING set_config('synchronous_commit', 'off', true);

-- name: transcript
-- The whole history that a reader sees, inactive messages included, rewound turns left out; pages backwards by ordinal.
-- No join: while the statistics are old, one that reads all turns anew for each message looks cheap.
SELECT m.id, m.turn_id, m.ordinal, m.active, m.body::text AS body, m.created_at
FROM messages m
WHERE m.session_id = %(session_id)s AND (%(before)s::integer IS NULL OR m.ordinal < %(before)s)
  AND m.turn_id NOT IN (SELECT t.id FROM turns t WHERE t.session_id = %(session_id)s AND t.undone_at IS NOT NULL)
ORDER BY m.ordinal DESC
LIMIT %(limit)s;

-- name: session_turns
SELECT id, parent_turn_id, ordinal, tags, status, started_at, completed_at, stop_reason, error, usage
FROM turns WHERE session_id = %(session_id)s AND id = ANY(%(ids)s) ORDER BY ordinal;

-- name: session_calls
SELECT call_id, turn_id, name, args, status, result, is_error, risk, duration_ms, approval
FROM tool_calls WHERE session_id = %(session_id)s AND turn_id = ANY(%(ids)s);

-- name: session_usage
-- A rewound turn has cost what it cost; a copied one cost nothing again.
SELECT usage FROM turns
WHERE session_id = %(session_id)s AND completed_at IS NOT NULL AND usage IS NOT NULL AND copied_from_turn_id IS NULL;

-- name: enqueue
-- In a transaction that holds the session's lock: a message that has become a prompt or a steer is not taken in again.
-- A new message brings an archived session back, with the child sessions that were archived together with it, and lets a
-- paused queue go on.
-- What steers while a message waits to be sent now is meant for the turn of that one: the turn before is being stopped.
WITH RECURSIVE taken AS (
    INSERT INTO queued_messages (id, session_id, profile_id, body, source, client_message_id, mode, goes_with_id)
    SELECT %(id)s::uuid, %(session_id)s::uuid, %(profile_id)s::text, %(body)s::json, %(source)s::text,
           %(client_message_id)s::text, %(mode)s::text,
           COALESCE(%(goes_with_id)s::uuid, CASE WHEN %(mode)s::text = 'steer' THEN (
               SELECT n.id FROM queued_messages n WHERE n.session_id = %(session_id)s AND n.mode = 'now'
               ORDER BY n.id DESC LIMIT 1) END)
    WHERE NOT EXISTS (SELECT 1 FROM turns
                      WHERE session_id = %(session_id)s AND client_message_id = %(client_message_id)s)
      AND NOT EXISTS (SELECT 1 FROM messages
                      WHERE session_id = %(session_id)s AND client_message_id = %(client_message_id)s)
    ON CONFLICT (session_id, client_message_id) WHERE client_message_id IS NOT NULL DO NOTHING
    RETURNING id
), archived AS (
    SELECT id FROM sessions WHERE id = %(session_id)s AND archived_at IS NOT NULL
    UNION
    SELECT s.id FROM sessions s JOIN archived a ON s.parent_session_id = a.id
), woken AS (
    UPDATE sessions SET archived_at = NULL, queue_paused = queue_paused AND id <> %(session_id)s
    WHERE (id IN (SELECT id FROM archived) OR (id = %(session_id)s AND queue_paused)) AND EXISTS (SELECT FROM taken)
)
SELECT id FROM taken;

-- name: has_open_turn
SELECT 1 FROM turns WHERE session_id = %(session_id)s AND completed_at IS NULL;

-- name: session_and_next
-- With the message that waits to be the next; its columns are null when there is none.
SELECT s.id, s.profile_id, s.source, s.title, s.tags, s.parent_session_id, s.root_session_id, s.cwd,
       s.frozen_prompt::text AS frozen_prompt, s.created_at, s.last_activity_at, s.queue_paused, s.context,
       s.options->>'model' AS model, EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id) AS has_turns,
       q.id AS message_id, q.body::text AS body, q.source AS message_source, q.mode
FROM sessions s
LEFT JOIN LATERAL (
    SELECT id, body, source, mode FROM queued_messages WHERE session_id = s.id
    ORDER BY (mode = 'now') DESC, id LIMIT 1
) q ON true
WHERE s.id = %(id)s;

-- name: queued
SELECT id, body::text AS body, source, mode FROM queued_messages WHERE session_id = %(session_id)s
ORDER BY (mode = 'now') DESC, id;

-- name: dequeue
DELETE FROM queued_messages WHERE id = %(id)s;

-- name: pause_queue
-- While a turn runs in it, wherever that is, the queue goes on.
UPDATE sessions SET queue_paused = %(paused)s
WHERE id = %(session_id)s AND queue_paused <> %(paused)s
  AND (NOT %(paused)s OR NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = sessions.id AND t.completed_at IS NULL))
RETURNING profile_id;

-- name: taken_in
-- A message that waits, the prompt of a turn, or what went into a running one.
SELECT id AS message_id, NULL::uuid AS turn_id FROM queued_messages
WHERE session_id = %(session_id)s AND client_message_id = %(client_message_id)s
UNION ALL
SELECT (SELECT m.id FROM messages m WHERE m.turn_id = t.id ORDER BY m.ordinal LIMIT 1), t.id FROM turns t
WHERE t.session_id = %(session_id)s AND t.client_message_id = %(client_message_id)s
UNION ALL
SELECT id, turn_id FROM messages WHERE session_id = %(session_id)s AND client_message_id = %(client_message_id)s;

-- name: turn_of_message
SELECT t.id, t.session_id, t.profile_id, t.parent_turn_id, t.ordinal, t.tags, t.depth, t.status, t.started_at,
       t.completed_at, t.stop_reason, t.error, t.usage
FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.id = %(id)s;

-- name: last_reply
SELECT m.id, m.body::text AS body FROM messages m
WHERE m.turn_id = %(turn_id)s AND m.active AND m.role = 'assistant' ORDER BY m.ordinal DESC LIMIT 1;
