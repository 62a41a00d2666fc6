-- Schema 1. Whoever changes this file raises the number.
-- The memory's table. Runs once per version of this text, under the lock of the schemas; every statement may run again.
-- There is no foreign key to the core's tables: what is remembered outlives the session that wrote it.

-- One row per entry. The two stores of a profile are its rows with target `memory` and with target `user`.
CREATE TABLE IF NOT EXISTS memory_entries (
    -- What users name an entry by. Never given twice.
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    profile_id text NOT NULL,
    target text NOT NULL CHECK (target IN ('memory', 'user')),
    content text NOT NULL CHECK (content <> ''),
    -- The session whose turn wrote these words; NULL = the user did.
    session_id uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS memory_entries_by_store ON memory_entries (profile_id, target, number);
