-- name: session_titles
SELECT id, title FROM sessions WHERE id = ANY(%(ids)s::uuid[]) AND title IS NOT NULL;
