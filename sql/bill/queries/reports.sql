-- name: grouped
-- One row per group of the kind asked for and the true total, from one snapshot.
SELECT false AS is_total,
       CASE %(period)s::text WHEN 'day' THEN f.day::text WHEN 'week' THEN date_trunc('week', f.day)::date::text
            WHEN 'month' THEN to_char(f.day, 'YYYY-MM') ELSE f.name END AS label,
       sum(f.calls)::bigint AS calls, sum(f.unpriced)::bigint AS unpriced, sum(f.lost)::bigint AS lost,
       sum(f.partial)::bigint AS partial, sum(f.cost_usd) AS cost_usd, sum(f.cache_saved_usd) AS cache_saved_usd,
       sum(f.input_tokens)::bigint AS input_tokens, sum(f.output_tokens)::bigint AS output_tokens,
       sum(f.cache_read_tokens)::bigint AS cache_read_tokens,
       sum(f.cache_write_5m_tokens)::bigint AS cache_write_5m_tokens,
       sum(f.cache_write_1h_tokens)::bigint AS cache_write_1h_tokens, sum(f.made_up_usd) AS made_up_usd
FROM (
    SELECT * FROM bill_facts(%(kind)s, %(since)s::date, %(until)s::date, %(timezone)s) WHERE %(period)s::text IS NOT NULL
    UNION ALL
    SELECT * FROM bill_span(%(kind)s, %(since)s::date, %(until)s::date, %(timezone)s) WHERE %(period)s::text IS NULL
) f
GROUP BY 2
UNION ALL
SELECT true, NULL, COALESCE(sum(f.calls), 0)::bigint, COALESCE(sum(f.unpriced), 0)::bigint,
       COALESCE(sum(f.lost), 0)::bigint, COALESCE(sum(f.partial), 0)::bigint, COALESCE(sum(f.cost_usd), 0),
       COALESCE(sum(f.cache_saved_usd), 0), COALESCE(sum(f.input_tokens), 0)::bigint,
       COALESCE(sum(f.output_tokens), 0)::bigint, COALESCE(sum(f.cache_read_tokens), 0)::bigint,
       COALESCE(sum(f.cache_write_5m_tokens), 0)::bigint, COALESCE(sum(f.cache_write_1h_tokens), 0)::bigint,
       COALESCE(sum(f.made_up_usd), 0)
FROM bill_span('all', %(since)s::date, %(until)s::date, %(timezone)s) f;

-- name: sessions
-- Of each session its own calls, and all calls of the tree of sessions below it, itself included.
SELECT b.name::uuid AS session_id, b.kind = 'session' AS is_own, sum(b.calls)::bigint AS calls,
       sum(b.unpriced)::bigint AS unpriced, sum(b.lost)::bigint AS lost, sum(b.partial)::bigint AS partial,
       sum(b.cost_usd) AS cost_usd, sum(b.cache_saved_usd) AS cache_saved_usd,
       sum(b.input_tokens)::bigint AS input_tokens, sum(b.output_tokens)::bigint AS output_tokens,
       sum(b.cache_read_tokens)::bigint AS cache_read_tokens,
       sum(b.cache_write_5m_tokens)::bigint AS cache_write_5m_tokens,
       sum(b.cache_write_1h_tokens)::bigint AS cache_write_1h_tokens, sum(b.made_up_usd) AS made_up_usd
FROM bill_sums b
WHERE b.kind IN ('session', 'root', 'tree') AND b.name = ANY (%(ids)s::text[])
GROUP BY b.name, b.kind HAVING sum(b.calls) > 0;

-- name: costing
-- Those of the sessions whose known cost, children included, is so much. Below an amount is only what is wholly known.
SELECT b.name::uuid AS session_id
FROM bill_sums b
WHERE b.kind IN ('root', 'tree') AND b.name = ANY (%(ids)s::text[])
GROUP BY b.name
HAVING sum(b.calls) > 0 AND CASE %(operator)s::text
    WHEN '>' THEN sum(b.cost_usd) > %(usd)s
    WHEN '>=' THEN sum(b.cost_usd) >= %(usd)s
    WHEN '<' THEN sum(b.cost_usd) < %(usd)s AND sum(b.unpriced) + sum(b.lost) = 0
    WHEN '<=' THEN sum(b.cost_usd) <= %(usd)s AND sum(b.unpriced) + sum(b.lost) = 0
END;

-- name: turns
-- Of these turns and those above them: their own calls, and all calls of the turns below them, their own included.
WITH RECURSIVE wanted AS (
    SELECT unnest(%(ids)s::uuid[]) AS turn_id
    UNION SELECT c.parent_turn_id FROM wanted w JOIN model_calls c ON c.turn_id = w.turn_id
    WHERE c.parent_turn_id IS NOT NULL
), below AS (
    SELECT w.turn_id AS top_id, w.turn_id FROM wanted w
    UNION SELECT b.top_id, c.turn_id FROM below b JOIN model_calls c ON c.parent_turn_id = b.turn_id
)
SELECT b.top_id AS turn_id, o.is_own,
       (SELECT t.session_id FROM model_calls t WHERE t.turn_id = b.top_id LIMIT 1) AS session_id, count(*) AS calls,
       count(*) FILTER (WHERE c.cost_usd IS NULL AND c.status <> 'lost') AS unpriced,
       count(*) FILTER (WHERE c.status = 'lost') AS lost, count(*) FILTER (WHERE c.is_partial) AS partial,
       COALESCE(sum(c.cost_usd), 0) AS cost_usd, COALESCE(sum(c.cache_saved_usd), 0) AS cache_saved_usd,
       COALESCE(sum(c.input_tokens), 0)::bigint AS input_tokens,
       COALESCE(sum(c.output_tokens), 0)::bigint AS output_tokens,
       COALESCE(sum(c.cache_read_tokens), 0)::bigint AS cache_read_tokens,
       COALESCE(sum(c.cache_write_5m_tokens), 0)::bigint AS cache_write_5m_tokens,
       COALESCE(sum(c.cache_write_1h_tokens), 0)::bigint AS cache_write_1h_tokens,
       sum(bill_made_up(c.price_source, c.cost_usd)) AS made_up_usd
