-- Before a schema is applied: give way to turns that run, and a place to note it.
-- Its commit need not reach the disk: with the next that must, it does too; lost before that, it is applied again.
SET LOCAL synchronous_commit = off;
SET LOCAL lock_timeout = '500ms';
CREATE TABLE IF NOT EXISTS applied_schemas (
    digest text PRIMARY KEY,  -- SHA-256 of the text of the schema, in hexadecimal
    applied_at timestamptz NOT NULL DEFAULT now()
);
-- Whose schema it is, `core` or a plugin, and its number: a program that knows only a lower one leaves it alone.
ALTER TABLE applied_schemas ADD COLUMN IF NOT EXISTS name text;
ALTER TABLE applied_schemas ADD COLUMN IF NOT EXISTS number integer;
