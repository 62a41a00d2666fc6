-- name: flush_later
-- Until the transaction ends: whoever relies on it commits something after it, and that flushes this, too.
SELECT set_config('synchronous_commit', 'off', true);

-- name: create_session
-- The one that the same message began before, if there is one, as it is.
INSERT INTO sessions (id, profile_id, source, title, tags, parent_session_id, root_session_id, client_message_id)
VALUES (%(id)s, %(profile_id)s, %(source)s, %(title)s, %(tags)s, %(parent_session_id)s,
        COALESCE((SELECT root_session_id FROM sessions WHERE id = %(parent_session_id)s), %(id)s),
        %(client_message_id)s)
ON CONFLICT (client_message_id) WHERE client_message_id IS NOT NULL
DO UPDATE SET client_message_id = excluded.client_message_id
RETURNING id;

-- name: load_history
SELECT body::text AS body FROM messages WHERE session_id = %(session_id)s AND active ORDER BY ordinal;

-- name: lock_session
-- The first statement of every transaction that appends: one writer per session at a time, ordinals without holes.
SELECT profile_id FROM sessions WHERE id = %(session_id)s FOR UPDATE;

-- name: take_queued
-- A message that waited keeps its id when it becomes a prompt.
DELETE FROM queued_messages WHERE id = %(id)s RETURNING client_message_id, body::text AS body;

-- name: keep_steers_waiting
-- What was meant for the turn before waits for its own; what goes with this turn's prompt goes into it.
UPDATE queued_messages s SET mode = 'queue'
WHERE s.session_id = %(session_id)s AND s.mode = 'steer'
  AND (s.goes_with_id IS NULL OR s.goes_with_id IS DISTINCT FROM %(prompt_id)s)
  AND NOT EXISTS (SELECT 1 FROM queued_messages p WHERE p.id = s.goes_with_id);

-- name: left_queues
-- Queues that could go on and with which nobody has gone on for so many seconds: whoever was to is gone.
SELECT s.id, s.profile_id FROM sessions s
WHERE s.id IN (SELECT q.session_id FROM queued_messages q) AND NOT s.queue_paused
  AND (%(id)s::uuid IS NULL OR s.id = %(id)s)
  AND NOT EXISTS (SELECT FROM queued_messages q WHERE q.session_id = s.id
                  AND q.created_at > clock_timestamp() - make_interval(secs => %(seconds)s))
  AND NOT EXISTS (SELECT FROM turns t WHERE t.session_id = s.id AND (t.completed_at IS NULL
                  OR t.completed_at > clock_timestamp() - make_interval(secs => %(seconds)s)));

-- name: pause_left_queue
-- Whoever would have gone on with it is gone.
UPDATE sessions SET queue_paused = true
WHERE id = %(session_id)s AND EXISTS (SELECT FROM queued_messages WHERE session_id = %(session_id)s);

-- name: has_steers
SELECT 1 FROM queued_messages s
WHERE s.session_id = %(session_id)s AND s.mode = 'steer'
  AND NOT EXISTS (SELECT 1 FROM queued_messages p WHERE p.id = s.goes_with_id) LIMIT 1;

-- name: take_steers
-- Those that go with a prompt that still waits are not for this turn.
DELETE FROM queued_messages s
WHERE s.session_id = %(session_id)s AND s.mode = 'steer'
  AND NOT EXISTS (SELECT 1 FROM queued_messages p WHERE p.id = s.goes_with_id)
RETURNING id, body::text AS body, client_message_id;

-- name: call_ids
SELECT call_id FROM tool_calls WHERE session_id = %(session_id)s;

-- name: start_turn
-- The queue goes on after it.
WITH going AS (UPDATE sessions SET queue_paused = false WHERE id = %(session_id)s AND queue_paused)
INSERT INTO turns (id, session_id, profile_id, parent_turn_id, ordinal, tags, depth, owner_boot_id, client_message_id)
VALUES (%(id)s, %(session_id)s, %(profile_id)s, %(parent_turn_id)s,
        (SELECT COALESCE(max(ordinal), 0) + 1 FROM turns WHERE session_id = %(session_id)s),
        %(tags)s, %(depth)s, %(owner_boot_id)s, %(client_message_id)s)
