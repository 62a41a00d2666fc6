-- name: tell
-- For the other processes on this database, when the transaction is done.
SELECT pg_notify('cos_sessions', said) FROM unnest(%(said)s::text[]) AS said;
