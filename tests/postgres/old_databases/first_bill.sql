-- A database of the first version of CommonBill's schema: what the demo profile wrote, dumped with --inserts.
SET check_function_bodies = false;
CREATE TABLE public.model_calls (
    turn_id uuid NOT NULL,
    ordinal integer NOT NULL,
    session_id uuid NOT NULL,
    session_path uuid[] NOT NULL,
    root_session_id uuid GENERATED ALWAYS AS (session_path[1]) STORED NOT NULL,
    profile_id text NOT NULL,
    parent_turn_id uuid,
    depth integer NOT NULL,
    tags text[] NOT NULL,
    provider text NOT NULL,
    base_url text,
    model text NOT NULL,
    response_model text,
    cause text NOT NULL,
    attempt integer NOT NULL,
    status text DEFAULT 'running'::text NOT NULL,
    is_partial boolean DEFAULT false NOT NULL,
    input_tokens bigint,
    output_tokens bigint,
    cache_read_tokens bigint,
    cache_write_5m_tokens bigint,
    cache_write_1h_tokens bigint,
    cost_usd numeric,
    cache_saved_usd numeric,
    rates json,
    price_source text,
    ttft_ms integer,
    duration_ms integer,
    error text,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    owner_key bigint NOT NULL,
    CONSTRAINT model_calls_cache_read_tokens_check CHECK ((cache_read_tokens >= 0)),
    CONSTRAINT model_calls_cache_write_1h_tokens_check CHECK ((cache_write_1h_tokens >= 0)),
    CONSTRAINT model_calls_cache_write_5m_tokens_check CHECK ((cache_write_5m_tokens >= 0)),
    CONSTRAINT model_calls_cause_check CHECK ((cause = ANY (ARRAY['turn'::text, 'retry'::text, 'child'::text, 'compaction'::text, 'title'::text]))),
    CONSTRAINT model_calls_check CHECK (((status = 'running'::text) = (ended_at IS NULL))),
    CONSTRAINT model_calls_cost_usd_check CHECK ((cost_usd >= (0)::numeric)),
    CONSTRAINT model_calls_input_tokens_check CHECK ((input_tokens >= 0)),
    CONSTRAINT model_calls_output_tokens_check CHECK ((output_tokens >= 0)),
    CONSTRAINT model_calls_status_check CHECK ((status = ANY (ARRAY['running'::text, 'ok'::text, 'error'::text, 'cancelled'::text, 'dropped'::text, 'lost'::text])))
);
CREATE FUNCTION public.bill_count(call public.model_calls, sign integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
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
CREATE FUNCTION public.bill_facts(since date, until date, tz text) RETURNS TABLE(day date, profile_id text, provider text, model text, tags text[], calls bigint, unpriced bigint, lost bigint, partial bigint, cost_usd numeric, cache_saved_usd numeric, input_tokens bigint, output_tokens bigint, cache_read_tokens bigint, cache_write_5m_tokens bigint, cache_write_1h_tokens bigint)
    LANGUAGE sql STABLE
    AS $$
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
CREATE FUNCTION public.bill_keep_days() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.status <> 'running' THEN
        PERFORM bill_count(OLD, -1);
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.status <> 'running' THEN
        PERFORM bill_count(NEW, 1);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.bill_use_timezone(tz text) RETURNS void
    LANGUAGE plpgsql
    AS $$
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
CREATE TABLE public.approval_grants (
    id uuid NOT NULL,
    profile_id text NOT NULL,
    root_session_id uuid NOT NULL,
    approval_id uuid NOT NULL,
    rule json NOT NULL,
    granted_by text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    last_used_at timestamp with time zone,
    uses integer DEFAULT 0 NOT NULL,
    revoked_at timestamp with time zone
);
CREATE TABLE public.approvals (
    id uuid NOT NULL,
    kind text DEFAULT 'tool_call'::text NOT NULL,
    session_id uuid NOT NULL,
    root_session_id uuid NOT NULL,
    turn_id uuid NOT NULL,
    profile_id text NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    call_id text NOT NULL,
    tool text NOT NULL,
    args json NOT NULL,
    cwd text,
    content_hash text NOT NULL,
    title text NOT NULL,
    detail text NOT NULL,
    diff text,
    risk text NOT NULL,
    reason text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    scope text,
    answer_reason text,
    answered_by text,
    requested_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    answered_at timestamp with time zone,
    edited_args json,
    CONSTRAINT approvals_check CHECK (((status = 'pending'::text) = (answered_at IS NULL))),
    CONSTRAINT approvals_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'allowed'::text, 'denied'::text, 'expired'::text, 'cancelled'::text])))
);
CREATE TABLE public.bill_days (
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
    cache_write_1h_tokens bigint NOT NULL
);
CREATE TABLE public.bill_overrides (
    id uuid NOT NULL,
    scope text NOT NULL,
    period text NOT NULL,
    period_key text NOT NULL,
    extra_usd numeric NOT NULL,
    granted_by text NOT NULL,
    granted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT bill_overrides_extra_usd_check CHECK ((extra_usd > (0)::numeric))
);
CREATE TABLE public.bill_state (
    is_only boolean DEFAULT true NOT NULL,
    timezone text NOT NULL,
    CONSTRAINT bill_state_is_only_check CHECK (is_only)
);
CREATE TABLE public.bill_warnings (
    scope text NOT NULL,
    period text NOT NULL,
    period_key text NOT NULL,
    percent integer NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
CREATE TABLE public.blobs (
    hash text NOT NULL,
    profile_id text NOT NULL,
    media_type text NOT NULL,
    data bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.drafts (
    profile_id text NOT NULL,
    session_id uuid,
    body text NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
CREATE TABLE public.messages (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    turn_id uuid NOT NULL,
    profile_id text NOT NULL,
    ordinal integer NOT NULL,
    role text NOT NULL,
    call_id text,
    active boolean DEFAULT true NOT NULL,
    body json NOT NULL,
    search_text text DEFAULT ''::text NOT NULL,
    search tsvector GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, "left"(search_text, 100000))) STORED,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT messages_check CHECK (((role = 'tool_result'::text) = (call_id IS NOT NULL))),
    CONSTRAINT messages_role_check CHECK ((role = ANY (ARRAY['user'::text, 'assistant'::text, 'tool_result'::text])))
);
CREATE TABLE public.profiles (
    id text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.queued_messages (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    profile_id text NOT NULL,
    body json NOT NULL,
    source text NOT NULL,
    client_message_id text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    mode text DEFAULT 'queue'::text NOT NULL,
    CONSTRAINT queued_messages_mode_check CHECK ((mode = ANY (ARRAY['queue'::text, 'steer'::text, 'now'::text])))
);
CREATE TABLE public.sessions (
    id uuid NOT NULL,
    profile_id text NOT NULL,
    source text NOT NULL,
    title text,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    parent_session_id uuid,
    root_session_id uuid NOT NULL,
    cwd text,
    options json DEFAULT '{}'::json NOT NULL,
    frozen_prompt json,
    frozen_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_activity_at timestamp with time zone DEFAULT now() NOT NULL,
    archived_at timestamp with time zone,
    queue_paused boolean DEFAULT false NOT NULL,
    forked_from_session_id uuid,
    seen_at timestamp with time zone,
    context json
);
CREATE TABLE public.tool_calls (
    session_id uuid NOT NULL,
    call_id text NOT NULL,
    turn_id uuid NOT NULL,
    profile_id text NOT NULL,
    message_id uuid,
    "position" integer DEFAULT 0 NOT NULL,
    name text NOT NULL,
    args json NOT NULL,
    status text DEFAULT 'proposed'::text NOT NULL,
    result text,
    is_error boolean DEFAULT false NOT NULL,
    risk text,
    duration_ms integer,
    approval json,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT tool_calls_status_check CHECK ((status = ANY (ARRAY['proposed'::text, 'waiting'::text, 'running'::text, 'ok'::text, 'error'::text, 'denied'::text, 'expired'::text, 'cancelled'::text, 'timed_out'::text, 'unknown'::text])))
);
CREATE TABLE public.turns (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    profile_id text NOT NULL,
    parent_turn_id uuid,
    ordinal integer NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    depth integer DEFAULT 0 NOT NULL,
    status text DEFAULT 'running'::text NOT NULL,
    owner_boot_id uuid NOT NULL,
    client_message_id text,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    completed_at timestamp with time zone,
    last_activity_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    stop_reason text,
    error text,
    usage json,
    open_reply_id uuid,
    open_reply json,
    undone_at timestamp with time zone,
    copied_from_turn_id uuid,
    CONSTRAINT turns_check CHECK (((status = 'running'::text) = (completed_at IS NULL))),
    CONSTRAINT turns_check1 CHECK ((completed_at >= started_at)),
    CONSTRAINT turns_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'cancelled'::text, 'failed'::text, 'interrupted'::text])))
);
INSERT INTO public.bill_days VALUES ('2026-11-30', 'demo', 'mock', 'mock-1', '{area:demo}', 3, 0, 0, 0, 0, 0, 9, 196, 366, 0, 0);
INSERT INTO public.bill_days VALUES ('2026-11-30', 'demo', 'mock', 'mock-1', '{area:demo,client:acme}', 2, 0, 0, 0, 0, 0, 21, 84, 214, 0, 0);
INSERT INTO public.bill_days VALUES ('2026-11-30', 'demo', 'mock', 'mock-1', '{area:demo,client:beta}', 2, 0, 0, 0, 0, 0, 28, 91, 214, 0, 0);
INSERT INTO public.bill_days VALUES ('2026-11-30', 'demo', 'mock', 'mock-1', '{area:demo,client:gamma}', 2, 0, 0, 0, 0, 0, 14, 73, 214, 0, 0);
INSERT INTO public.bill_state VALUES (true, 'Etc/UTC');
INSERT INTO public.messages VALUES ('01a22e2b-5485-713d-a8b9-ddb001f11297', '01a22e2b-547d-75e2-9a02-5f3d27940a5c', '01a22e2b-5492-7223-a8eb-0c9aea4c741c', 'demo', 1, 'user', NULL, true, '{"role": "user", "text": "Show me what you can do"}', 'Show me what you can do', DEFAULT, '2026-11-30 20:35:21.365737+00');
INSERT INTO public.messages VALUES ('01a22e2b-549a-751d-b51c-f5d1834db7b8', '01a22e2b-547d-75e2-9a02-5f3d27940a5c', '01a22e2b-5492-7223-a8eb-0c9aea4c741c', 'demo', 2, 'assistant', NULL, true, '{"role": "assistant", "text": "## Welcome to cos\n\nI am `mock-1`, a **scripted demo**: no model is asked, nothing leaves this machine, and nothing costs money. What you see around me is real, though:\n\n- this text arrives in pieces, as a model''s would\n- every message is a row in *your* database\n- a tool call waits until you allow it\n\nSay **run a command** to see a tool call that needs your approval, or **think** to see thinking.\n"}', '## Welcome to cos
I am `mock-1`, a **scripted demo**: no model is asked, nothing leaves this machine, and nothing costs money. What you see around me is real, though:
- this text arrives in pieces, as a model''s would
- every message is a row in *your* database
- a tool call waits until you allow it
Say **run a command** to see a tool call that needs your approval, or **think** to see thinking.
', DEFAULT, '2026-11-30 20:35:22.937476+00');
INSERT INTO public.messages VALUES ('01a22e2b-5d9c-7764-98f8-ab2d716ade32', '01a22e2b-5d97-721a-8d62-1a88743140b2', '01a22e2b-5da4-7111-a905-ed46590a3a82', 'demo', 1, 'user', NULL, true, '{"role": "user", "text": "second question"}', 'second question', DEFAULT, '2026-11-30 20:35:23.686057+00');
INSERT INTO public.messages VALUES ('01a22e2b-5da9-722b-ac32-5c497515da3d', '01a22e2b-5d97-721a-8d62-1a88743140b2', '01a22e2b-5da4-7111-a905-ed46590a3a82', 'demo', 2, 'assistant', NULL, true, '{"role": "assistant", "text": "## Welcome to cos\n\nI am `mock-1`, a **scripted demo**: no model is asked, nothing leaves this machine, and nothing costs money. What you see around me is real, though:\n\n- this text arrives in pieces, as a model''s would\n- every message is a row in *your* database\n- a tool call waits until you allow it\n\nSay **run a command** to see a tool call that needs your approval, or **think** to see thinking.\n"}', '## Welcome to cos
I am `mock-1`, a **scripted demo**: no model is asked, nothing leaves this machine, and nothing costs money. What you see around me is real, though:
- this text arrives in pieces, as a model''s would
- every message is a row in *your* database
- a tool call waits until you allow it
Say **run a command** to see a tool call that needs your approval, or **think** to see thinking.
', DEFAULT, '2026-11-30 20:35:25.252655+00');
INSERT INTO public.messages VALUES ('01a22e2b-6626-71f6-ad29-7e9af4d5c790', '01a22e2b-5d97-721a-8d62-1a88743140b2', '01a22e2b-662c-7521-a65c-1843ffc1c062', 'demo', 3, 'user', NULL, true, '{"role": "user", "text": "again"}', 'again', DEFAULT, '2026-11-30 20:35:25.870595+00');
INSERT INTO public.messages VALUES ('01a22e2b-6632-7599-b221-e3d178da36d6', '01a22e2b-5d97-721a-8d62-1a88743140b2', '01a22e2b-662c-7521-a65c-1843ffc1c062', 'demo', 4, 'assistant', NULL, true, '{"role": "assistant", "text": "You said: *again*\n\nI am a scripted demo and cannot answer that; a real model would. To use one, choose a profile whose provider is `anthropic`. Here, say **run a command** to see a tool call and its approval, or **think** to see thinking.\n"}', 'You said: *again*
I am a scripted demo and cannot answer that; a real model would. To use one, choose a profile whose provider is `anthropic`. Here, say **run a command** to see a tool call and its approval, or **think** to see thinking.
', DEFAULT, '2026-11-30 20:35:26.790072+00');
INSERT INTO public.messages VALUES ('01a22e2b-936e-716f-bd73-44ee4fbf9cce', '01a22e2b-9368-73df-a3f9-3d582aff96ae', '01a22e2b-9375-771f-8c44-5296dd9f2e99', 'demo', 1, 'user', NULL, true, '{"role": "user", "text": "run a command"}', 'run a command', DEFAULT, '2026-11-30 20:35:37.463801+00');
INSERT INTO public.messages VALUES ('01a22e2b-937b-7611-996a-509b8d028fa8', '01a22e2b-9368-73df-a3f9-3d582aff96ae', '01a22e2b-9375-771f-8c44-5296dd9f2e99', 'demo', 2, 'assistant', NULL, true, '{"role": "assistant", "text": "I propose a command that writes a small file. cos asks you first, unless your profile already allows it.\n", "tool_calls": [{"id": "mock_6f8a452371564c4eab07b153fcea9e1b", "name": "terminal", "args": {"command": "echo ''Hello from the demo'' > hello.txt && cat hello.txt"}}]}', 'I propose a command that writes a small file. cos asks you first, unless your profile already allows it.
', DEFAULT, '2026-11-30 20:35:38.353774+00');
INSERT INTO public.messages VALUES ('01a22e2b-9726-752d-a363-bd624a2ed7ad', '01a22e2b-9368-73df-a3f9-3d582aff96ae', '01a22e2b-9375-771f-8c44-5296dd9f2e99', 'demo', 3, 'tool_result', 'mock_6f8a452371564c4eab07b153fcea9e1b', true, '{"role": "tool_result", "call_id": "mock_6f8a452371564c4eab07b153fcea9e1b", "content": "Not run: what needs approval is refused without asking (flag --approve); it runs a program with your rights", "is_error": true}', 'Not run: what needs approval is refused without asking (flag --approve); it runs a program with your rights', DEFAULT, '2026-11-30 20:35:38.407995+00');
INSERT INTO public.messages VALUES ('01a22e2b-9729-7638-b157-98b0f5468aea', '01a22e2b-9368-73df-a3f9-3d582aff96ae', '01a22e2b-9375-771f-8c44-5296dd9f2e99', 'demo', 4, 'assistant', NULL, true, '{"role": "assistant", "text": "The command brought no result. cos told me:\n\n> Not run: what needs approval is refused without asking (flag --approve); it runs a program with your rights\n\nI have not tried it again, and I do not claim that it ran.\n"}', 'The command brought no result. cos told me:
> Not run: what needs approval is refused without asking (flag --approve); it runs a program with your rights
I have not tried it again, and I do not claim that it ran.
', DEFAULT, '2026-11-30 20:35:39.256092+00');
INSERT INTO public.messages VALUES ('01a22e2b-9e09-7434-9163-8e86780dc417', '01a22e2b-9e04-77d0-a9fa-871f59ea3fce', '01a22e2b-9e10-76c4-b7b4-cc93cfe8fc87', 'demo', 1, 'user', NULL, true, '{"role": "user", "text": "run a command"}', 'run a command', DEFAULT, '2026-11-30 20:35:40.17883+00');
INSERT INTO public.messages VALUES ('01a22e2b-9e16-7709-b2f8-b771b8405fd5', '01a22e2b-9e04-77d0-a9fa-871f59ea3fce', '01a22e2b-9e10-76c4-b7b4-cc93cfe8fc87', 'demo', 2, 'assistant', NULL, true, '{"role": "assistant", "text": "I propose a command that writes a small file. cos asks you first, unless your profile already allows it.\n", "tool_calls": [{"id": "mock_5dc205d1415044a1941b8daa7f4f73dc", "name": "terminal", "args": {"command": "echo ''Hello from the demo'' > hello.txt && cat hello.txt"}}]}', 'I propose a command that writes a small file. cos asks you first, unless your profile already allows it.
', DEFAULT, '2026-11-30 20:35:41.069855+00');
INSERT INTO public.messages VALUES ('01a22e2b-a1ba-71d5-b1e8-1624692fdbf6', '01a22e2b-9e04-77d0-a9fa-871f59ea3fce', '01a22e2b-9e10-76c4-b7b4-cc93cfe8fc87', 'demo', 3, 'tool_result', 'mock_5dc205d1415044a1941b8daa7f4f73dc', true, '{"role": "tool_result", "call_id": "mock_5dc205d1415044a1941b8daa7f4f73dc", "content": "Not run: what needs approval is refused without asking (nobody can answer here: this cos has no terminal); it runs a program with your rights", "is_error": true}', 'Not run: what needs approval is refused without asking (nobody can answer here: this cos has no terminal); it runs a program with your rights', DEFAULT, '2026-11-30 20:35:41.115636+00');
INSERT INTO public.messages VALUES ('01a22e2b-a1bc-717c-8f81-7ec06b9d6061', '01a22e2b-9e04-77d0-a9fa-871f59ea3fce', '01a22e2b-9e10-76c4-b7b4-cc93cfe8fc87', 'demo', 4, 'assistant', NULL, true, '{"role": "assistant", "text": "The command brought no result. cos told me:\n\n> Not run: what needs approval is refused without asking (nobody can answer here: this cos has no terminal); it runs a program with your rights\n\nI have not tried it again, and I do not claim that it ran.\n"}', 'The command brought no result. cos told me:
> Not run: what needs approval is refused without asking (nobody can answer here: this cos has no terminal); it runs a program with your rights
I have not tried it again, and I do not claim that it ran.
', DEFAULT, '2026-11-30 20:35:42.111107+00');
INSERT INTO public.messages VALUES ('01a22e2c-2d3e-71af-9dc6-3bba1717a7fb', '01a22e2c-2d38-7189-ba9a-6459f4bb769c', '01a22e2c-2d45-709e-85e0-61927c1defed', 'demo', 1, 'user', NULL, true, '{"role": "user", "text": "run a command"}', 'run a command', DEFAULT, '2026-11-30 20:36:16.839314+00');
INSERT INTO public.messages VALUES ('01a22e2c-2d4a-70e6-9af4-0a11af7d1431', '01a22e2c-2d38-7189-ba9a-6459f4bb769c', '01a22e2c-2d45-709e-85e0-61927c1defed', 'demo', 2, 'assistant', NULL, true, '{"role": "assistant", "text": "I propose a command that writes a small file. cos asks you first, unless your profile already allows it.\n", "tool_calls": [{"id": "mock_a7b82fcdd413491b9f23033a07702ba5", "name": "terminal", "args": {"command": "echo ''Hello from the demo'' > hello.txt && cat hello.txt"}}]}', 'I propose a command that writes a small file. cos asks you first, unless your profile already allows it.
', DEFAULT, '2026-11-30 20:36:17.737854+00');
INSERT INTO public.messages VALUES ('01a22e2c-310f-732b-8ad7-0905ddb7e31c', '01a22e2c-2d38-7189-ba9a-6459f4bb769c', '01a22e2c-2d45-709e-85e0-61927c1defed', 'demo', 3, 'tool_result', 'mock_a7b82fcdd413491b9f23033a07702ba5', true, '{"role": "tool_result", "call_id": "mock_a7b82fcdd413491b9f23033a07702ba5", "content": "{\"output\": \"Hello from the demo\\n\", \"exit_code\": 0, \"error\": null, \"cwd\": \"/home/someone/cos/workspaces/demo\"}", "is_error": false}', '{"output": "Hello from the demo\n", "exit_code": 0, "error": null, "cwd": "/home/someone/cos/workspaces/demo"}', DEFAULT, '2026-11-30 20:36:17.808499+00');
INSERT INTO public.messages VALUES ('01a22e2c-3111-7331-893e-d6c5874bf4d8', '01a22e2c-2d38-7189-ba9a-6459f4bb769c', '01a22e2c-2d45-709e-85e0-61927c1defed', 'demo', 4, 'assistant', NULL, true, '{"role": "assistant", "text": "The command ran. This is what came back:\n\n```\n{\"output\": \"Hello from the demo\\n\", \"exit_code\": 0, \"error\": null, \"cwd\": \"/home/someone/cos/workspaces/demo\"}\n```\n\nThat was the whole demo of a tool call.\n"}', 'The command ran. This is what came back:
```
{"output": "Hello from the demo\n", "exit_code": 0, "error": null, "cwd": "/home/someone/cos/workspaces/demo"}
```
That was the whole demo of a tool call.
', DEFAULT, '2026-11-30 20:36:18.439041+00');
INSERT INTO public.model_calls VALUES ('01a22e2b-5492-7223-a8eb-0c9aea4c741c', 1, '01a22e2b-547d-75e2-9a02-5f3d27940a5c', '{01a22e2b-547d-75e2-9a02-5f3d27940a5c}', DEFAULT, 'demo', NULL, 0, '{area:demo}', 'mock', NULL, 'mock-1', 'mock-1', 'turn', 1, 'ok', false, 6, 76, 96, NULL, NULL, 0, 0, '{"input": "0", "output": "0", "cache_read": "0", "cache_write_5m": "0", "cache_write_1h": "0"}', 'the demo costs nothing', 3, 1561, NULL, '2026-11-30 20:35:21.370205+00', '2026-11-30 20:35:22.931273+00', -5548049320049638621);
INSERT INTO public.model_calls VALUES ('01a22e2b-5da4-7111-a905-ed46590a3a82', 1, '01a22e2b-5d97-721a-8d62-1a88743140b2', '{01a22e2b-5d97-721a-8d62-1a88743140b2}', DEFAULT, 'demo', NULL, 0, '{area:demo}', 'mock', NULL, 'mock-1', 'mock-1', 'turn', 1, 'ok', false, 2, 76, 96, NULL, NULL, 0, 0, '{"input": "0", "output": "0", "cache_read": "0", "cache_write_5m": "0", "cache_write_1h": "0"}', 'the demo costs nothing', 2, 1557, NULL, '2026-11-30 20:35:23.689449+00', '2026-11-30 20:35:25.246466+00', -5864704619382919991);
INSERT INTO public.model_calls VALUES ('01a22e2b-662c-7521-a65c-1843ffc1c062', 1, '01a22e2b-5d97-721a-8d62-1a88743140b2', '{01a22e2b-5d97-721a-8d62-1a88743140b2}', DEFAULT, 'demo', NULL, 0, '{area:demo}', 'mock', NULL, 'mock-1', 'mock-1', 'turn', 1, 'ok', false, 1, 44, 174, NULL, NULL, 0, 0, '{"input": "0", "output": "0", "cache_read": "0", "cache_write_5m": "0", "cache_write_1h": "0"}', 'the demo costs nothing', 3, 908, NULL, '2026-11-30 20:35:25.874539+00', '2026-11-30 20:35:26.782949+00', -8429933566640772476);
INSERT INTO public.model_calls VALUES ('01a22e2b-9375-771f-8c44-5296dd9f2e99', 1, '01a22e2b-9368-73df-a3f9-3d582aff96ae', '{01a22e2b-9368-73df-a3f9-3d582aff96ae}', DEFAULT, 'demo', NULL, 0, '{area:demo,client:acme}', 'mock', NULL, 'mock-1', 'mock-1', 'turn', 1, 'ok', false, 3, 43, 96, NULL, NULL, 0, 0, '{"input": "0", "output": "0", "cache_read": "0", "cache_write_5m": "0", "cache_write_1h": "0"}', 'the demo costs nothing', 2, 879, NULL, '2026-11-30 20:35:37.467073+00', '2026-11-30 20:35:38.345743+00', -7185731785786329127);
INSERT INTO public.model_calls VALUES ('01a22e2b-9375-771f-8c44-5296dd9f2e99', 2, '01a22e2b-9368-73df-a3f9-3d582aff96ae', '{01a22e2b-9368-73df-a3f9-3d582aff96ae}', DEFAULT, 'demo', NULL, 0, '{area:demo,client:acme}', 'mock', NULL, 'mock-1', 'mock-1', 'turn', 1, 'ok', false, 18, 41, 118, NULL, NULL, 0, 0, '{"input": "0", "output": "0", "cache_read": "0", "cache_write_5m": "0", "cache_write_1h": "0"}', 'the demo costs nothing', 2, 842, NULL, '2026-11-30 20:35:38.409168+00', '2026-11-30 20:35:39.250944+00', -7185731785786329127);
INSERT INTO public.model_calls VALUES ('01a22e2b-9e10-76c4-b7b4-cc93cfe8fc87', 1, '01a22e2b-9e04-77d0-a9fa-871f59ea3fce', '{01a22e2b-9e04-77d0-a9fa-871f59ea3fce}', DEFAULT, 'demo', NULL, 0, '{area:demo,client:beta}', 'mock', NULL, 'mock-1', 'mock-1', 'turn', 1, 'ok', false, 3, 43, 96, NULL, NULL, 0, 0, '{"input": "0", "output": "0", "cache_read": "0", "cache_write_5m": "0", "cache_write_1h": "0"}', 'the demo costs nothing', 2, 881, NULL, '2026-11-30 20:35:40.182477+00', '2026-11-30 20:35:41.063904+00', -6282746718828784366);
INSERT INTO public.model_calls VALUES ('01a22e2b-9e10-76c4-b7b4-cc93cfe8fc87', 2, '01a22e2b-9e04-77d0-a9fa-871f59ea3fce', '{01a22e2b-9e04-77d0-a9fa-871f59ea3fce}', DEFAULT, 'demo', NULL, 0, '{area:demo,client:beta}', 'mock', NULL, 'mock-1', 'mock-1', 'turn', 1, 'ok', false, 25, 48, 118, NULL, NULL, 0, 0, '{"input": "0", "output": "0", "cache_read": "0", "cache_write_5m": "0", "cache_write_1h": "0"}', 'the demo costs nothing', 1, 988, NULL, '2026-11-30 20:35:41.116696+00', '2026-11-30 20:35:42.10479+00', -6282746718828784366);
INSERT INTO public.model_calls VALUES ('01a22e2c-2d45-709e-85e0-61927c1defed', 1, '01a22e2c-2d38-7189-ba9a-6459f4bb769c', '{01a22e2c-2d38-7189-ba9a-6459f4bb769c}', DEFAULT, 'demo', NULL, 0, '{area:demo,client:gamma}', 'mock', NULL, 'mock-1', 'mock-1', 'turn', 1, 'ok', false, 3, 43, 96, NULL, NULL, 0, 0, '{"input": "0", "output": "0", "cache_read": "0", "cache_write_5m": "0", "cache_write_1h": "0"}', 'the demo costs nothing', 2, 890, NULL, '2026-11-30 20:36:16.842579+00', '2026-11-30 20:36:17.732833+00', -6269339985364531653);
INSERT INTO public.model_calls VALUES ('01a22e2c-2d45-709e-85e0-61927c1defed', 2, '01a22e2c-2d38-7189-ba9a-6459f4bb769c', '{01a22e2c-2d38-7189-ba9a-6459f4bb769c}', DEFAULT, 'demo', NULL, 0, '{area:demo,client:gamma}', 'mock', NULL, 'mock-1', 'mock-1', 'turn', 1, 'ok', false, 11, 30, 118, NULL, NULL, 0, 0, '{"input": "0", "output": "0", "cache_read": "0", "cache_write_5m": "0", "cache_write_1h": "0"}', 'the demo costs nothing', 2, 625, NULL, '2026-11-30 20:36:17.80967+00', '2026-11-30 20:36:18.434723+00', -6269339985364531653);
INSERT INTO public.profiles VALUES ('demo', '2026-11-30 20:35:21.232684+00');
INSERT INTO public.profiles VALUES ('home', '2026-11-30 20:35:21.232684+00');
INSERT INTO public.profiles VALUES ('work', '2026-11-30 20:35:21.232684+00');
INSERT INTO public.sessions VALUES ('01a22e2b-547d-75e2-9a02-5f3d27940a5c', 'demo', 'cli', 'Show me what you can do', '{}', NULL, '01a22e2b-547d-75e2-9a02-5f3d27940a5c', '/home/someone/cos/workspaces/demo', '{}', '{"system": "You are the demo agent of cos. You show what a turn looks like: text that streams, a tool call, an approval, and what it cost. No model answers here and nothing is sent over a network: the mock provider plays a script, and you say so when you are asked.\n\nYou work in a workspace, one folder, with `read_file`, `search_files`, `write_file`, `patch` and `terminal`. You say what you are about to do before you do it, and afterwards you report only what really happened.\n\nYou work in the folder /home/someone/cos/workspaces/demo. This session began on 2026-11-30.", "model": "mock-1", "max_output_tokens": null, "tools": [{"name": "patch", "description": "Replace one piece of a text file in the workspace. `old_string` is matched exactly and must occur once (or give `replace_all`): copy it from `read_file` without the line numbers and take enough lines around the change. Line ends, encoding and mode of the file are kept; `\\n` also matches the line ends of a Windows file. Returns JSON with `success` and the `diff`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file."}, "new_string": {"type": "string", "description": "What to put in its place; empty to delete it."}, "replace_all": {"type": "boolean", "description": "Replace every occurrence; false when not given."}, "mode": {"type": "string", "enum": ["replace"], "description": "The only mode; need not be given."}}, "required": ["path", "old_string", "new_string"], "additionalProperties": false}}, {"name": "read_file", "description": "Read a text file in the workspace. Returns JSON whose `content` has one `NUMBER|text` line for each line of the file. Use `offset` and `limit` to read a long file in pieces; at most 50,000 bytes are returned at once and very long lines are cut. A relative path starts at the working folder that `terminal` shows as `cwd`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "offset": {"type": "integer", "minimum": 1, "description": "First line to read; 1 when not given."}, "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines to read; 500 when not given."}}, "required": ["path"], "additionalProperties": false}}, {"name": "search_files", "description": "Search the workspace. With `target` content (the default), `pattern` is a regular expression (Rust syntax, without look-around) that is matched line by line; results come in path order. With `target` files, `pattern` is a glob for names such as ''*.py'' or ''src/**/*.md''; the newest files come first. Hidden and binary files, files in .gitignore and files over 200 MB are left out; symbolic links are not followed. Returns JSON with `total_count` and `truncated`.", "schema": {"type": "object", "properties": {"pattern": {"type": "string", "description": "Regular expression, or a glob for the names of files."}, "target": {"type": "string", "enum": ["content", "files"], "description": "What to search; content by default."}, "path": {"type": "string", "description": "Folder or file to search; the working folder when not given."}, "file_glob": {"type": "string", "description": "Search the contents of files that fit only, such as ''*.py''."}, "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many results to return; 50 when not given."}, "offset": {"type": "integer", "minimum": 0, "description": "How many results to skip; 0 when not given."}, "output_mode": {"type": "string", "enum": ["content", "files_only", "count"], "description": "Matching lines (default), only the files'' paths, or how many lines match in each file."}, "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after each matching line; 0 when not given."}, "hidden": {"type": "boolean", "description": "Also search files and folders whose names start with a dot."}}, "required": ["pattern"], "additionalProperties": false}}, {"name": "terminal", "description": "Run a shell command (bash) in the workspace and return JSON: `output` (stdout and stderr together), `exit_code`, `error`, `cwd`. The working folder is kept between calls: after `cd sub` the next command starts in sub. There is no terminal and no input: programs that ask questions fail, so pass flags such as --yes. Output over 50,000 bytes is cut in the middle. The call returns when the shell exits; what was started with `&` goes on running and is listed by pid.", "schema": {"type": "object", "properties": {"command": {"type": "string", "description": "The command, one or several lines."}, "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "description": "Seconds after which the command is stopped; 180 when not given."}, "workdir": {"type": "string", "description": "Folder inside the workspace for this call only, relative to the working folder."}}, "required": ["command"], "additionalProperties": false}}, {"name": "write_file", "description": "Write a text file in the workspace, replacing its whole content; missing folders are created. Use `patch` to change a part of a file. The content is stored exactly as given, as UTF-8 with the line ends it has. Binary files are refused. Returns JSON with `bytes_written` and `status` (created or replaced).", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "content": {"type": "string", "description": "The whole new content."}}, "required": ["path", "content"], "additionalProperties": false}}]}', '2026-11-30 20:35:21.360039+00', '2026-11-30 20:35:21.344979+00', '2026-11-30 20:35:22.937849+00', NULL, false, NULL, NULL, NULL);
INSERT INTO public.sessions VALUES ('01a22e2b-5d97-721a-8d62-1a88743140b2', 'demo', 'cli', 'second question', '{}', NULL, '01a22e2b-5d97-721a-8d62-1a88743140b2', '/home/someone/cos/workspaces/demo', '{}', '{"system": "You are the demo agent of cos. You show what a turn looks like: text that streams, a tool call, an approval, and what it cost. No model answers here and nothing is sent over a network: the mock provider plays a script, and you say so when you are asked.\n\nYou work in a workspace, one folder, with `read_file`, `search_files`, `write_file`, `patch` and `terminal`. You say what you are about to do before you do it, and afterwards you report only what really happened.\n\nYou work in the folder /home/someone/cos/workspaces/demo. This session began on 2026-11-30.", "model": "mock-1", "max_output_tokens": null, "tools": [{"name": "patch", "description": "Replace one piece of a text file in the workspace. `old_string` is matched exactly and must occur once (or give `replace_all`): copy it from `read_file` without the line numbers and take enough lines around the change. Line ends, encoding and mode of the file are kept; `\\n` also matches the line ends of a Windows file. Returns JSON with `success` and the `diff`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file."}, "new_string": {"type": "string", "description": "What to put in its place; empty to delete it."}, "replace_all": {"type": "boolean", "description": "Replace every occurrence; false when not given."}, "mode": {"type": "string", "enum": ["replace"], "description": "The only mode; need not be given."}}, "required": ["path", "old_string", "new_string"], "additionalProperties": false}}, {"name": "read_file", "description": "Read a text file in the workspace. Returns JSON whose `content` has one `NUMBER|text` line for each line of the file. Use `offset` and `limit` to read a long file in pieces; at most 50,000 bytes are returned at once and very long lines are cut. A relative path starts at the working folder that `terminal` shows as `cwd`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "offset": {"type": "integer", "minimum": 1, "description": "First line to read; 1 when not given."}, "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines to read; 500 when not given."}}, "required": ["path"], "additionalProperties": false}}, {"name": "search_files", "description": "Search the workspace. With `target` content (the default), `pattern` is a regular expression (Rust syntax, without look-around) that is matched line by line; results come in path order. With `target` files, `pattern` is a glob for names such as ''*.py'' or ''src/**/*.md''; the newest files come first. Hidden and binary files, files in .gitignore and files over 200 MB are left out; symbolic links are not followed. Returns JSON with `total_count` and `truncated`.", "schema": {"type": "object", "properties": {"pattern": {"type": "string", "description": "Regular expression, or a glob for the names of files."}, "target": {"type": "string", "enum": ["content", "files"], "description": "What to search; content by default."}, "path": {"type": "string", "description": "Folder or file to search; the working folder when not given."}, "file_glob": {"type": "string", "description": "Search the contents of files that fit only, such as ''*.py''."}, "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many results to return; 50 when not given."}, "offset": {"type": "integer", "minimum": 0, "description": "How many results to skip; 0 when not given."}, "output_mode": {"type": "string", "enum": ["content", "files_only", "count"], "description": "Matching lines (default), only the files'' paths, or how many lines match in each file."}, "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after each matching line; 0 when not given."}, "hidden": {"type": "boolean", "description": "Also search files and folders whose names start with a dot."}}, "required": ["pattern"], "additionalProperties": false}}, {"name": "terminal", "description": "Run a shell command (bash) in the workspace and return JSON: `output` (stdout and stderr together), `exit_code`, `error`, `cwd`. The working folder is kept between calls: after `cd sub` the next command starts in sub. There is no terminal and no input: programs that ask questions fail, so pass flags such as --yes. Output over 50,000 bytes is cut in the middle. The call returns when the shell exits; what was started with `&` goes on running and is listed by pid.", "schema": {"type": "object", "properties": {"command": {"type": "string", "description": "The command, one or several lines."}, "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "description": "Seconds after which the command is stopped; 180 when not given."}, "workdir": {"type": "string", "description": "Folder inside the workspace for this call only, relative to the working folder."}}, "required": ["command"], "additionalProperties": false}}, {"name": "write_file", "description": "Write a text file in the workspace, replacing its whole content; missing folders are created. Use `patch` to change a part of a file. The content is stored exactly as given, as UTF-8 with the line ends it has. Binary files are refused. Returns JSON with `bytes_written` and `status` (created or replaced).", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "content": {"type": "string", "description": "The whole new content."}}, "required": ["path", "content"], "additionalProperties": false}}]}', '2026-11-30 20:35:23.682186+00', '2026-11-30 20:35:23.672825+00', '2026-11-30 20:35:26.790845+00', NULL, false, NULL, NULL, NULL);
INSERT INTO public.sessions VALUES ('01a22e2b-9368-73df-a3f9-3d582aff96ae', 'demo', 'cli', 'run a command', '{client:acme}', NULL, '01a22e2b-9368-73df-a3f9-3d582aff96ae', '/home/someone/cos/workspaces/demo', '{}', '{"system": "You are the demo agent of cos. You show what a turn looks like: text that streams, a tool call, an approval, and what it cost. No model answers here and nothing is sent over a network: the mock provider plays a script, and you say so when you are asked.\n\nYou work in a workspace, one folder, with `read_file`, `search_files`, `write_file`, `patch` and `terminal`. You say what you are about to do before you do it, and afterwards you report only what really happened.\n\nYou work in the folder /home/someone/cos/workspaces/demo. This session began on 2026-11-30.", "model": "mock-1", "max_output_tokens": null, "tools": [{"name": "patch", "description": "Replace one piece of a text file in the workspace. `old_string` is matched exactly and must occur once (or give `replace_all`): copy it from `read_file` without the line numbers and take enough lines around the change. Line ends, encoding and mode of the file are kept; `\\n` also matches the line ends of a Windows file. Returns JSON with `success` and the `diff`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file."}, "new_string": {"type": "string", "description": "What to put in its place; empty to delete it."}, "replace_all": {"type": "boolean", "description": "Replace every occurrence; false when not given."}, "mode": {"type": "string", "enum": ["replace"], "description": "The only mode; need not be given."}}, "required": ["path", "old_string", "new_string"], "additionalProperties": false}}, {"name": "read_file", "description": "Read a text file in the workspace. Returns JSON whose `content` has one `NUMBER|text` line for each line of the file. Use `offset` and `limit` to read a long file in pieces; at most 50,000 bytes are returned at once and very long lines are cut. A relative path starts at the working folder that `terminal` shows as `cwd`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "offset": {"type": "integer", "minimum": 1, "description": "First line to read; 1 when not given."}, "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines to read; 500 when not given."}}, "required": ["path"], "additionalProperties": false}}, {"name": "search_files", "description": "Search the workspace. With `target` content (the default), `pattern` is a regular expression (Rust syntax, without look-around) that is matched line by line; results come in path order. With `target` files, `pattern` is a glob for names such as ''*.py'' or ''src/**/*.md''; the newest files come first. Hidden and binary files, files in .gitignore and files over 200 MB are left out; symbolic links are not followed. Returns JSON with `total_count` and `truncated`.", "schema": {"type": "object", "properties": {"pattern": {"type": "string", "description": "Regular expression, or a glob for the names of files."}, "target": {"type": "string", "enum": ["content", "files"], "description": "What to search; content by default."}, "path": {"type": "string", "description": "Folder or file to search; the working folder when not given."}, "file_glob": {"type": "string", "description": "Search the contents of files that fit only, such as ''*.py''."}, "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many results to return; 50 when not given."}, "offset": {"type": "integer", "minimum": 0, "description": "How many results to skip; 0 when not given."}, "output_mode": {"type": "string", "enum": ["content", "files_only", "count"], "description": "Matching lines (default), only the files'' paths, or how many lines match in each file."}, "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after each matching line; 0 when not given."}, "hidden": {"type": "boolean", "description": "Also search files and folders whose names start with a dot."}}, "required": ["pattern"], "additionalProperties": false}}, {"name": "terminal", "description": "Run a shell command (bash) in the workspace and return JSON: `output` (stdout and stderr together), `exit_code`, `error`, `cwd`. The working folder is kept between calls: after `cd sub` the next command starts in sub. There is no terminal and no input: programs that ask questions fail, so pass flags such as --yes. Output over 50,000 bytes is cut in the middle. The call returns when the shell exits; what was started with `&` goes on running and is listed by pid.", "schema": {"type": "object", "properties": {"command": {"type": "string", "description": "The command, one or several lines."}, "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "description": "Seconds after which the command is stopped; 180 when not given."}, "workdir": {"type": "string", "description": "Folder inside the workspace for this call only, relative to the working folder."}}, "required": ["command"], "additionalProperties": false}}, {"name": "write_file", "description": "Write a text file in the workspace, replacing its whole content; missing folders are created. Use `patch` to change a part of a file. The content is stored exactly as given, as UTF-8 with the line ends it has. Binary files are refused. Returns JSON with `bytes_written` and `status` (created or replaced).", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "content": {"type": "string", "description": "The whole new content."}}, "required": ["path", "content"], "additionalProperties": false}}]}', '2026-11-30 20:35:37.459563+00', '2026-11-30 20:35:37.450123+00', '2026-11-30 20:35:39.256511+00', NULL, false, NULL, NULL, NULL);
INSERT INTO public.sessions VALUES ('01a22e2b-9e04-77d0-a9fa-871f59ea3fce', 'demo', 'cli', 'run a command', '{client:beta}', NULL, '01a22e2b-9e04-77d0-a9fa-871f59ea3fce', '/home/someone/cos/workspaces/demo', '{}', '{"system": "You are the demo agent of cos. You show what a turn looks like: text that streams, a tool call, an approval, and what it cost. No model answers here and nothing is sent over a network: the mock provider plays a script, and you say so when you are asked.\n\nYou work in a workspace, one folder, with `read_file`, `search_files`, `write_file`, `patch` and `terminal`. You say what you are about to do before you do it, and afterwards you report only what really happened.\n\nYou work in the folder /home/someone/cos/workspaces/demo. This session began on 2026-11-30.", "model": "mock-1", "max_output_tokens": null, "tools": [{"name": "patch", "description": "Replace one piece of a text file in the workspace. `old_string` is matched exactly and must occur once (or give `replace_all`): copy it from `read_file` without the line numbers and take enough lines around the change. Line ends, encoding and mode of the file are kept; `\\n` also matches the line ends of a Windows file. Returns JSON with `success` and the `diff`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file."}, "new_string": {"type": "string", "description": "What to put in its place; empty to delete it."}, "replace_all": {"type": "boolean", "description": "Replace every occurrence; false when not given."}, "mode": {"type": "string", "enum": ["replace"], "description": "The only mode; need not be given."}}, "required": ["path", "old_string", "new_string"], "additionalProperties": false}}, {"name": "read_file", "description": "Read a text file in the workspace. Returns JSON whose `content` has one `NUMBER|text` line for each line of the file. Use `offset` and `limit` to read a long file in pieces; at most 50,000 bytes are returned at once and very long lines are cut. A relative path starts at the working folder that `terminal` shows as `cwd`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "offset": {"type": "integer", "minimum": 1, "description": "First line to read; 1 when not given."}, "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines to read; 500 when not given."}}, "required": ["path"], "additionalProperties": false}}, {"name": "search_files", "description": "Search the workspace. With `target` content (the default), `pattern` is a regular expression (Rust syntax, without look-around) that is matched line by line; results come in path order. With `target` files, `pattern` is a glob for names such as ''*.py'' or ''src/**/*.md''; the newest files come first. Hidden and binary files, files in .gitignore and files over 200 MB are left out; symbolic links are not followed. Returns JSON with `total_count` and `truncated`.", "schema": {"type": "object", "properties": {"pattern": {"type": "string", "description": "Regular expression, or a glob for the names of files."}, "target": {"type": "string", "enum": ["content", "files"], "description": "What to search; content by default."}, "path": {"type": "string", "description": "Folder or file to search; the working folder when not given."}, "file_glob": {"type": "string", "description": "Search the contents of files that fit only, such as ''*.py''."}, "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many results to return; 50 when not given."}, "offset": {"type": "integer", "minimum": 0, "description": "How many results to skip; 0 when not given."}, "output_mode": {"type": "string", "enum": ["content", "files_only", "count"], "description": "Matching lines (default), only the files'' paths, or how many lines match in each file."}, "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after each matching line; 0 when not given."}, "hidden": {"type": "boolean", "description": "Also search files and folders whose names start with a dot."}}, "required": ["pattern"], "additionalProperties": false}}, {"name": "terminal", "description": "Run a shell command (bash) in the workspace and return JSON: `output` (stdout and stderr together), `exit_code`, `error`, `cwd`. The working folder is kept between calls: after `cd sub` the next command starts in sub. There is no terminal and no input: programs that ask questions fail, so pass flags such as --yes. Output over 50,000 bytes is cut in the middle. The call returns when the shell exits; what was started with `&` goes on running and is listed by pid.", "schema": {"type": "object", "properties": {"command": {"type": "string", "description": "The command, one or several lines."}, "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "description": "Seconds after which the command is stopped; 180 when not given."}, "workdir": {"type": "string", "description": "Folder inside the workspace for this call only, relative to the working folder."}}, "required": ["command"], "additionalProperties": false}}, {"name": "write_file", "description": "Write a text file in the workspace, replacing its whole content; missing folders are created. Use `patch` to change a part of a file. The content is stored exactly as given, as UTF-8 with the line ends it has. Binary files are refused. Returns JSON with `bytes_written` and `status` (created or replaced).", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "content": {"type": "string", "description": "The whole new content."}}, "required": ["path", "content"], "additionalProperties": false}}]}', '2026-11-30 20:35:40.174444+00', '2026-11-30 20:35:40.165315+00', '2026-11-30 20:35:42.111759+00', NULL, false, NULL, NULL, NULL);
INSERT INTO public.sessions VALUES ('01a22e2c-2d38-7189-ba9a-6459f4bb769c', 'demo', 'cli', 'run a command', '{client:gamma}', NULL, '01a22e2c-2d38-7189-ba9a-6459f4bb769c', '/home/someone/cos/workspaces/demo', '{}', '{"system": "You are the demo agent of cos. You show what a turn looks like: text that streams, a tool call, an approval, and what it cost. No model answers here and nothing is sent over a network: the mock provider plays a script, and you say so when you are asked.\n\nYou work in a workspace, one folder, with `read_file`, `search_files`, `write_file`, `patch` and `terminal`. You say what you are about to do before you do it, and afterwards you report only what really happened.\n\nYou work in the folder /home/someone/cos/workspaces/demo. This session began on 2026-11-30.", "model": "mock-1", "max_output_tokens": null, "tools": [{"name": "patch", "description": "Replace one piece of a text file in the workspace. `old_string` is matched exactly and must occur once (or give `replace_all`): copy it from `read_file` without the line numbers and take enough lines around the change. Line ends, encoding and mode of the file are kept; `\\n` also matches the line ends of a Windows file. Returns JSON with `success` and the `diff`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file."}, "new_string": {"type": "string", "description": "What to put in its place; empty to delete it."}, "replace_all": {"type": "boolean", "description": "Replace every occurrence; false when not given."}, "mode": {"type": "string", "enum": ["replace"], "description": "The only mode; need not be given."}}, "required": ["path", "old_string", "new_string"], "additionalProperties": false}}, {"name": "read_file", "description": "Read a text file in the workspace. Returns JSON whose `content` has one `NUMBER|text` line for each line of the file. Use `offset` and `limit` to read a long file in pieces; at most 50,000 bytes are returned at once and very long lines are cut. A relative path starts at the working folder that `terminal` shows as `cwd`.", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "offset": {"type": "integer", "minimum": 1, "description": "First line to read; 1 when not given."}, "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "How many lines to read; 500 when not given."}}, "required": ["path"], "additionalProperties": false}}, {"name": "search_files", "description": "Search the workspace. With `target` content (the default), `pattern` is a regular expression (Rust syntax, without look-around) that is matched line by line; results come in path order. With `target` files, `pattern` is a glob for names such as ''*.py'' or ''src/**/*.md''; the newest files come first. Hidden and binary files, files in .gitignore and files over 200 MB are left out; symbolic links are not followed. Returns JSON with `total_count` and `truncated`.", "schema": {"type": "object", "properties": {"pattern": {"type": "string", "description": "Regular expression, or a glob for the names of files."}, "target": {"type": "string", "enum": ["content", "files"], "description": "What to search; content by default."}, "path": {"type": "string", "description": "Folder or file to search; the working folder when not given."}, "file_glob": {"type": "string", "description": "Search the contents of files that fit only, such as ''*.py''."}, "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "How many results to return; 50 when not given."}, "offset": {"type": "integer", "minimum": 0, "description": "How many results to skip; 0 when not given."}, "output_mode": {"type": "string", "enum": ["content", "files_only", "count"], "description": "Matching lines (default), only the files'' paths, or how many lines match in each file."}, "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after each matching line; 0 when not given."}, "hidden": {"type": "boolean", "description": "Also search files and folders whose names start with a dot."}}, "required": ["pattern"], "additionalProperties": false}}, {"name": "terminal", "description": "Run a shell command (bash) in the workspace and return JSON: `output` (stdout and stderr together), `exit_code`, `error`, `cwd`. The working folder is kept between calls: after `cd sub` the next command starts in sub. There is no terminal and no input: programs that ask questions fail, so pass flags such as --yes. Output over 50,000 bytes is cut in the middle. The call returns when the shell exits; what was started with `&` goes on running and is listed by pid.", "schema": {"type": "object", "properties": {"command": {"type": "string", "description": "The command, one or several lines."}, "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "description": "Seconds after which the command is stopped; 180 when not given."}, "workdir": {"type": "string", "description": "Folder inside the workspace for this call only, relative to the working folder."}}, "required": ["command"], "additionalProperties": false}}, {"name": "write_file", "description": "Write a text file in the workspace, replacing its whole content; missing folders are created. Use `patch` to change a part of a file. The content is stored exactly as given, as UTF-8 with the line ends it has. Binary files are refused. Returns JSON with `bytes_written` and `status` (created or replaced).", "schema": {"type": "object", "properties": {"path": {"type": "string", "description": "The file, inside the workspace."}, "content": {"type": "string", "description": "The whole new content."}}, "required": ["path", "content"], "additionalProperties": false}}]}', '2026-11-30 20:36:16.835372+00', '2026-11-30 20:36:16.825994+00', '2026-11-30 20:36:18.439428+00', NULL, false, NULL, NULL, NULL);
INSERT INTO public.tool_calls VALUES ('01a22e2b-9368-73df-a3f9-3d582aff96ae', 'mock_6f8a452371564c4eab07b153fcea9e1b', '01a22e2b-9375-771f-8c44-5296dd9f2e99', 'demo', '01a22e2b-937b-7611-996a-509b8d028fa8', 0, 'terminal', '{"command": "echo ''Hello from the demo'' > hello.txt && cat hello.txt"}', 'denied', 'Not run: what needs approval is refused without asking (flag --approve); it runs a program with your rights', true, 'execute', NULL, NULL, '2026-11-30 20:35:38.354663+00', '2026-11-30 20:35:38.405431+00');
INSERT INTO public.tool_calls VALUES ('01a22e2b-9e04-77d0-a9fa-871f59ea3fce', 'mock_5dc205d1415044a1941b8daa7f4f73dc', '01a22e2b-9e10-76c4-b7b4-cc93cfe8fc87', 'demo', '01a22e2b-9e16-7709-b2f8-b771b8405fd5', 0, 'terminal', '{"command": "echo ''Hello from the demo'' > hello.txt && cat hello.txt"}', 'denied', 'Not run: what needs approval is refused without asking (nobody can answer here: this cos has no terminal); it runs a program with your rights', true, 'execute', NULL, NULL, '2026-11-30 20:35:41.070426+00', '2026-11-30 20:35:41.113678+00');
INSERT INTO public.tool_calls VALUES ('01a22e2c-2d38-7189-ba9a-6459f4bb769c', 'mock_a7b82fcdd413491b9f23033a07702ba5', '01a22e2c-2d45-709e-85e0-61927c1defed', 'demo', '01a22e2c-2d4a-70e6-9af4-0a11af7d1431', 0, 'terminal', '{"command": "echo ''Hello from the demo'' > hello.txt && cat hello.txt"}', 'ok', '{"output": "Hello from the demo\n", "exit_code": 0, "error": null, "cwd": "/home/someone/cos/workspaces/demo"}', false, 'execute', 15, NULL, '2026-11-30 20:36:17.738515+00', '2026-11-30 20:36:17.806237+00');
INSERT INTO public.turns VALUES ('01a22e2b-5da4-7111-a905-ed46590a3a82', '01a22e2b-5d97-721a-8d62-1a88743140b2', 'demo', NULL, 1, '{area:demo}', 0, 'completed', '01a22e2b-5d18-7768-ae9c-6238a116acc9', NULL, '2026-11-30 20:35:23.685264+00', '2026-11-30 20:35:25.256659+00', '2026-11-30 20:35:25.252003+00', 'end_turn', NULL, '{"input_tokens": 2, "output_tokens": 76, "cache_read_tokens": 96, "cache_write_5m_tokens": null, "cache_write_1h_tokens": null, "is_partial": false}', NULL, NULL, NULL, NULL);
INSERT INTO public.turns VALUES ('01a22e2c-2d45-709e-85e0-61927c1defed', '01a22e2c-2d38-7189-ba9a-6459f4bb769c', 'demo', NULL, 1, '{area:demo,client:gamma}', 0, 'completed', '01a22e2c-2cc7-72a5-a8fe-d47fec31c63b', NULL, '2026-11-30 20:36:16.838504+00', '2026-11-30 20:36:18.442413+00', '2026-11-30 20:36:18.438651+00', 'end_turn', NULL, '{"input_tokens": 14, "output_tokens": 73, "cache_read_tokens": 214, "cache_write_5m_tokens": null, "cache_write_1h_tokens": null, "is_partial": false}', NULL, NULL, NULL, NULL);
INSERT INTO public.turns VALUES ('01a22e2b-5492-7223-a8eb-0c9aea4c741c', '01a22e2b-547d-75e2-9a02-5f3d27940a5c', 'demo', NULL, 1, '{area:demo}', 0, 'completed', '01a22e2b-53e7-728d-b301-5e89ca180323', NULL, '2026-11-30 20:35:21.364552+00', '2026-11-30 20:35:22.941636+00', '2026-11-30 20:35:22.93705+00', 'end_turn', NULL, '{"input_tokens": 6, "output_tokens": 76, "cache_read_tokens": 96, "cache_write_5m_tokens": null, "cache_write_1h_tokens": null, "is_partial": false}', NULL, NULL, NULL, NULL);
INSERT INTO public.turns VALUES ('01a22e2b-662c-7521-a65c-1843ffc1c062', '01a22e2b-5d97-721a-8d62-1a88743140b2', 'demo', NULL, 2, '{area:demo}', 0, 'completed', '01a22e2b-65c4-77d7-8b02-dc15b83c2a84', NULL, '2026-11-30 20:35:25.869712+00', '2026-11-30 20:35:26.795525+00', '2026-11-30 20:35:26.789425+00', 'end_turn', NULL, '{"input_tokens": 1, "output_tokens": 44, "cache_read_tokens": 174, "cache_write_5m_tokens": null, "cache_write_1h_tokens": null, "is_partial": false}', NULL, NULL, NULL, NULL);
INSERT INTO public.turns VALUES ('01a22e2b-9375-771f-8c44-5296dd9f2e99', '01a22e2b-9368-73df-a3f9-3d582aff96ae', 'demo', NULL, 1, '{area:demo,client:acme}', 0, 'completed', '01a22e2b-92fe-75e8-9c47-270330f8f7d9', NULL, '2026-11-30 20:35:37.462924+00', '2026-11-30 20:35:39.260021+00', '2026-11-30 20:35:39.255674+00', 'end_turn', NULL, '{"input_tokens": 21, "output_tokens": 84, "cache_read_tokens": 214, "cache_write_5m_tokens": null, "cache_write_1h_tokens": null, "is_partial": false}', NULL, NULL, NULL, NULL);
INSERT INTO public.turns VALUES ('01a22e2b-9e10-76c4-b7b4-cc93cfe8fc87', '01a22e2b-9e04-77d0-a9fa-871f59ea3fce', 'demo', NULL, 1, '{area:demo,client:beta}', 0, 'completed', '01a22e2b-9da7-76e3-a8cf-33258a759512', NULL, '2026-11-30 20:35:40.1778+00', '2026-11-30 20:35:42.116388+00', '2026-11-30 20:35:42.110413+00', 'end_turn', NULL, '{"input_tokens": 28, "output_tokens": 91, "cache_read_tokens": 214, "cache_write_5m_tokens": null, "cache_write_1h_tokens": null, "is_partial": false}', NULL, NULL, NULL, NULL);
ALTER TABLE ONLY public.approval_grants
    ADD CONSTRAINT approval_grants_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bill_days
    ADD CONSTRAINT bill_days_pkey PRIMARY KEY (day, profile_id, provider, model, tags);
ALTER TABLE ONLY public.bill_overrides
    ADD CONSTRAINT bill_overrides_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.bill_state
    ADD CONSTRAINT bill_state_pkey PRIMARY KEY (is_only);
ALTER TABLE ONLY public.bill_warnings
    ADD CONSTRAINT bill_warnings_pkey PRIMARY KEY (scope, period, period_key, percent);
ALTER TABLE ONLY public.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.drafts
    ADD CONSTRAINT drafts_profile_id_session_id_key UNIQUE NULLS NOT DISTINCT (profile_id, session_id);
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_session_id_ordinal_key UNIQUE (session_id, ordinal);
ALTER TABLE ONLY public.model_calls
    ADD CONSTRAINT model_calls_pkey PRIMARY KEY (turn_id, ordinal);
ALTER TABLE ONLY public.profiles
    ADD CONSTRAINT profiles_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.queued_messages
    ADD CONSTRAINT queued_messages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tool_calls
    ADD CONSTRAINT tool_calls_pkey PRIMARY KEY (session_id, call_id);
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_session_id_ordinal_key UNIQUE (session_id, ordinal);
CREATE INDEX approval_grants_live ON public.approval_grants USING btree (root_session_id) WHERE (revoked_at IS NULL);
CREATE INDEX approvals_by_turn ON public.approvals USING btree (turn_id);
CREATE INDEX approvals_pending ON public.approvals USING btree (requested_at) WHERE (status = 'pending'::text);
CREATE INDEX bill_overrides_by_period ON public.bill_overrides USING btree (scope, period, period_key);
CREATE INDEX messages_by_turn ON public.messages USING btree (turn_id);
CREATE UNIQUE INDEX messages_one_result ON public.messages USING btree (session_id, call_id) WHERE (call_id IS NOT NULL);
CREATE INDEX messages_search ON public.messages USING gin (search);
CREATE INDEX model_calls_by_path ON public.model_calls USING gin (session_path);
CREATE INDEX model_calls_by_session ON public.model_calls USING btree (session_id, started_at);
CREATE INDEX model_calls_by_time ON public.model_calls USING btree (started_at);
CREATE INDEX model_calls_running ON public.model_calls USING btree (owner_key) WHERE (status = 'running'::text);
CREATE INDEX model_calls_unpriced ON public.model_calls USING btree (started_at) WHERE ((cost_usd IS NULL) AND (status <> ALL (ARRAY['running'::text, 'lost'::text])));
CREATE UNIQUE INDEX queued_messages_client ON public.queued_messages USING btree (session_id, client_message_id) WHERE (client_message_id IS NOT NULL);
CREATE INDEX queued_messages_in_order ON public.queued_messages USING btree (session_id, id);
CREATE INDEX sessions_by_activity ON public.sessions USING btree (last_activity_at DESC, id DESC);
CREATE INDEX sessions_by_parent ON public.sessions USING btree (parent_session_id) WHERE (parent_session_id IS NOT NULL);
CREATE INDEX tool_calls_by_turn ON public.tool_calls USING btree (turn_id, "position");
CREATE UNIQUE INDEX turns_client_message ON public.turns USING btree (session_id, client_message_id) WHERE (client_message_id IS NOT NULL);
CREATE UNIQUE INDEX turns_one_active ON public.turns USING btree (session_id) WHERE (completed_at IS NULL);
CREATE TRIGGER model_calls_days AFTER INSERT OR DELETE OR UPDATE ON public.model_calls FOR EACH ROW EXECUTE FUNCTION public.bill_keep_days();
ALTER TABLE ONLY public.approval_grants
    ADD CONSTRAINT approval_grants_root_session_id_fkey FOREIGN KEY (root_session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_turn_id_fkey FOREIGN KEY (turn_id) REFERENCES public.turns(id);
ALTER TABLE ONLY public.drafts
    ADD CONSTRAINT drafts_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_turn_id_fkey FOREIGN KEY (turn_id) REFERENCES public.turns(id);
ALTER TABLE ONLY public.queued_messages
    ADD CONSTRAINT queued_messages_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_forked_from_session_id_fkey FOREIGN KEY (forked_from_session_id) REFERENCES public.sessions(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_parent_session_id_fkey FOREIGN KEY (parent_session_id) REFERENCES public.sessions(id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_profile_id_fkey FOREIGN KEY (profile_id) REFERENCES public.profiles(id);
ALTER TABLE ONLY public.tool_calls
    ADD CONSTRAINT tool_calls_message_id_fkey FOREIGN KEY (message_id) REFERENCES public.messages(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tool_calls
    ADD CONSTRAINT tool_calls_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tool_calls
    ADD CONSTRAINT tool_calls_turn_id_fkey FOREIGN KEY (turn_id) REFERENCES public.turns(id);
ALTER TABLE ONLY public.turns
    ADD CONSTRAINT turns_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.sessions(id) ON DELETE CASCADE;
