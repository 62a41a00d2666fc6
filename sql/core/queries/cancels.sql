-- name: request_cancel
-- Asked twice, the first request counts.
WITH open AS (
    SELECT id, cancel_requested_at IS NULL AS is_first FROM turns
    WHERE session_id = %(session_id)s AND completed_at IS NULL AND (%(turn_id)s::uuid IS NULL OR id = %(turn_id)s)
    FOR UPDATE
)
UPDATE turns t SET cancel_requested_at = COALESCE(t.cancel_requested_at, clock_timestamp()),
                   cancel_requested_by = COALESCE(t.cancel_requested_by, %(boot_id)s),
                   cancel_reason = COALESCE(t.cancel_reason, %(reason)s)
FROM open WHERE t.id = open.id
RETURNING t.id, t.owner_boot_id, open.is_first;

-- name: make_way
-- For a message that waits behind a turn of another process: what is to be sent now stops the turn, and what came in
-- after somebody stopped it goes on with the queue. One statement: a turn that has just taken the message is left alone.
WITH open AS (
    SELECT t.id, t.cancel_requested_at IS NULL AS is_first FROM turns t
    JOIN queued_messages q ON q.session_id = t.session_id AND q.id = %(message_id)s
    WHERE t.session_id = %(session_id)s AND t.completed_at IS NULL AND t.depth = 0
      AND (q.mode = 'now' OR t.cancel_requested_at IS NOT NULL)
    FOR UPDATE OF t
)
UPDATE turns t SET cancel_requested_at = COALESCE(t.cancel_requested_at, clock_timestamp()),
                   cancel_requested_by = COALESCE(t.cancel_requested_by, %(boot_id)s),
                   cancel_reason = COALESCE(t.cancel_reason, %(reason)s),
                   cancel_goes_on = true
FROM open WHERE t.id = open.id
RETURNING t.id, t.owner_boot_id, open.is_first;

-- name: tell_cancel
SELECT pg_notify('cos_cancels', %(owner_boot_id)s::text || ' ' || %(turn_id)s::text);

-- name: open_turn_of
SELECT id, owner_boot_id FROM turns WHERE session_id = %(session_id)s AND completed_at IS NULL;

-- name: cancels_of_owner
SELECT id, session_id, cancel_reason FROM turns
WHERE completed_at IS NULL AND cancel_requested_at IS NOT NULL AND owner_boot_id = %(boot_id)s
  AND (%(turn_id)s::uuid IS NULL OR id = %(turn_id)s);

-- name: goes_on
SELECT cancel_goes_on FROM turns WHERE id = %(turn_id)s;

-- name: open_turns_of_owner
SELECT id, session_id FROM turns
WHERE completed_at IS NULL AND owner_boot_id = %(boot_id)s;
