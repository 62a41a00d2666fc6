-- Schema 3. Whoever changes this file raises the number.
-- The whole current truth of the core's tables. Runs once per version of this text, under one advisory lock; every
-- statement may run again.

CREATE TABLE IF NOT EXISTS profiles (
    id text PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS sessions (
    id uuid PRIMARY KEY,
    profile_id text NOT NULL REFERENCES profiles (id),
    source text NOT NULL,
    title text,
    tags text[] NOT NULL DEFAULT '{}',
    parent_session_id uuid REFERENCES sessions (id),
    root_session_id uuid NOT NULL,
    cwd text,
    options json NOT NULL DEFAULT '{}',
    -- What comes before the conversation, frozen at the first turn: {"system", "tools", "model", ...}. Text order is kept.
    frozen_prompt json,
    frozen_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_activity_at timestamptz NOT NULL DEFAULT now(),
    archived_at timestamptz,
    queue_paused boolean NOT NULL DEFAULT false
);
-- Where a fork came from. It owns a copy of its history, so it outlives that session.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS forked_from_session_id uuid REFERENCES sessions (id) ON DELETE SET NULL;
-- When somebody last looked at it: a turn that ended later is news.
-- Whoever begins a session sees it; sessions older than this column were seen.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS seen_at timestamptz DEFAULT now();
-- The newest model call: {"model", "used", "window"}, tokens; how full the context is.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS context json;
-- Of the message that began it: the same message, when it comes again, begins no other.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS client_message_id text;
CREATE UNIQUE INDEX IF NOT EXISTS sessions_client_message ON sessions (client_message_id)
    WHERE client_message_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS sessions_by_activity ON sessions (last_activity_at DESC, id DESC);
-- What may be news: few rows, however many sessions there are.
CREATE INDEX IF NOT EXISTS sessions_with_news ON sessions (last_activity_at DESC, id DESC)
    WHERE parent_session_id IS NULL AND archived_at IS NULL AND last_activity_at > COALESCE(seen_at, created_at);
CREATE INDEX IF NOT EXISTS sessions_by_parent ON sessions (parent_session_id) WHERE parent_session_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS sessions_by_fork ON sessions (forked_from_session_id)
    WHERE forked_from_session_id IS NOT NULL;

CREATE TABLE IF NOT EXISTS turns (
    id uuid PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    profile_id text NOT NULL,
    parent_turn_id uuid,
    ordinal integer NOT NULL,
    tags text[] NOT NULL DEFAULT '{}',
    depth integer NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'running'
        CHECK (status IN ('running', 'completed', 'cancelled', 'failed', 'interrupted')),
    owner_boot_id uuid NOT NULL,
    client_message_id text,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    completed_at timestamptz,
    last_activity_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    stop_reason text,
    error text,
    usage json,
    CHECK ((status = 'running') = (completed_at IS NULL)),
    CHECK (completed_at >= started_at),
    UNIQUE (session_id, ordinal)
);
-- What a cos of before schema 3 kept of the reply being streamed; now `reply_pieces`.
ALTER TABLE turns ADD COLUMN IF NOT EXISTS open_reply_id uuid;
ALTER TABLE turns ADD COLUMN IF NOT EXISTS open_reply json;
-- A rewound turn: kept, left out of the conversation and of what is sent to a model; only `session_search` finds it.
ALTER TABLE turns ADD COLUMN IF NOT EXISTS undone_at timestamptz;
-- In a fork: the turn that this one repeats. It cost nothing again.
ALTER TABLE turns ADD COLUMN IF NOT EXISTS copied_from_turn_id uuid;
-- Of an ended turn: what its session's `context` was then, and is again when it is the last one of a rewind or a fork.
ALTER TABLE turns ADD COLUMN IF NOT EXISTS context json;
-- In a fork: how long the turn that this one repeats waited for the user. Its requests are not copied.
ALTER TABLE turns ADD COLUMN IF NOT EXISTS waited_seconds double precision;
-- Somebody wants the turn to stop: whoever runs it hears of it, or finds it here. `cancel_goes_on`: a message came in
-- after that, so what waits is not to pause when the turn has ended.
ALTER TABLE turns ADD COLUMN IF NOT EXISTS cancel_requested_at timestamptz;
ALTER TABLE turns ADD COLUMN IF NOT EXISTS cancel_requested_by uuid;
ALTER TABLE turns ADD COLUMN IF NOT EXISTS cancel_reason text;
ALTER TABLE turns ADD COLUMN IF NOT EXISTS cancel_goes_on boolean NOT NULL DEFAULT false;
-- One active turn per session: the database forbids a second one.
CREATE UNIQUE INDEX IF NOT EXISTS turns_one_active ON turns (session_id) WHERE completed_at IS NULL;
CREATE UNIQUE INDEX IF NOT EXISTS turns_client_message ON turns (session_id, client_message_id)
    WHERE client_message_id IS NOT NULL;

-- What has come on screen of the reply being streamed, until its turn is closed: it becomes a message when the turn's
-- process dies. Rows that grow with the reply would be written anew with each piece.
CREATE TABLE IF NOT EXISTS reply_pieces (
    turn_id uuid NOT NULL,
    message_id uuid NOT NULL,
    number integer NOT NULL,
    is_thinking boolean NOT NULL,
    text text NOT NULL,
    kept_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (turn_id, message_id, number)
);

CREATE TABLE IF NOT EXISTS messages (
    id uuid PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn_id uuid NOT NULL REFERENCES turns (id),
    profile_id text NOT NULL,
    ordinal integer NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant', 'tool_result')),
    call_id text,
    active boolean NOT NULL DEFAULT true,
    -- json, not jsonb: the order of keys and the spelling of numbers are part of what the provider compares.
    body json NOT NULL,
    search_text text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((role = 'tool_result') = (call_id IS NOT NULL)),
    UNIQUE (session_id, ordinal)
);
-- The summary that took its place. When that is rewound, or left out of a fork, the message is active again.
ALTER TABLE messages ADD COLUMN IF NOT EXISTS put_away_by uuid;
-- Of a message that went into a running turn; a prompt's is with its turn.
ALTER TABLE messages ADD COLUMN IF NOT EXISTS client_message_id text;
CREATE UNIQUE INDEX IF NOT EXISTS messages_client_message ON messages (session_id, client_message_id)
    WHERE client_message_id IS NOT NULL;
-- A second result for one tool call is impossible.
CREATE UNIQUE INDEX IF NOT EXISTS messages_one_result ON messages (session_id, call_id) WHERE call_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS messages_by_turn ON messages (turn_id);
-- What was sent in a profile, newest first.
CREATE INDEX IF NOT EXISTS messages_prompts ON messages (profile_id, id DESC) WHERE role = 'user';

-- A text as its words are looked for (`cos.core.search_query` does the same to what is typed): signs that would glue
-- words together are spaces, and every character of a script without spaces is a word of its own. \u3005 to \ud7af:
-- Chinese, Japanese, Korean; \u0e00 to \u109f: Thai, Lao, Tibetan, Burmese; \u1780: Khmer.
CREATE OR REPLACE FUNCTION searched_text(body text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN CASE
        WHEN octet_length(body) = char_length(body) THEN translate(left(body, 100000), '-/.@+<>&_:\~', '            ')
        ELSE regexp_replace(
            translate(left(body, 100000), '-/.@+<>&_:\~', '            '),
            '([\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\ua960-\ud7af\uf900-\ufaff])', ' \1 ', 'g')
    END;
-- Counts all messages of all profiles; every 8,192 of them are a block, and every 65,536 a large one.
ALTER TABLE messages ADD COLUMN IF NOT EXISTS number bigint GENERATED ALWAYS AS IDENTITY;
-- The words, and two that hold spaces: profile, role and block. With them a search looks at one block after the other,
-- the newest first, and what it costs depends on what it wants, not on how often a word was ever said.
ALTER TABLE messages ADD COLUMN IF NOT EXISTS words tsvector GENERATED ALWAYS AS (
    to_tsvector('pg_catalog.simple', searched_text(search_text))
    || array_to_tsvector(ARRAY[
        profile_id || ' ' || role || ' ' || (number >> 13)::text,
        profile_id || ' ' || role || ' large ' || (number >> 16)::text])) STORED;
ALTER TABLE messages DROP COLUMN IF EXISTS search;
-- With pg_trgm, parts of words too, of what people and models said. Every search passes through the list of what is not
-- in the index yet (`fastupdate`), once for each block: so there is none.
DO $$
DECLARE
    has_trigrams boolean;
BEGIN
    BEGIN
        CREATE EXTENSION IF NOT EXISTS pg_trgm;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_file THEN
        NULL;  -- Not shipped with this server, or not allowed to this account: words are found all the same.
    END;
    has_trigrams := EXISTS (SELECT 1 FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod
                            WHERE c.opcname = 'gin_trgm_ops' AND a.amname = 'gin' AND pg_opclass_is_visible(c.oid));
    IF to_regclass('messages_words') IS NULL AND has_trigrams THEN
        CREATE INDEX messages_words ON messages USING gin
            (words, (CASE WHEN role = 'tool_result' THEN '' ELSE search_text END) gin_trgm_ops) WITH (fastupdate = off);
    ELSIF to_regclass('messages_words') IS NULL THEN
        CREATE INDEX messages_words ON messages USING gin (words) WITH (fastupdate = off);
    END IF;
END $$;

CREATE TABLE IF NOT EXISTS tool_calls (
    session_id uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call_id text NOT NULL,
    turn_id uuid NOT NULL REFERENCES turns (id),
    profile_id text NOT NULL,
    message_id uuid REFERENCES messages (id) ON DELETE CASCADE,
    position integer NOT NULL DEFAULT 0,
    name text NOT NULL,
    args json NOT NULL,
    status text NOT NULL DEFAULT 'proposed'
        CHECK (status IN ('proposed', 'waiting', 'running', 'ok', 'error', 'denied', 'expired', 'cancelled',
                          'timed_out', 'unknown')),
    result text,
    is_error boolean NOT NULL DEFAULT false,
    risk text,
    duration_ms integer,
    approval json,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    PRIMARY KEY (session_id, call_id)
);
CREATE INDEX IF NOT EXISTS tool_calls_by_turn ON tool_calls (turn_id, position);
-- Without it, deleting a session would read the whole table once for each of its messages.
CREATE INDEX IF NOT EXISTS tool_calls_by_message ON tool_calls (message_id);

-- Everything that asks the user: `kind` 'tool_call' (may it run?), 'question' (a running call wants to know something).
CREATE TABLE IF NOT EXISTS approvals (
    id uuid PRIMARY KEY,
    kind text NOT NULL DEFAULT 'tool_call',
    session_id uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    root_session_id uuid NOT NULL,
    turn_id uuid NOT NULL REFERENCES turns (id),
    profile_id text NOT NULL,
    tags text[] NOT NULL DEFAULT '{}',
    call_id text NOT NULL,
    tool text NOT NULL,
    args json NOT NULL,
    cwd text,
    -- sha256 over tool, canonical arguments and working folder: what runs is what was decided.
    content_hash text NOT NULL,
    title text NOT NULL,
    detail text NOT NULL,
    diff text,
    risk text NOT NULL,
    reason text NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    scope text,
    answer_reason text,
    answered_by text,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    answered_at timestamptz,
    CHECK ((status = 'pending') = (answered_at IS NULL))
);
CREATE INDEX IF NOT EXISTS approvals_pending ON approvals (requested_at) WHERE status = 'pending';
CREATE INDEX IF NOT EXISTS approvals_by_turn ON approvals (turn_id);
CREATE INDEX IF NOT EXISTS approvals_by_session ON approvals (session_id);

ALTER TABLE approvals ADD COLUMN IF NOT EXISTS edited_args json;
-- Of a question: the answers that it offers, and the user's.
ALTER TABLE approvals ADD COLUMN IF NOT EXISTS choices json NOT NULL DEFAULT '[]';
ALTER TABLE approvals ADD COLUMN IF NOT EXISTS answer text;
-- What was allowed is a call and what was answered is a question, whoever answers and however.
DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_constraint
                   WHERE conrelid = 'approvals'::regclass AND conname = 'approvals_status_of_kind') THEN
        ALTER TABLE approvals DROP CONSTRAINT IF EXISTS approvals_status_check;
        ALTER TABLE approvals ADD CONSTRAINT approvals_status_of_kind CHECK (
            status IN ('pending', 'denied', 'expired', 'cancelled')
            OR status = 'allowed' AND kind <> 'question'
            OR status = 'answered' AND kind = 'question' AND (answer <> '') IS TRUE);
    END IF;
END $$;

-- What a person allowed for longer than one call, but not in the profile's file.
CREATE TABLE IF NOT EXISTS approval_grants (
    id uuid PRIMARY KEY,
    profile_id text NOT NULL,
    -- The root of the session that asked: its child agents share the grant.
    root_session_id uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    approval_id uuid NOT NULL,
    rule json NOT NULL,
    granted_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_used_at timestamptz,
    uses integer NOT NULL DEFAULT 0,
    revoked_at timestamptz
);
CREATE INDEX IF NOT EXISTS approval_grants_live ON approval_grants (root_session_id) WHERE revoked_at IS NULL;

CREATE TABLE IF NOT EXISTS queued_messages (
    id uuid PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    profile_id text NOT NULL,
    body json NOT NULL,
    source text NOT NULL,
    client_message_id text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- 'steer' goes into the running turn at its next step; 'now' goes before what waits. Whatever a turn leaves is its
-- successor's prompt.
ALTER TABLE queued_messages ADD COLUMN IF NOT EXISTS mode text NOT NULL DEFAULT 'queue'
    CHECK (mode IN ('queue', 'steer', 'now'));
-- A steer that goes into the turn of this waiting message and no other: it steered the turn that is asked again.
ALTER TABLE queued_messages ADD COLUMN IF NOT EXISTS goes_with_id uuid;
CREATE INDEX IF NOT EXISTS queued_messages_in_order ON queued_messages (session_id, id);
CREATE UNIQUE INDEX IF NOT EXISTS queued_messages_client ON queued_messages (session_id, client_message_id)
    WHERE client_message_id IS NOT NULL;

-- What is written and not sent: one text per session, and one per profile for its next new session.
CREATE TABLE IF NOT EXISTS drafts (
    profile_id text NOT NULL,
    session_id uuid REFERENCES sessions (id) ON DELETE CASCADE,
    body text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE NULLS NOT DISTINCT (profile_id, session_id)
);

CREATE TABLE IF NOT EXISTS blobs (
    hash text PRIMARY KEY,
    profile_id text NOT NULL,
    media_type text NOT NULL,
    data bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