RETURNING started_at;

-- name: touch_turn
-- Also the fence: a process that lost its turn finds no row here and must stop writing.
UPDATE turns SET last_activity_at = clock_timestamp(), usage = COALESCE(%(usage)s, usage)
WHERE id = %(turn_id)s AND completed_at IS NULL AND owner_boot_id = %(owner_boot_id)s
RETURNING id;

-- name: keep_pieces
-- The lock: nobody closes a turn between the look at it and the end of the statement.
INSERT INTO reply_pieces (turn_id, message_id, number, is_thinking, text)
SELECT k.turn_id, k.message_id, k.number, k.is_thinking, k.text
FROM unnest(%(turn_ids)b::uuid[], %(message_ids)b::uuid[], %(numbers)b::integer[], %(thinking)b::boolean[],
            %(texts)b::text[]) AS k (turn_id, message_id, number, is_thinking, text)
JOIN turns t ON t.id = k.turn_id
WHERE t.completed_at IS NULL AND t.owner_boot_id = %(owner_boot_id)s
FOR SHARE OF t
ON CONFLICT DO NOTHING;

-- name: open_reply
-- What is kept of the reply that is streamed in the session and is no message yet; also by a cos of before schema 3.
WITH running AS (
    SELECT id, open_reply_id, open_reply FROM turns WHERE session_id = %(session_id)s AND completed_at IS NULL
)
SELECT p.turn_id, p.message_id, string_agg(p.text, '' ORDER BY p.number) FILTER (WHERE NOT p.is_thinking) AS text,
       string_agg(p.text, '' ORDER BY p.number) FILTER (WHERE p.is_thinking) AS thinking
FROM reply_pieces p
WHERE p.turn_id = (SELECT id FROM running) AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = p.message_id)
GROUP BY p.turn_id, p.message_id
UNION ALL
SELECT r.id, r.open_reply_id, r.open_reply->>'text', r.open_reply->'blocks'->0->>'thinking' FROM running r
WHERE r.open_reply_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = r.open_reply_id)
ORDER BY message_id DESC LIMIT 1;

-- name: touch_session
UPDATE sessions SET last_activity_at = clock_timestamp(), context = COALESCE(%(context)s::json, context)
WHERE id = %(session_id)s;

-- name: append_message
INSERT INTO messages (id, session_id, turn_id, profile_id, ordinal, role, call_id, active, body, search_text,
                      client_message_id)
VALUES (%(id)s, %(session_id)s, %(turn_id)s, %(profile_id)s,
        (SELECT COALESCE(max(ordinal), 0) + 1 FROM messages WHERE session_id = %(session_id)s),
        %(role)s, %(call_id)s, %(active)s, %(body)s, %(search_text)s, %(client_message_id)s);

-- name: annotate_prompt
UPDATE messages SET body = %(body)s WHERE id = %(id)s AND turn_id = %(turn_id)s;

-- name: message_body
SELECT body::text AS body FROM messages WHERE id = %(id)s AND turn_id = %(turn_id)s;

-- name: propose_call
INSERT INTO tool_calls (session_id, call_id, turn_id, profile_id, message_id, position, name, args)
VALUES (%(session_id)s, %(call_id)s, %(turn_id)s, %(profile_id)s, %(message_id)s, %(position)s, %(name)s, %(args)s)
ON CONFLICT (session_id, call_id) DO NOTHING;

-- name: record_call
INSERT INTO tool_calls (session_id, call_id, turn_id, profile_id, name, args, status, result, is_error, risk,
                        duration_ms, approval, finished_at)
VALUES (%(session_id)s, %(call_id)s, %(turn_id)s, %(profile_id)s, %(name)s, %(args)s, %(status)s, %(result)s,
        %(is_error)s, %(risk)s, %(duration_ms)s, %(approval)s,
        CASE WHEN %(is_final)s THEN clock_timestamp() END)
