-- name: keep_blob
INSERT INTO blobs (hash, profile_id, media_type, data) VALUES (%(hash)s, %(profile_id)s, %(media_type)s, %(data)s)
ON CONFLICT (hash) DO NOTHING;

-- name: blob
SELECT data FROM blobs WHERE hash = %(hash)s;
