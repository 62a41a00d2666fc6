-- Schema 2. Whoever changes this file raises the number.
-- CommonBill's tables. Runs once per version of this text, under the lock of the schemas; every statement may run again.
-- There is no foreign key to the core's tables: what a call cost outlives the session that made it.

-- One row per attempt of a model call, written before the request leaves.
CREATE TABLE IF NOT EXISTS model_calls (
    turn_id uuid NOT NULL,
    -- The number of the attempt within its turn, from 1.
    ordinal integer NOT NULL,
    session_id uuid NOT NULL,
    -- From the root session down to this one.
    session_path uuid[] NOT NULL,
    root_session_id uuid NOT NULL GENERATED ALWAYS AS (session_path[1]) STORED,
    profile_id text NOT NULL,
    parent_turn_id uuid,
    depth integer NOT NULL,
    -- The tags of the turn at that time, sorted, without duplicates.
    tags text[] NOT NULL,
    provider text NOT NULL,
    -- The server that was asked, without credentials; NULL = the provider's own.
    base_url text,
    model text NOT NULL,
    response_model text,
    cause text NOT NULL CHECK (cause IN ('turn', 'retry', 'child', 'compaction', 'title')),
    -- The number of the attempt within its call, from 1.
    attempt integer NOT NULL,
    -- running: under way. lost: its process ended before it did; what it cost is unknown.
    status text NOT NULL DEFAULT 'running'
        CHECK (status IN ('running', 'ok', 'error', 'cancelled', 'dropped', 'lost')),
    -- Cut before the provider reported its totals: at least this much was used.
    is_partial boolean NOT NULL DEFAULT false,
    -- What the provider reported, NULL where it said nothing. Input is neither read from nor written to the cache.
    input_tokens bigint CHECK (input_tokens >= 0),
    output_tokens bigint CHECK (output_tokens >= 0),
    cache_read_tokens bigint CHECK (cache_read_tokens >= 0),
    cache_write_5m_tokens bigint CHECK (cache_write_5m_tokens >= 0),
    cache_write_1h_tokens bigint CHECK (cache_write_1h_tokens >= 0),
    -- NULL = unpriced (or lost, or still running), never 0 by default.
    cost_usd numeric CHECK (cost_usd >= 0),
    -- What the same tokens would have cost without a cache, less what they did cost. Below 0: writing did not pay off.
    cache_saved_usd numeric,
    -- US dollars per million tokens as they were used for this row, and where they came from.
    rates json,
    price_source text,
    ttft_ms integer,
    duration_ms integer,
    error text,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    -- The key of the advisory lock that the process of this call holds as long as it lives.
    owner_key bigint NOT NULL,
    PRIMARY KEY (turn_id, ordinal),
    CHECK ((status = 'running') = (ended_at IS NULL))
);
CREATE INDEX IF NOT EXISTS model_calls_by_time ON model_calls (started_at);
CREATE INDEX IF NOT EXISTS model_calls_by_session ON model_calls (session_id, started_at);
CREATE INDEX IF NOT EXISTS model_calls_by_path ON model_calls USING gin (session_path);
CREATE INDEX IF NOT EXISTS model_calls_by_parent_turn ON model_calls (parent_turn_id) WHERE parent_turn_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS model_calls_running ON model_calls (owner_key) WHERE status = 'running';
CREATE INDEX IF NOT EXISTS model_calls_unpriced ON model_calls (started_at)
    WHERE cost_usd IS NULL AND status NOT IN ('running', 'lost');

-- The time zone whose days `bill_sums` counts. One row.
CREATE TABLE IF NOT EXISTS bill_state (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    timezone text NOT NULL
);

-- The ended calls of each day, summed up for each group that they belong to: see bill_groups. They always equal the
-- rows, because a trigger keeps them so.
CREATE TABLE IF NOT EXISTS bill_sums (
    kind text NOT NULL,
    name text NOT NULL,
    day date NOT NULL,
    calls bigint NOT NULL,
    unpriced bigint NOT NULL,
    lost bigint NOT NULL,
    partial bigint NOT NULL,
    cost_usd numeric NOT NULL,
    cache_saved_usd numeric NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cache_read_tokens bigint NOT NULL,
    cache_write_5m_tokens bigint NOT NULL,
    cache_write_1h_tokens bigint NOT NULL,
    PRIMARY KEY (kind, name, day)
);
-- Of cost_usd: see bill_made_up.
ALTER TABLE bill_sums ADD COLUMN IF NOT EXISTS made_up_usd numeric NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS bill_sums_by_day ON bill_sums (kind, day);

