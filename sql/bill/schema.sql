-- CommonBill's tables. Runs on every start under the lock of the schemas; every statement may run again.
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
CREATE INDEX IF NOT EXISTS model_calls_running ON model_calls (owner_key) WHERE status = 'running';
CREATE INDEX IF NOT EXISTS model_calls_unpriced ON model_calls (started_at)
    WHERE cost_usd IS NULL AND status NOT IN ('running', 'lost');

-- The time zone whose days `bill_days` counts. One row.
CREATE TABLE IF NOT EXISTS bill_state (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    timezone text NOT NULL
);

-- The ended calls of each day, summed up: always equal to the rows, because a trigger keeps them so.
CREATE TABLE IF NOT EXISTS bill_days (
    day date NOT NULL,
    profile_id text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    tags text[] NOT NULL,
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
    PRIMARY KEY (day, profile_id, provider, model, tags)
);

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

-- Add one call to its day (sign 1) or take it away (sign -1).
CREATE OR REPLACE FUNCTION bill_count(call model_calls, sign integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bill_days AS d
    VALUES ((call.started_at AT TIME ZONE (SELECT timezone FROM bill_state))::date, call.profile_id, call.provider,
            call.model, call.tags, sign, sign * (call.cost_usd IS NULL AND call.status <> 'lost')::integer,
            sign * (call.status = 'lost')::integer, sign * call.is_partial::integer,
            sign * COALESCE(call.cost_usd, 0), sign * COALESCE(call.cache_saved_usd, 0),
            sign * COALESCE(call.input_tokens, 0), sign * COALESCE(call.output_tokens, 0),
            sign * COALESCE(call.cache_read_tokens, 0), sign * COALESCE(call.cache_write_5m_tokens, 0),
            sign * COALESCE(call.cache_write_1h_tokens, 0))
    ON CONFLICT (day, profile_id, provider, model, tags) DO UPDATE
    SET calls = d.calls + excluded.calls, unpriced = d.unpriced + excluded.unpriced, lost = d.lost + excluded.lost,
        partial = d.partial + excluded.partial, cost_usd = d.cost_usd + excluded.cost_usd,
        cache_saved_usd = d.cache_saved_usd + excluded.cache_saved_usd,
        input_tokens = d.input_tokens + excluded.input_tokens,
        output_tokens = d.output_tokens + excluded.output_tokens,
        cache_read_tokens = d.cache_read_tokens + excluded.cache_read_tokens,
        cache_write_5m_tokens = d.cache_write_5m_tokens + excluded.cache_write_5m_tokens,
        cache_write_1h_tokens = d.cache_write_1h_tokens + excluded.cache_write_1h_tokens;
END $$;

CREATE OR REPLACE FUNCTION bill_keep_days() RETURNS trigger LANGUAGE plpgsql AS $$
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
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'model_calls_days' AND tgrelid = 'model_calls'::regclass) THEN
        CREATE TRIGGER model_calls_days AFTER INSERT OR UPDATE OR DELETE ON model_calls
            FOR EACH ROW EXECUTE FUNCTION bill_keep_days();
    END IF;
END $$;

-- Figures of the days from `since` to before `until` (NULL = no bound), one row per day, profile, provider, model and
-- set of tags. Days of the kept time zone come from bill_days, those of any other from the rows.
CREATE OR REPLACE FUNCTION bill_facts(since date, until date, tz text)
RETURNS TABLE (day date, profile_id text, provider text, model text, tags text[], calls bigint, unpriced bigint,
               lost bigint, partial bigint, cost_usd numeric, cache_saved_usd numeric, input_tokens bigint,
               output_tokens bigint, cache_read_tokens bigint, cache_write_5m_tokens bigint,
               cache_write_1h_tokens bigint)
LANGUAGE sql STABLE AS $$
SELECT d.day, d.profile_id, d.provider, d.model, d.tags, d.calls, d.unpriced, d.lost, d.partial, d.cost_usd,
       d.cache_saved_usd, d.input_tokens, d.output_tokens, d.cache_read_tokens, d.cache_write_5m_tokens,
       d.cache_write_1h_tokens
FROM bill_days d
WHERE tz = (SELECT s.timezone FROM bill_state s) AND d.calls <> 0
  AND d.day >= COALESCE(since, '-infinity') AND d.day < COALESCE(until, 'infinity')
UNION ALL
SELECT (c.started_at AT TIME ZONE tz)::date, c.profile_id, c.provider, c.model, c.tags, count(*),
       count(*) FILTER (WHERE c.cost_usd IS NULL AND c.status <> 'lost'), count(*) FILTER (WHERE c.status = 'lost'),
       count(*) FILTER (WHERE c.is_partial), COALESCE(sum(c.cost_usd), 0), COALESCE(sum(c.cache_saved_usd), 0),
       COALESCE(sum(c.input_tokens), 0)::bigint, COALESCE(sum(c.output_tokens), 0)::bigint,
       COALESCE(sum(c.cache_read_tokens), 0)::bigint, COALESCE(sum(c.cache_write_5m_tokens), 0)::bigint,
       COALESCE(sum(c.cache_write_1h_tokens), 0)::bigint
FROM model_calls c
WHERE tz IS DISTINCT FROM (SELECT s.timezone FROM bill_state s) AND c.status <> 'running'
  AND c.started_at >= COALESCE(since::timestamp AT TIME ZONE tz, '-infinity')
  AND c.started_at < COALESCE(until::timestamp AT TIME ZONE tz, 'infinity')
GROUP BY 1, 2, 3, 4, 5
$$;

-- Let bill_days count the days of another time zone: all of them are summed up again.
CREATE OR REPLACE FUNCTION bill_use_timezone(tz text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    LOCK TABLE model_calls IN SHARE ROW EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM bill_state s WHERE s.timezone = tz) THEN
        RETURN;
    END IF;
    DELETE FROM bill_state;
    DELETE FROM bill_days;
    -- While bill_state is empty, bill_facts reads the rows.
    INSERT INTO bill_days SELECT * FROM bill_facts(NULL, NULL, tz);
    INSERT INTO bill_state (timezone) VALUES (tz);
END $$;
