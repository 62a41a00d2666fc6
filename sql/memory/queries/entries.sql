-- name: lock_store
-- One change of a store at a time, also of an empty one, in every process on the database.
SELECT pg_advisory_xact_lock(hashtextextended('cos memory ' || %(target)s || ' ' || %(profile_id)s, 0));

-- name: entries_to_change
-- Locked, so that an edit by hand waits or has been seen.
SELECT number, target, content, session_id, changed_at FROM memory_entries
WHERE profile_id = %(profile_id)s AND target = %(target)s
ORDER BY number FOR UPDATE;

-- name: entries
SELECT number, target, content, session_id, changed_at FROM memory_entries
WHERE profile_id = %(profile_id)s
ORDER BY number;

-- name: add_entry
INSERT INTO memory_entries (profile_id, target, content, session_id)
VALUES (%(profile_id)s, %(target)s, %(content)s, %(session_id)s);

-- name: change_entry
UPDATE memory_entries SET content = %(content)s, session_id = %(session_id)s, changed_at = clock_timestamp()
WHERE number = %(number)s;

-- name: remove_entry
DELETE FROM memory_entries WHERE number = %(number)s;