ON CONFLICT (session_id, call_id) DO UPDATE
SET name = excluded.name, args = excluded.args, status = excluded.status, result = excluded.result,
    is_error = excluded.is_error, risk = excluded.risk, duration_ms = excluded.duration_ms,
    approval = excluded.approval, finished_at = excluded.finished_at
WHERE tool_calls.finished_at IS NULL;

-- name: unanswered_calls
SELECT call_id, name, status, result, is_error FROM tool_calls AS c
WHERE turn_id = %(turn_id)s
  AND EXISTS (SELECT 1 FROM messages m WHERE m.id = c.message_id AND m.active)
  AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_id = c.session_id AND m.call_id = c.call_id)
ORDER BY (SELECT ordinal FROM messages m WHERE m.id = c.message_id), position;

-- name: settle_call
UPDATE tool_calls SET status = %(status)s, result = %(result)s, is_error = %(is_error)s,
                      finished_at = clock_timestamp()
WHERE session_id = %(session_id)s AND call_id = %(call_id)s AND finished_at IS NULL;

-- name: close_turn
-- An interrupted turn ended with its last sign of life, not when somebody noticed.
WITH pieces AS (
    DELETE FROM reply_pieces WHERE turn_id = %(turn_id)s RETURNING kept_at
), closed AS (
    UPDATE turns SET status = %(status)s,
                     completed_at = CASE WHEN %(status)s = 'interrupted'
                                         THEN GREATEST(last_activity_at, (SELECT max(kept_at) FROM pieces))
                                         ELSE clock_timestamp() END,
                     stop_reason = %(stop_reason)s, error = %(error)s,
                     usage = COALESCE(%(usage)s, usage),
                     context = COALESCE(%(context)s, (SELECT s.context FROM sessions s WHERE s.id = session_id)),
                     open_reply_id = NULL, open_reply = NULL
    WHERE id = %(turn_id)s AND completed_at IS NULL
    RETURNING session_id, completed_at, context
)
UPDATE sessions s SET context = closed.context,
                      last_activity_at = GREATEST(s.last_activity_at, closed.completed_at)
FROM closed WHERE s.id = closed.session_id;

-- name: turn_end
SELECT completed_at FROM turns WHERE id = %(turn_id)s;

-- name: open_turn
SELECT owner_boot_id FROM turns WHERE id = %(turn_id)s AND completed_at IS NULL FOR UPDATE;

-- name: close_turn_approvals
UPDATE approvals SET status = %(status)s, answered_at = clock_timestamp(), answer_reason = 'the turn ended'
WHERE turn_id = %(turn_id)s AND status = 'pending';

-- name: orphaned_turns
-- Open turns of processes that no longer hold the lock named by their boot id (its last 8 bytes as a bigint).
SELECT t.id, t.session_id, t.profile_id, t.parent_turn_id, t.tags, t.depth, t.owner_boot_id
FROM turns t
WHERE t.completed_at IS NULL AND t.owner_boot_id <> %(boot_id)s AND (%(turn_id)s::uuid IS NULL OR t.id = %(turn_id)s)
ORDER BY t.started_at;

-- name: open_turn_info
SELECT id, session_id, profile_id, parent_turn_id, tags, depth FROM turns
WHERE id = %(turn_id)s AND completed_at IS NULL;

-- name: look_for_owner
-- The lock is held until the transaction ends, so that the owner cannot come back while its turn is being closed. Whoever
-- has lost only the connection with its lock has others still; and when the server has just begun, all have lost theirs.
SELECT NOT pg_try_advisory_xact_lock(%(key)s)
       OR EXISTS (SELECT 1 FROM pg_stat_activity
                  WHERE starts_with(application_name, 'cos ' || %(owner_boot_id)s::text)) AS lives,
       clock_timestamp() < pg_postmaster_start_time() + make_interval(secs => %(seconds)s) AS may_come_back;