-- Once in a period a budget says that it is nearly or wholly spent. period_key: the first day, or the root session.
CREATE TABLE IF NOT EXISTS bill_warnings (
    scope text NOT NULL,
    period text NOT NULL,
    period_key text NOT NULL,
    percent integer NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (scope, period, period_key, percent)
);

-- What a person allowed a budget to spend beyond its limit, once, in one period.
CREATE TABLE IF NOT EXISTS bill_overrides (
    id uuid PRIMARY KEY,
    scope text NOT NULL,
    period text NOT NULL,
    period_key text NOT NULL,
    extra_usd numeric NOT NULL CHECK (extra_usd > 0),
    granted_by text NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS bill_overrides_by_period ON bill_overrides (scope, period, period_key);

-- The groups of a call. Of kind `tag` one for each tag ('' without any), of kind `key:<key>` one for each key, named
-- by all values that the call has for it; of kind `tree` one for each session below the root that it counts for, its own
-- included; of every other kind exactly one. root: the call counts for its root session.
DROP FUNCTION IF EXISTS bill_groups(text, text, text[], uuid, uuid);
CREATE OR REPLACE FUNCTION bill_groups(profile_id text, model text, tags text[], session_path uuid[])
RETURNS TABLE (kind text, name text) LANGUAGE sql IMMUTABLE AS $$
SELECT * FROM (VALUES ('all', ''), ('profile', profile_id), ('model', model),
                      ('session', session_path[cardinality(session_path)]::text), ('root', session_path[1]::text))
         AS v (kind, name)
UNION ALL
SELECT 'tree', p.id::text FROM unnest(session_path[2:]) AS p (id)
UNION ALL
SELECT 'tag', t.tag FROM unnest(CASE WHEN tags = '{}' THEN ARRAY[''] ELSE tags END) AS t (tag)
UNION ALL
SELECT 'key:' || split_part(t.tag, ':', 1), string_agg(split_part(t.tag, ':', 2), ' + ' ORDER BY t.tag)
FROM unnest(tags) AS t (tag) GROUP BY split_part(t.tag, ':', 1)
$$;

-- How much of a cost nobody pays: the demo shows what its calls would cost at prices that are made up.
CREATE OR REPLACE FUNCTION bill_made_up(price_source text, cost_usd numeric) RETURNS numeric
LANGUAGE sql IMMUTABLE AS $$
SELECT CASE WHEN price_source = 'demo prices, made up' THEN COALESCE(cost_usd, 0) ELSE 0 END
$$;

-- Add one call to its groups (sign 1) or take it away (sign -1).
CREATE OR REPLACE FUNCTION bill_count(call model_calls, sign integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    day date := (call.started_at AT TIME ZONE (SELECT s.timezone FROM bill_state s))::date;
BEGIN
    INSERT INTO bill_sums AS b
    SELECT g.kind, g.name, day, sign, sign * (call.cost_usd IS NULL AND call.status <> 'lost')::integer,
           sign * (call.status = 'lost')::integer, sign * call.is_partial::integer,
           sign * COALESCE(call.cost_usd, 0), sign * COALESCE(call.cache_saved_usd, 0),
           sign * COALESCE(call.input_tokens, 0), sign * COALESCE(call.output_tokens, 0),
           sign * COALESCE(call.cache_read_tokens, 0), sign * COALESCE(call.cache_write_5m_tokens, 0),
           sign * COALESCE(call.cache_write_1h_tokens, 0), sign * bill_made_up(call.price_source, call.cost_usd)
    FROM bill_groups(call.profile_id, call.model, call.tags, call.session_path) g
    ORDER BY 1, 2
    ON CONFLICT ON CONSTRAINT bill_sums_pkey DO UPDATE
    SET calls = b.calls + excluded.calls, unpriced = b.unpriced + excluded.unpriced, lost = b.lost + excluded.lost,
        partial = b.partial + excluded.partial, cost_usd = b.cost_usd + excluded.cost_usd,
        cache_saved_usd = b.cache_saved_usd + excluded.cache_saved_usd,
        input_tokens = b.input_tokens + excluded.input_tokens,
        output_tokens = b.output_tokens + excluded.output_tokens,
        cache_read_tokens = b.cache_read_tokens + excluded.cache_read_tokens,
        cache_write_5m_tokens = b.cache_write_5m_tokens + excluded.cache_write_5m_tokens,
        cache_write_1h_tokens = b.cache_write_1h_tokens + excluded.cache_write_1h_tokens,
        made_up_usd = b.made_up_usd + excluded.made_up_usd;
END $$;

CREATE OR REPLACE FUNCTION bill_keep_sums() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.status <> 'running' THEN
        PERFORM bill_count(OLD, -1);
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.status <> 'running' THEN
        PERFORM bill_count(NEW, 1);
    END IF;
    RETURN NULL;
END $$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'model_calls_sums' AND tgrelid = 'model_calls'::regclass) THEN
        CREATE TRIGGER model_calls_sums AFTER INSERT OR UPDATE OR DELETE ON model_calls
            FOR EACH ROW EXECUTE FUNCTION bill_keep_sums();
    END IF;
END $$;

DROP FUNCTION IF EXISTS bill_facts(text, date, date, text);
DROP FUNCTION IF EXISTS bill_span(text, date, date, text);
DROP FUNCTION IF EXISTS bill_rows(text, timestamptz, timestamptz, text);
-- Sums of the calls that began from `from_at` to before `to_at`, one row per day and group of the kind `wanted` (NULL = of
-- every kind), read from the rows themselves.
CREATE FUNCTION bill_rows(wanted text, from_at timestamptz, to_at timestamptz, tz text)
RETURNS TABLE (kind text, name text, day date, calls bigint, unpriced bigint, lost bigint, partial bigint,
               cost_usd numeric, cache_saved_usd numeric, input_tokens bigint, output_tokens bigint,
               cache_read_tokens bigint, cache_write_5m_tokens bigint, cache_write_1h_tokens bigint,
               made_up_usd numeric)
LANGUAGE sql STABLE AS $$
SELECT g.kind, g.name, r.day, sum(r.calls)::bigint, sum(r.unpriced)::bigint, sum(r.lost)::bigint,
       sum(r.partial)::bigint, sum(r.cost_usd), sum(r.cache_saved_usd), sum(r.input_tokens)::bigint,
       sum(r.output_tokens)::bigint, sum(r.cache_read_tokens)::bigint, sum(r.cache_write_5m_tokens)::bigint,
       sum(r.cache_write_1h_tokens)::bigint, sum(r.made_up_usd)
FROM (
    -- Only by what the groups asked for are made of.
    SELECT (c.started_at AT TIME ZONE tz)::date AS day,
           CASE WHEN COALESCE(wanted, 'profile') = 'profile' THEN c.profile_id END AS profile_id,
           CASE WHEN COALESCE(wanted, 'model') = 'model' THEN c.model END AS model,
           CASE WHEN wanted IS NULL OR wanted = 'tag' OR wanted LIKE 'key:%' THEN c.tags END AS tags,
           CASE WHEN COALESCE(wanted, 'tree') IN ('session', 'root', 'tree') THEN c.session_path END AS session_path,
           count(*) AS calls, count(*) FILTER (WHERE c.cost_usd IS NULL AND c.status <> 'lost') AS unpriced,
           count(*) FILTER (WHERE c.status = 'lost') AS lost, count(*) FILTER (WHERE c.is_partial) AS partial,
           COALESCE(sum(c.cost_usd), 0) AS cost_usd, COALESCE(sum(c.cache_saved_usd), 0) AS cache_saved_usd,
           COALESCE(sum(c.input_tokens), 0) AS input_tokens, COALESCE(sum(c.output_tokens), 0) AS output_tokens,
           COALESCE(sum(c.cache_read_tokens), 0) AS cache_read_tokens,
           COALESCE(sum(c.cache_write_5m_tokens), 0) AS cache_write_5m_tokens,
           COALESCE(sum(c.cache_write_1h_tokens), 0) AS cache_write_1h_tokens,
           sum(bill_made_up(c.price_source, c.cost_usd)) AS made_up_usd
    FROM model_calls c
    WHERE c.status <> 'running' AND c.started_at >= from_at AND c.started_at < to_at
    GROUP BY 1, 2, 3, 4, 5
) AS r
CROSS JOIN LATERAL bill_groups(r.profile_id, r.model, r.tags, r.session_path) AS g
WHERE wanted IS NULL OR g.kind = wanted
GROUP BY 1, 2, 3
$$;

-- The same of the days from `since` to before `until` (NULL = no bound). Days of the kept time zone come from bill_sums,
-- those of any other from the rows.
CREATE FUNCTION bill_facts(wanted text, since date, until date, tz text)
RETURNS TABLE (kind text, name text, day date, calls bigint, unpriced bigint, lost bigint, partial bigint,
               cost_usd numeric, cache_saved_usd numeric, input_tokens bigint, output_tokens bigint,
               cache_read_tokens bigint, cache_write_5m_tokens bigint, cache_write_1h_tokens bigint,
               made_up_usd numeric)
LANGUAGE sql STABLE AS $$
SELECT b.kind, b.name, b.day, b.calls, b.unpriced, b.lost, b.partial, b.cost_usd, b.cache_saved_usd, b.input_tokens,
       b.output_tokens, b.cache_read_tokens, b.cache_write_5m_tokens, b.cache_write_1h_tokens,
       b.made_up_usd
FROM bill_sums b
WHERE tz = (SELECT s.timezone FROM bill_state s) AND b.calls <> 0 AND (wanted IS NULL OR b.kind = wanted)
  AND b.day >= COALESCE(since, '-infinity') AND b.day < COALESCE(until, 'infinity')
UNION ALL
SELECT r.* FROM bill_rows(wanted, COALESCE(since::timestamp AT TIME ZONE tz, '-infinity'),
                          COALESCE(until::timestamp AT TIME ZONE tz, 'infinity'), tz) r
WHERE tz IS DISTINCT FROM (SELECT s.timezone FROM bill_state s)
$$;

-- The same sums, but in another time zone than the kept one the days are those of the kept one: whole days come from
-- bill_sums, and only what the span has of its first and last day from the rows. For who adds up the whole span.
CREATE FUNCTION bill_span(wanted text, since date, until date, tz text)
RETURNS TABLE (kind text, name text, day date, calls bigint, unpriced bigint, lost bigint, partial bigint,
               cost_usd numeric, cache_saved_usd numeric, input_tokens bigint, output_tokens bigint,
               cache_read_tokens bigint, cache_write_5m_tokens bigint, cache_write_1h_tokens bigint,
               made_up_usd numeric)
LANGUAGE sql STABLE AS $$
WITH bounds AS MATERIALIZED (
    SELECT s.timezone AS kept, COALESCE(since::timestamp AT TIME ZONE tz, '-infinity') AS from_at,
           COALESCE(until::timestamp AT TIME ZONE tz, 'infinity') AS to_at
    FROM bill_state s
), days AS MATERIALIZED (
    SELECT o.*, CASE WHEN tz = o.kept THEN since ELSE (o.from_at AT TIME ZONE o.kept)::date + 1 END AS first,
           CASE WHEN tz = o.kept THEN until ELSE (o.to_at AT TIME ZONE o.kept)::date END AS after
    FROM bounds o
)
SELECT b.kind, b.name, b.day, b.calls, b.unpriced, b.lost, b.partial, b.cost_usd, b.cache_saved_usd, b.input_tokens,
       b.output_tokens, b.cache_read_tokens, b.cache_write_5m_tokens, b.cache_write_1h_tokens,
       b.made_up_usd
FROM days d
JOIN bill_sums b ON b.day >= COALESCE(d.first, '-infinity') AND b.day < COALESCE(d.after, 'infinity')
WHERE b.calls <> 0 AND (wanted IS NULL OR b.kind = wanted)
UNION ALL
-- A day may begin twice in a night when clocks are set back: three hours more are read, and the day decides.
SELECT r.* FROM days d
CROSS JOIN LATERAL bill_rows(wanted, d.from_at,
                             LEAST((d.first::timestamp AT TIME ZONE d.kept) + interval '3 hours', d.to_at), d.kept) r
WHERE tz <> d.kept AND since IS NOT NULL AND r.day < d.first
UNION ALL
SELECT r.* FROM days d
CROSS JOIN LATERAL bill_rows(wanted, GREATEST((d.after::timestamp AT TIME ZONE d.kept) - interval '3 hours', d.from_at),
                             d.to_at, d.kept) r
WHERE tz <> d.kept AND until IS NOT NULL AND d.after >= d.first AND r.day >= d.after
$$;

-- Let bill_sums count the days of another time zone: all of them are summed up again.
CREATE OR REPLACE FUNCTION bill_use_timezone(tz text) RETURNS void LANGUAGE plpgsql SET work_mem = '128MB' AS $$
BEGIN
    LOCK TABLE model_calls IN SHARE ROW EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM bill_state s WHERE s.timezone = tz) THEN
        RETURN;
    END IF;
    DELETE FROM bill_state;
    DELETE FROM bill_sums;
    -- While bill_state is empty, bill_facts reads the rows.
    INSERT INTO bill_sums SELECT * FROM bill_facts(NULL, NULL, NULL, tz);
    INSERT INTO bill_state (timezone) VALUES (tz);
END $$;

-- How the first version counted: a second trigger would count every call twice.
DROP TRIGGER IF EXISTS model_calls_days ON model_calls;
DROP FUNCTION IF EXISTS bill_keep_days();
DROP FUNCTION IF EXISTS bill_facts(date, date, text);
DROP TABLE IF EXISTS bill_days;
-- What is counted, and how, may have changed with this version: all calls are summed up again.
DO $$
DECLARE
    tz text := (SELECT s.timezone FROM bill_state s);
BEGIN
    IF tz IS NOT NULL THEN
        DELETE FROM bill_state;
        PERFORM bill_use_timezone(tz);
    END IF;
END $$;
