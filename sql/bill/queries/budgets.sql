-- name: root_session
-- The root of a session that may have made no call yet.
SELECT COALESCE((SELECT c.root_session_id FROM model_calls c WHERE c.session_id = %(session_id)s LIMIT 1),
                (SELECT c.root_session_id FROM model_calls c WHERE c.session_id = %(parent_session_id)s::uuid LIMIT 1),
                %(parent_session_id)s::uuid, %(session_id)s::uuid) AS id;

-- name: states
-- What was spent of each budget in the period that runs now, and what overrides add to its limit. What is made up is
-- not spent.
SELECT b.number, k.period_key, spent.usd AS spent_usd, spent.unpriced,
       COALESCE((SELECT sum(o.extra_usd) FROM bill_overrides o
                 WHERE o.scope = b.scope AND o.period = b.period AND o.period_key = k.period_key), 0) AS extra_usd
FROM jsonb_to_recordset(%(budgets)s::jsonb) AS b (number integer, scope text, period text, kind text, name text,
                                                  root uuid)
CROSS JOIN LATERAL (
    SELECT CASE WHEN b.period <> 'session' THEN date_trunc(b.period, clock_timestamp() AT TIME ZONE %(timezone)s)::date
           END AS first_day
) AS p
CROSS JOIN LATERAL (SELECT COALESCE(p.first_day::text, b.root::text) AS period_key) AS k
CROSS JOIN LATERAL (
    SELECT COALESCE(sum(s.usd), 0) AS usd, COALESCE(sum(s.unpriced), 0)::bigint AS unpriced
    FROM (
        SELECT sum(f.cost_usd - f.made_up_usd) AS usd, sum(f.unpriced) AS unpriced
        FROM bill_facts(b.kind, p.first_day, NULL, %(timezone)s) f
        WHERE b.period <> 'session' AND f.name = b.name
        UNION ALL
        SELECT sum(c.cost_usd - bill_made_up(c.price_source, c.cost_usd)),
               count(*) FILTER (WHERE c.cost_usd IS NULL AND c.status NOT IN ('running', 'lost'))
        FROM model_calls c
        WHERE b.period = 'session' AND c.session_path @> ARRAY[b.root]
          AND (b.kind <> 'profile' OR c.profile_id = b.name) AND (b.kind <> 'tag' OR b.name = ANY (c.tags))
    ) AS s
) AS spent
ORDER BY b.number;

-- name: values_of_key
-- The tags of one key that calls of the period that runs now carry.
SELECT DISTINCT f.name AS tag
FROM bill_facts('tag', date_trunc(%(period)s, clock_timestamp() AT TIME ZONE %(timezone)s)::date, NULL, %(timezone)s) f
WHERE split_part(f.name, ':', 1) = %(key)s
ORDER BY 1;

-- name: warn
INSERT INTO bill_warnings (scope, period, period_key, percent)
VALUES (%(scope)s, %(period)s, %(period_key)s, %(percent)s)
ON CONFLICT DO NOTHING RETURNING scope;

-- name: add_override
INSERT INTO bill_overrides (id, scope, period, period_key, extra_usd, granted_by)
VALUES (%(id)s, %(scope)s, %(period)s, %(period_key)s, %(extra_usd)s, %(granted_by)s);
