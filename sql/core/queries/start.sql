-- name: lock_schema
SELECT pg_advisory_xact_lock(7366130019);

-- name: schemas_are_numbered
SELECT EXISTS (SELECT FROM pg_attribute
               WHERE attrelid = to_regclass('applied_schemas') AND attname = 'number' AND NOT attisdropped) AS numbered;

-- name: schema_applied
SELECT COALESCE(bool_or(digest = %(digest)s), false) AS is_applied, COALESCE(max(number), 0) AS newest
FROM applied_schemas WHERE name = %(name)s;

-- name: note_applied
INSERT INTO applied_schemas (digest, name, number) VALUES (%(digest)s, %(name)s, %(number)s)
ON CONFLICT (digest) DO UPDATE SET name = excluded.name, number = excluded.number;

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

-- name: take_room
CREATE TEMPORARY TABLE room ON COMMIT DROP AS
SELECT repeat('x', 1000) FROM generate_series(1, 1000);