FROM below b
JOIN model_calls c ON c.turn_id = b.turn_id AND c.status <> 'running'
JOIN (VALUES (true), (false)) AS o (is_own) ON NOT o.is_own OR b.turn_id = b.top_id
GROUP BY 1, 2;

-- name: sessions_of
-- One row per session with calls of one group; the group '' of a tag key is that of the calls without a tag of it.
SELECT c.session_id::text AS label, count(*) AS calls,
       count(*) FILTER (WHERE c.cost_usd IS NULL AND c.status <> 'lost') AS unpriced,
       count(*) FILTER (WHERE c.status = 'lost') AS lost, count(*) FILTER (WHERE c.is_partial) AS partial,
       COALESCE(sum(c.cost_usd), 0) AS cost_usd, COALESCE(sum(c.cache_saved_usd), 0) AS cache_saved_usd,
       COALESCE(sum(c.input_tokens), 0)::bigint AS input_tokens,
       COALESCE(sum(c.output_tokens), 0)::bigint AS output_tokens,
       COALESCE(sum(c.cache_read_tokens), 0)::bigint AS cache_read_tokens,
       COALESCE(sum(c.cache_write_5m_tokens), 0)::bigint AS cache_write_5m_tokens,
       COALESCE(sum(c.cache_write_1h_tokens), 0)::bigint AS cache_write_1h_tokens,
       sum(bill_made_up(c.price_source, c.cost_usd)) AS made_up_usd
FROM model_calls c
WHERE c.status <> 'running'
  AND %(name)s = ANY (COALESCE((SELECT array_agg(g.name) FROM bill_groups(c.profile_id, c.model, c.tags,
                                                                          c.session_path) g
                                WHERE g.kind = %(kind)s), ARRAY['']))
  AND c.started_at >= COALESCE(%(since)s::date::timestamp AT TIME ZONE %(timezone)s, '-infinity')
  AND c.started_at < COALESCE(%(until)s::date::timestamp AT TIME ZONE %(timezone)s, 'infinity')
GROUP BY 1;

-- name: tag_keys
SELECT DISTINCT substr(kind, 5) AS key FROM bill_sums WHERE kind LIKE 'key:%%' AND calls <> 0 ORDER BY 1;

-- name: running
SELECT count(*) AS calls FROM model_calls WHERE status = 'running';

-- name: days
-- The last days up to today, also those without a call, oldest first.
SELECT d.day::date AS day, COALESCE(sum(f.cost_usd), 0) AS cost_usd, COALESCE(sum(f.made_up_usd), 0) AS made_up_usd
FROM generate_series((clock_timestamp() AT TIME ZONE %(timezone)s)::date - (%(count)s::integer - 1),
                     (clock_timestamp() AT TIME ZONE %(timezone)s)::date, interval '1 day') AS d (day)
LEFT JOIN bill_facts('all', (clock_timestamp() AT TIME ZONE %(timezone)s)::date - (%(count)s::integer - 1), NULL,
                     %(timezone)s) f ON f.day = d.day::date
GROUP BY d.day ORDER BY d.day;

-- name: today
SELECT (clock_timestamp() AT TIME ZONE %(timezone)s)::date AS day;

-- name: speed
-- Of calls that ended well, of one session or (NULL) of all. Tokens per second are those of the time after the first
-- token.
SELECT c.model, count(*) AS calls, avg(c.ttft_ms)::float8 AS ttft_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY c.ttft_ms) AS ttft_median_ms,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY c.ttft_ms) AS ttft_p95_ms,
       (sum(c.output_tokens) FILTER (WHERE c.duration_ms > c.ttft_ms) * 1000.0
        / NULLIF(sum(c.duration_ms - c.ttft_ms) FILTER (WHERE c.duration_ms > c.ttft_ms AND c.output_tokens IS NOT NULL),
                 0))::float8 AS tokens_per_second
FROM model_calls c
WHERE c.status = 'ok' AND c.ttft_ms IS NOT NULL
  AND (%(session_id)s::uuid IS NULL OR c.session_id = %(session_id)s::uuid)
  AND c.started_at >= COALESCE(%(since)s::date::timestamp AT TIME ZONE %(timezone)s, '-infinity')
  AND c.started_at < COALESCE(%(until)s::date::timestamp AT TIME ZONE %(timezone)s, 'infinity')
GROUP BY c.model ORDER BY c.model;

-- name: calls
-- The calls of one session, newest first; with those of its children when asked for.
SELECT c.turn_id, c.ordinal, c.session_id, c.started_at, c.model, c.response_model, c.cause, c.attempt, c.status,
       c.is_partial, c.input_tokens, c.output_tokens, c.cache_read_tokens, c.cache_write_5m_tokens,
       c.cache_write_1h_tokens, c.cost_usd, c.price_source, c.ttft_ms, c.duration_ms, c.error
FROM model_calls c
WHERE c.session_path @> ARRAY[%(session_id)s::uuid] AND (%(with_children)s OR c.session_id = %(session_id)s)
ORDER BY c.started_at DESC, c.turn_id DESC, c.ordinal DESC LIMIT %(limit)s;
