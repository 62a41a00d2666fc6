-- name: lock_schema
SELECT pg_advisory_xact_lock(7366130019);

-- name: applied_schemas_exist
SELECT to_regclass('applied_schemas') IS NOT NULL AS exists;

-- name: was_applied
SELECT 1 FROM applied_schemas WHERE digest = %(digest)s;

-- name: note_applied
INSERT INTO applied_schemas (digest) VALUES (%(digest)s);

-- name: server_version
SELECT current_setting('server_version_num')::integer AS version;

-- name: hold_boot_lock
SELECT pg_advisory_lock(%(key)s);

-- name: add_profile
INSERT INTO profiles (id) VALUES (%(id)s) ON CONFLICT (id) DO NOTHING;

-- name: database_exists
SELECT 1 FROM pg_database WHERE datname = %(name)s;

-- name: alive
SELECT current_setting('transaction_read_only')::boolean AS is_read_only;
