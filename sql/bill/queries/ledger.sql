-- name: timezone
SELECT timezone FROM bill_state;

-- name: use_timezone
SELECT bill_use_timezone(%(timezone)s);

-- name: lock
-- Calls end one at a time, so that the sums cannot deadlock. With budgets they also begin so: whoever begins one sees
-- the cost of all that have ended.
SELECT pg_advisory_xact_lock(7366130020);

-- name: open_call
INSERT INTO model_calls (turn_id, ordinal, session_id, session_path, profile_id, parent_turn_id, depth, tags, provider,
                         base_url, model, cause, attempt, started_at, owner_key)
VALUES (%(turn_id)s, %(ordinal)s, %(session_id)s,
        COALESCE((SELECT c.session_path FROM model_calls c WHERE c.session_id = %(session_id)s LIMIT 1),
                 (SELECT c.session_path || %(session_id)s::uuid FROM model_calls c
                  WHERE c.session_id = %(parent_session_id)s::uuid LIMIT 1),
                 array_remove(ARRAY[%(parent_session_id)s::uuid, %(session_id)s::uuid], NULL)),
        %(profile_id)s, %(parent_turn_id)s, %(depth)s, %(tags)s, %(provider)s, %(base_url)s, %(model)s,
        %(cause)s, %(attempt)s,
        %(started_at)s, %(owner_key)s)
ON CONFLICT (turn_id, ordinal) DO NOTHING;

-- name: end_call
-- Once: a call that has ended keeps its figures. One that was taken for lost may still turn out to have ended.
UPDATE model_calls
SET status = %(status)s, is_partial = %(is_partial)s, response_model = %(response_model)s,
    input_tokens = %(input_tokens)s, output_tokens = %(output_tokens)s, cache_read_tokens = %(cache_read_tokens)s,
    cache_write_5m_tokens = %(cache_write_5m_tokens)s, cache_write_1h_tokens = %(cache_write_1h_tokens)s,
    cost_usd = %(cost_usd)s, cache_saved_usd = %(cache_saved_usd)s, rates = %(rates)s,
    price_source = %(price_source)s, ttft_ms = %(ttft_ms)s, duration_ms = %(duration_ms)s, error = %(error)s,
    ended_at = %(ended_at)s
WHERE turn_id = %(turn_id)s AND ordinal = %(ordinal)s AND status IN ('running', 'lost')
RETURNING session_id;

-- name: sweep
-- Calls of processes that no longer hold their lock. It is held until the end, so that nobody comes back meanwhile.
WITH owners AS MATERIALIZED (
    SELECT DISTINCT owner_key FROM model_calls WHERE status = 'running' AND owner_key <> %(owner_key)s
), gone AS MATERIALIZED (
    SELECT owner_key FROM owners WHERE pg_try_advisory_xact_lock(owner_key)
)
UPDATE model_calls c
SET status = 'lost', ended_at = GREATEST(c.started_at, clock_timestamp()), error = 'the program ended during the call'
FROM gone WHERE c.owner_key = gone.owner_key AND c.status = 'running'
RETURNING c.turn_id, c.ordinal;

-- name: unpriced
SELECT turn_id, ordinal, session_id, profile_id, parent_turn_id, tags, depth, provider, base_url, model, response_model,
       cause, status, started_at, is_partial, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,
       cache_write_1h_tokens, ttft_ms, duration_ms
FROM model_calls
WHERE cost_usd IS NULL AND status NOT IN ('running', 'lost')
ORDER BY turn_id, ordinal FOR UPDATE;

-- name: price_call
UPDATE model_calls
SET cost_usd = %(cost_usd)s, cache_saved_usd = %(cache_saved_usd)s, rates = %(rates)s, price_source = %(price_source)s
WHERE turn_id = %(turn_id)s AND ordinal = %(ordinal)s AND cost_usd IS NULL;

-- name: wrong_sums
-- Days whose sum is not that of their calls, and how many calls each of the two counts.
WITH summed AS (
    SELECT day, calls, cost_usd FROM bill_sums WHERE kind = 'all' AND calls <> 0
), counted AS (
    SELECT (c.started_at AT TIME ZONE (SELECT s.timezone FROM bill_state s))::date AS day, count(*) AS calls,
           COALESCE(sum(c.cost_usd), 0) AS cost_usd
    FROM model_calls c
    WHERE c.status <> 'running' AND EXISTS (SELECT FROM bill_state)
    GROUP BY 1
)
SELECT COALESCE(s.day, c.day) AS day, COALESCE(s.calls, 0) AS summed, COALESCE(c.calls, 0) AS counted,
       COALESCE(s.cost_usd, 0) AS summed_usd, COALESCE(c.cost_usd, 0) AS counted_usd
FROM summed s FULL JOIN counted c USING (day)
WHERE (s.calls, s.cost_usd) IS DISTINCT FROM (c.calls, c.cost_usd)
ORDER BY 1;
